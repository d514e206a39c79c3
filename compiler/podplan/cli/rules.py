"""podplan rules"""

from __future__ import annotations

from collections.abc import Sequence

import click

from podplan.cli.help import HelpCommand
from podplan.cli.options import list_custom_policies
from podplan.cli.output import print_message, write_stdout
from podplan.cli.shell_completion import complete_rules
from podplan.core.builtin_rules import BUILTIN_RULES, Rule
from podplan.core.errors import UsageError
from podplan.core.suggestions import suggest_or_list
from podplan.core.typing import Any
from podplan.kinds.registry import KIND_NAMES, PACKAGES, GroupVersionKind
from podplan.kubernetes import DEFAULT_VERSION, supported_versions
from podplan.lint.policy import Policy
from podplan.lint.policy_scope import list_kind_names, names_kind
from podplan.lint.registry import load_builtin_policies, load_policy_documents
from podplan.lint.rule_selection import matches_rule, require_known_rule
from podplan.report.json import encode_json
from podplan.report.sanitization import escape_text, escape_workflow_commands

# What a rule may need besides the job, and what to do so that it is applied.
NEEDED_INPUTS = {
    "inventory": "these rules compare jobs with a ClusterInventory: write one in the repository (podplan"
    " explain ClusterInventory describes it), or name it with --inventory FILE",
    "base": "these rules compare with another revision: check with --base, --changed-since or --new-since",
}
NEED_WORDS = {"inventory": "an inventory", "base": "a base revision"}
CUSTOM_POLICY_NOTE = "it is a policy of this repository; only those of podplan are exported"


@click.command("rules", cls=HelpCommand)
@click.argument("prefixes", metavar="[PREFIX]...", nargs=-1, shell_complete=complete_rules)
@click.option("--format", "format_", type=click.Choice(["text", "json", "md"]), default="text")
@click.option(
    "--export",
    type=click.Choice(["vap"]),
    help="Print policies as ValidatingAdmissionPolicy objects instead of the list.",
)
@click.option(
    "--kind",
    metavar="KIND",
    default="",
    help="List the rules for this kind of job, and why the others do not apply.",
)
@click.option(
    "--needs",
    type=click.Choice(list(NEEDED_INPUTS)),
    help="List only the rules that are not applied without an inventory or a base revision.",
)
@click.option(
    "--k8s-version",
    default=DEFAULT_VERSION,
    help="Kubernetes version of the cluster that will enforce the exported policies.",
)
@click.option(
    "--config", metavar="FILE", default="", help="Configuration file to use instead of the nearest one."
)
@click.option("--isolated", is_flag=True, help="Ignore configuration files, and so custom policies.")
def command(
    prefixes: tuple[str, ...],
    format_: str,
    export: str | None,
    kind: str,
    needs: str | None,
    k8s_version: str,
    config: str,
    isolated: bool,
) -> int:
    """List the rules, including custom policies, or export the rules that a cluster can enforce.

    PREFIX is the beginning of a code (DIST, DIST0), a code or a name, as for --select; without one, all rules
    are listed.

    --export vap prints the policies written in CEL as ValidatingAdmissionPolicy objects with their
    bindings. A * in the list marks these rules; --format json gives the reason why the others cannot be
    exported.

    --kind takes KIND, GROUP/KIND or GROUP/VERSION/KIND, and prints for rules that do not apply which traits
    the kind lacks. docs/traits.md describes the traits.
    """
    if k8s_version not in supported_versions():
        known_versions = supported_versions()
        raise UsageError(
            f"Kubernetes {k8s_version} is not known; there are {known_versions[0]} to {known_versions[-1]}"
        )
    if kind and (export or format_ == "md"):
        raise UsageError("--kind works with --format text or json, and without --export")
    if needs and (kind or export or format_ == "md"):
        raise UsageError("--needs works with --format text or json, and without --export and --kind")
    if prefixes and (export or format_ == "md"):
        raise UsageError("PREFIX works with --format text or json, and without --export")
    if kind:
        _list_rules_of_kind(kind, format_, k8s_version, list_custom_policies(config, isolated), prefixes)
    elif export:
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
        rows = _list_rules(k8s_version, list_custom_policies(config, isolated), needs, prefixes)
        write_stdout(encode_json({"format": 1, "rules": rows}, indent=2) + "\n")
    elif format_ == "md":
        from podplan.report.rule_page import render_rules_table

        write_stdout(render_rules_table(load_policy_documents(), list(BUILTIN_RULES.values())))
    else:
        rows = _list_rules(k8s_version, list_custom_policies(config, isolated), needs, prefixes)
        widths = (
            max((9, *(len(row["code"]) for row in rows))),
            max((len(row["name"]) for row in rows), default=0),
        )
        write_stdout(
            escape_workflow_commands("".join(f"{escape_text(_format_rule(row, *widths))}\n" for row in rows))
        )
        if needs:
            print_message(NEEDED_INPUTS[needs] if rows else f"none of these rules needs {NEED_WORDS[needs]}")
    return 0


