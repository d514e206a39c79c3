"""The Pod Security Standards as the policies that are exported: against the answers of a real API server."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from podplan.lint.admission_policy import resolve_admission_policy
from podplan.lint.cel.rules import CelRules, NamedExpression, Validation
from podplan.lint.cel.sandbox import evaluate_rules
from podplan.lint.pod_security import CONTROLS, find_applied_controls
from podplan.lint.registry import load_builtin_policies
from tests.thoroughness import mark_long

VERDICTS = Path(__file__).parent.parent / "fixtures" / "pod_security" / "verdicts.jsonl.gz"
BY_CONTROL = {one.params["control"]: one for one in load_builtin_policies() if one.body == "pod-security"}


@cache
def verdicts() -> list[dict[str, Any]]:
    with gzip.open(VERDICTS, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@cache
def together(version: str) -> tuple[CelRules, tuple[str, ...]]:
    """What all controls demand at a version, to ask for at once, and whose validation each is."""
    bodies = {
        control: resolve_admission_policy(policy, version).body for control, policy in BY_CONTROL.items()
    }
    variables = {one["name"]: one["expression"] for body in bodies.values() for one in body["variables"]}
    demanded = [(control, one["expression"]) for control in bodies for one in bodies[control]["validations"]]
    return (
        CelRules(
            tuple(Validation(expression) for _, expression in demanded),
            tuple(NamedExpression(name, text) for name, text in variables.items()),
        ),
        tuple(control for control, _ in demanded),
    )


def refused(pod: dict[str, Any], version: str) -> set[str]:
    """The controls whose exported policies refuse a Pod."""
    rules, controls = together(version)
    verdict = evaluate_rules(rules, {"object": pod})
    assert not verdict.errors, verdict.errors
    return {controls[failure.validation] for failure in verdict.failures}


def windows(pod: dict[str, Any]) -> bool:
    return bool(pod["spec"].get("os", {}).get("name") == "windows")


@pytest.mark.parametrize("version", mark_long(["1.24", "1.30", "1.34", "1.36"], short=["1.36"]))
def test_agrees_with_the_api_server(version: str) -> None:
    compared, wrong = 0, Counter[str]()
    for entry in verdicts():
        said = refused(entry["object"], version)
        for level in ("baseline", "restricted"):
            for control in find_applied_controls(level, version):
                # A control of restricted is exported as what it adds to the one of baseline.
                replaced = CONTROLS[control].replaces
                lax = control == "restrictedCapabilities" and version != "1.24" and windows(entry["object"])
                found = control in said or (replaced in said and not lax)
                compared += 1
                if found != (CONTROLS[control].name in entry["violations"][f"{level}@{version}"]):
                    wrong[f"{level} {control} {'too strict' if found else 'missed'}"] += 1
    print(f"{version}: {compared - wrong.total()} of {compared} verdicts agree")
    assert compared > 22_000
    assert not wrong, wrong
