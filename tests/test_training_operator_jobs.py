"""Jobs of the training operator as users write them: mistakes with their findings, clean jobs without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from podplan.core.findings import Finding, to_json_pointer
from podplan.lint.example_objects import apply_patch
from podplan.lint.registry import load_builtin_policies
from podplan.lint.rule_selection import RuleSelection, select_policies
from podplan.tools.repository_tests.examples import find_violations
from tests.rows import each_row

FIXTURES = Path(__file__).parents[1] / "fixtures" / "training_operator"
CLEAN = {
    job["metadata"]["name"]: job
    for path in sorted((FIXTURES / "clean").glob("*.yaml"))
    for job in yaml.safe_load_all(path.read_text("utf-8"))
}
MISTAKES = {row["name"]: row for row in yaml.safe_load((FIXTURES / "mistakes.yaml").read_text("utf-8"))}
POLICIES = select_policies(load_builtin_policies(), RuleSelection())
# The restricted level of Pod Security, which images decide about, is information on nearly every job.
RESTRICTED = ("SEC014", "SEC015", "SEC016", "SEC017", "SEC018")


def check(job: dict[str, Any], **example: Any) -> list[Finding]:
    return [
        one for one in find_violations({"object": job, **example}, POLICIES) if one.rule not in RESTRICTED
    ]


def describe(finding: Finding) -> str:
    severity = finding.severity.name.lower()
    return f"{severity} {finding.rule} {to_json_pointer(finding.location.path)} {finding.message}"


@each_row("name", MISTAKES)
def test_a_mistake_is_reported_where_it_is(name: str) -> None:
    row = MISTAKES[name]
    inventory = {"inventory": row["inventory"]} if "inventory" in row else {}
    found = check(apply_patch(CLEAN[row["base"]], row["change"]), **inventory)
    assert [describe(one) for one in found] == row["findings"]


@each_row("name", CLEAN)
def test_a_clean_job_gives_no_finding(name: str) -> None:
    assert [describe(one) for one in check(CLEAN[name])] == []


def test_a_field_that_the_server_drops_is_told_so() -> None:
    changes = ({"/spec/runPolicy/cleanPodPolcy": "All"}, {"/spec/runPolicy/surprise": 1})
    for change in changes:
        found = check(apply_patch(CLEAN["mnist-ddp"], change))
        assert [one.rule for one in found] == ["SCHEMA012"]
        assert "the API server drops unknown fields" in found[0].help


def test_the_jobs_are_of_all_kinds() -> None:
    kinds = {"PyTorchJob", "TFJob", "XGBoostJob", "JAXJob", "PaddleJob", "MPIJob"}
    assert {job["kind"] for job in CLEAN.values()} == kinds
    assert {CLEAN[row["base"]]["kind"] for row in MISTAKES.values()} == kinds
    assert len(MISTAKES) >= 60
    assert len(CLEAN) >= 30
