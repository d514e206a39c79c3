"""Mistakes that people make in MPI, TensorFlow, XGBoost and Beam jobs, and jobs without one.

``expect`` of a mistake has a line for each error, warning and info, without the infos of a job without a
mistake; ``not_found`` is the reason why there is none.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from podplan.core.findings import Finding, Severity
from podplan.lint.example_objects import ExampleBases
from podplan.lint.registry import load_builtin_policies, load_example_bases
from podplan.lint.rule_selection import RuleSelection, select_policies
from podplan.tools.repository_tests.examples import find_violations
from tests.rows import each_row

FOLDER = Path(__file__).parent.parent / "fixtures" / "mpi_mistakes"
MISTAKES = yaml.safe_load((FOLDER / "mistakes.yaml").read_text(encoding="utf-8"))
CLEAN = yaml.safe_load((FOLDER / "clean.yaml").read_text(encoding="utf-8"))


@cache
def bases() -> ExampleBases:
    shared = load_example_bases()
    return ExampleBases({**objects_of(shared), **MISTAKES["bases"]})


def objects_of(shared: ExampleBases) -> dict[str, Any]:
    return {name: shared.resolve_object({"base": name}) for name in shared.names}


def check(row: dict[str, Any]) -> list[Finding]:
    policies = select_policies(load_builtin_policies(), RuleSelection())
    return find_violations(bases().resolve_example({"object": row["object"]}), policies)


def lines(findings: list[Finding], least: Severity) -> list[str]:
    return sorted(f"{one.rule}: {one.message}" for one in findings if one.severity >= least)


@each_row("row", MISTAKES["rows"], ids=lambda row: f"{row['row']}-{row['name']}")
def test_a_mistake_is_found(row: dict[str, Any]) -> None:
    assert lines(check(row), Severity.WARNING) == row.get("expect", [])
    assert ("expect" in row) is not ("not_found" in row)


@each_row("row", CLEAN["rows"], ids=lambda row: row["name"])
def test_a_clean_job_is_clean(row: dict[str, Any]) -> None:
    assert lines(check(row), Severity.WARNING) == []


def test_there_are_enough() -> None:
    assert len(CLEAN["rows"]) >= 20
    missed = [row for row in MISTAKES["rows"] if "not_found" in row]
    assert len(missed) * 4 < len(MISTAKES["rows"])
