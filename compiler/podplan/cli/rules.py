"""podplan rules"""

from __future__ import annotations

from collections.abc import Sequence

import click

from podplan.cli.options import own_policies
from podplan.cli.output import write
from podplan.core.builtin_rules import RULES
from podplan.core.errors import RequestError
from podplan.core.typing import Any
from podplan.kubernetes import DEFAULT_VERSION, versions
from podplan.lint.policy import Policy
from podplan.lint.registry import ours, whole
from podplan.report.json import json_text
from podplan.report.sanitization import unheard, visible

OWN = "it is a policy of this repository; only those of podplan are exported"


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
    if k8s_version not in versions():
        known = versions()
        raise RequestError(f"Kubernetes {k8s_version} is not known; there are {known[0]} to {known[-1]}")
    if export:
        from podplan.lint.vap_export import export_vap, reasons
        from podplan.yaml.writer import emit

        lacking = [reason for reason in reasons(ours(), k8s_version).values() if reason]
        if lacking:
            click.echo(f"not exported: {len(lacking)} rules; rules --format json says why", err=True)
        write(emit(export_vap(ours(), k8s_version)))
    elif format_ == "json":
        rows = _all(k8s_version, own_policies(config, isolated))
        write(json_text({"format": 1, "rules": rows}, indent=2) + "\n")
    elif format_ == "md":
        from podplan.report.rule_page import contents

        write(contents(whole(), list(RULES.values())))
    else:
        rows = _all(k8s_version, own_policies(config, isolated))
        widths = max(9, *(len(row["code"]) for row in rows)), max(len(row["name"]) for row in rows)
        write(unheard("".join(f"{visible(_line(row, *widths))}\n" for row in rows)))
    return 0


def _line(row: dict[str, Any], code: int, name: int) -> str:
    """The line of a rule; * is what --export vap writes."""
    mark = "*" if row["exported"] else " "
    needs = " (with --base)" if "base" in row.get("needs", ()) else ""
    return f"{row['code']:{code}} {mark}{row['name']:{name}} {row['severity']:8} {row['summary']}{needs}"


def _all(version: str, own: Sequence[Policy]) -> list[dict[str, Any]]:
    """Every rule, policies first, each as a mapping."""
    from podplan.lint.vap_export import reasons

    lacking = reasons(ours(), version) | {policy.rule.code: OWN for policy in own}
    policies: list[dict[str, Any]] = [
        {
            "code": policy.rule.code,
            "name": policy.rule.name,
            "severity": str(policy.rule.severity),
            "basis": policy.rule.basis,
            "summary": policy.rule.summary,
            "level": policy.scope.level,
            "kinds": sorted(policy.scope.kinds),
            "preset": policy.preset,
            "preview": policy.preview,
            "needs": list(policy.needs),
            "exported": not lacking[policy.rule.code],
            "notExported": lacking[policy.rule.code] or None,
            "file": policy.file if policy.origin is not None else None,
        }
        for policy in (*ours(), *own)
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
        for rule in RULES.values()
    ]
    return policies + builtin
