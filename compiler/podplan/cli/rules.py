"""podplan rules"""

from __future__ import annotations

from collections.abc import Sequence

import click

from podplan.cli.options import list_custom_policies
from podplan.cli.output import write_stdout
from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.core.errors import UsageError
from podplan.core.typing import Any
from podplan.kubernetes import DEFAULT_VERSION, supported_versions
from podplan.lint.policy import Policy
from podplan.lint.policy_scope import list_kind_names
from podplan.lint.registry import load_builtin_policies, load_policy_documents
from podplan.report.json import encode_json
from podplan.report.sanitization import escape_text, escape_workflow_commands

CUSTOM_POLICY_NOTE = "it is a policy of this repository; only those of podplan are exported"


@click.command("rules")
@click.option("--format", "format_", type=click.Choice(["text", "json", "md"]), default="text")
@click.option("--export", type=click.Choice(["vap"]), help="Write policies as Kubernetes objects instead.")
@click.option(
    "--k8s-version", default=DEFAULT_VERSION, help="Kubernetes of the cluster that is exported for."
)
@click.option("--config", metavar="FILE", default="", help="This configuration, not the nearest.")
@click.option("--isolated", is_flag=True, help="No configuration file: without policies of your own.")
def command(format_: str, export: str | None, k8s_version: str, config: str, isolated: bool) -> int:
    """List every rule, those of your own policies too, or export those that a cluster can enforce itself.

    --export vap writes the policies that are CEL as ValidatingAdmissionPolicy objects with their bindings. A
    * in the list marks them; the JSON says why the others are none.
    """
    if k8s_version not in supported_versions():
        known_versions = supported_versions()
        raise UsageError(
            f"Kubernetes {k8s_version} is not known; there are {known_versions[0]} to {known_versions[-1]}"
        )
    if export:
        from podplan.lint.vap_export import export_vap, find_export_obstacles
        from podplan.yaml.writer import emit_documents

        export_obstacles = [
            reason
            for reason in find_export_obstacles(load_builtin_policies(), k8s_version).values()
            if reason
        ]
        if export_obstacles:
            click.echo(f"not exported: {len(export_obstacles)} rules; rules --format json says why", err=True)
        write_stdout(emit_documents(export_vap(load_builtin_policies(), k8s_version)))
    elif format_ == "json":
        rows = _list_rules(k8s_version, list_custom_policies(config, isolated))
        write_stdout(encode_json({"format": 1, "rules": rows}, indent=2) + "\n")
    elif format_ == "md":
        from podplan.report.rule_page import render_rules_table

        write_stdout(render_rules_table(load_policy_documents(), list(BUILTIN_RULES.values())))
    else:
        rows = _list_rules(k8s_version, list_custom_policies(config, isolated))
        widths = max(9, *(len(row["code"]) for row in rows)), max(len(row["name"]) for row in rows)
        write_stdout(
            escape_workflow_commands("".join(f"{escape_text(_format_rule(row, *widths))}\n" for row in rows))
        )
    return 0


def _format_rule(row: dict[str, Any], code: int, name: int) -> str:
    """The line of a rule; * is what --export vap writes."""
    mark = "*" if row["exported"] else " "
    needs = " (with --base)" if "base" in row.get("needs", ()) else ""
    return f"{row['code']:{code}} {mark}{row['name']:{name}} {row['severity']:8} {row['summary']}{needs}"


def _list_rules(version: str, custom_policies: Sequence[Policy]) -> list[dict[str, Any]]:
    """Every rule, policies first, each as a mapping."""
    from podplan.lint.vap_export import find_export_obstacles

    export_obstacles = find_export_obstacles(load_builtin_policies(), version) | {
        policy.rule.code: CUSTOM_POLICY_NOTE for policy in custom_policies
    }
    policies: list[dict[str, Any]] = [
        {
            "code": policy.rule.code,
            "name": policy.rule.name,
            "severity": str(policy.rule.severity),
            "basis": policy.rule.basis,
            "summary": policy.rule.summary,
            "level": policy.scope.level,
            "kinds": sorted(list_kind_names(policy.scope)),
            "preset": policy.preset,
            "preview": policy.preview,
            "needs": list(policy.needs),
            "exported": not export_obstacles[policy.rule.code],
            "notExported": export_obstacles[policy.rule.code] or None,
            "file": policy.file if policy.origin_doc is not None else None,
        }
        for policy in (*load_builtin_policies(), *custom_policies)
    ]
    builtin: list[dict[str, Any]] = [
        {
            "code": rule.code,
            "name": rule.name,
            "severity": str(rule.severity),
            "basis": rule.basis,
            "summary": rule.summary,
            "level": None,
            "kinds": [],
            "preset": "default",
            "preview": False,
            "needs": [],
            "exported": False,
            "notExported": "it is about the form of files, which the schemas of the API server check",
            "file": None,
        }
        for rule in BUILTIN_RULES.values()
    ]
    return policies + builtin
