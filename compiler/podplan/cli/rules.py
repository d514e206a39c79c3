"""podplan rules"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import click

from podplan.cli.exits import NOTHING
from podplan.cli.output import write
from podplan.lint.catalogue import ours, whole
from podplan.rules import RULES


@click.command("rules")
@click.option("--format", "format_", type=click.Choice(["text", "json", "md"]), default="text")
@click.option("--export", type=click.Choice(["vap"]), help="Write policies as Kubernetes objects instead.")
def command(format_: str, export: str | None) -> int:
    """List every rule, or export those that a cluster can enforce itself.

    --export vap writes the policies that are CEL as ValidatingAdmissionPolicy objects with their bindings.
    """
    if export:
        from podplan.emit import emit
        from podplan.lint.vap_export import export_vap, for_admission, why_not

        reasons = Counter(
            reason for reason in (why_not(for_admission(policy)) for policy in ours()) if reason
        )
        for reason, number in reasons.items():
            click.echo(f"not exported: {number} rules ({reason})", err=True)
        exported = export_vap(ours())
        if not exported:
            return NOTHING
        write(emit(exported))
    elif format_ == "json":
        write(json.dumps({"format": 1, "rules": _all()}, indent=2, ensure_ascii=False) + "\n")
    elif format_ == "md":
        from podplan.report.rule_page import contents

        write(contents(whole(), list(RULES.values())))
    else:
        rows = _all()
        width = max(len(row["name"]) for row in rows)
        write("".join(f"{r['code']:10} {r['name']:{width}} {r['severity']:8} {r['summary']}\n" for r in rows))
    return 0


def _all() -> list[dict[str, Any]]:
    """Every rule, policies first, each as a mapping."""
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
        }
        for policy in ours()
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
        }
        for rule in RULES.values()
    ]
    return policies + builtin