def _list_rules_of_kind(
    name: str, format_: str, version: str, custom_policies: Sequence[Policy], prefixes: Sequence[str]
) -> None:
    from podplan.report.kind_rules import describe_applicability, describe_kind, render_text

    kind = find_kind_by_name(name)
    policies = {policy.rule.code: policy for policy in (*load_builtin_policies(), *custom_policies)}
    everywhere = {"applies": True, "lacks": [], "unwanted": []}
    rows = [
        row | (describe_applicability(policies[row["code"]], kind) if row["code"] in policies else everywhere)
        for row in _list_rules(version, custom_policies, prefixes=prefixes)
    ]
    if format_ == "json":
        data = {"format": 1, "kind": describe_kind(kind), "rules": rows}
        write_stdout(encode_json(data, indent=2) + "\n")
    else:
        write_stdout(escape_workflow_commands(render_text(kind, rows)))


def find_kind_by_name(name: str) -> GroupVersionKind:
    """Return the kind for Kind, group/Kind or group/version/Kind. Raises UsageError: if it is unknown."""
    kinds = [
        kind for kind in PACKAGES if names_kind(name, {"apiVersion": kind.api_version, "kind": kind.kind})
    ]
    if len(kinds) == 1:
        return kinds[0]
    if kinds:
        candidates = " or ".join(f"{kind.api_version}/{kind.kind}" for kind in kinds)
        raise UsageError(f'several kinds are called "{name}"; write {candidates}')
    raise UsageError(f'podplan checks no kind "{name}"{suggest_or_list(name, KIND_NAMES)}')


def _format_rule(row: dict[str, Any], code: int, name: int) -> str:
    """Format the line of a rule; * marks those that --export vap writes."""
    mark = "*" if row["exported"] else " "
    needs = " (with --base)" if "base" in row.get("needs", ()) else ""
    return f"{row['code']:{code}} {mark}{row['name']:{name}} {row['severity']:8} {row['summary']}{needs}"


def _list_rules(
    version: str,
    custom_policies: Sequence[Policy],
    needs: str | None = None,
    prefixes: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Return the rules, policies first, each as a mapping: those that need an input, if ``needs`` names one,
    and those that one of the ``prefixes`` means. Raises UsageError for a prefix that means none."""
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
            "traits": {"needs": sorted(policy.scope.needs), "without": sorted(policy.scope.without)},
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
            "traits": {"needs": [], "without": []},
            "preset": "default",
            "preview": False,
            "needs": [],
            "exported": False,
            "notExported": "it is about the form of files, which the schemas of the API server check",
            "file": None,
        }
        for rule in BUILTIN_RULES.values()
    ]
    rules = [
        *(policy.rule for policy in (*load_builtin_policies(), *custom_policies)),
        *BUILTIN_RULES.values(),
    ]
    chosen = _choose_rules(prefixes, rules)
    return [
        row
        for row in policies + builtin
        if (needs is None or needs in row["needs"]) and (chosen is None or row["code"] in chosen)
    ]


def _choose_rules(prefixes: Sequence[str], rules: Sequence[Rule]) -> set[str] | None:
    """Return the codes of the rules that the prefixes mean, in upper or lower case; None for all rules."""
    if not prefixes:
        return None
    chosen: set[str] = set()
    for text in ",".join(prefixes).split(","):
        codes = {rule.code for rule in rules if matches_rule(text, rule) or matches_rule(text.upper(), rule)}
        if not text or not codes:
            require_known_rule(text, rules)
        chosen |= codes
    return chosen
