"""TrainJobs with their runtimes, JobSets and Jobs as users write them: mistakes with their findings, clean
jobs without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from podplan.checker.check import check_sources
from podplan.core.findings import Finding, to_json_pointer
from podplan.core.replica_groups import LoweringOptions
from podplan.lint.example_objects import apply_patch
from podplan.lint.registry import load_builtin_policies
from podplan.lint.rule_selection import RuleSelection, select_policies
from podplan.pipeline import PipelineSettings
from podplan.tools.repository_tests.examples import ExampleReader, build_inventory
from podplan.yaml import SourceFile, parse_yaml
from podplan.yaml.writer import emit_documents
from tests.rows import each_row

FIXTURES = Path(__file__).parents[1] / "fixtures" / "trainer_jobs"
CLEAN = {
    job["metadata"]["name"]: job
    for path in sorted((FIXTURES / "clean").glob("*.yaml"))
    for job in yaml.safe_load_all(path.read_text("utf-8"))
}
RUNTIMES = {
    one["metadata"]["name"]: one
    for one in yaml.safe_load_all((FIXTURES / "runtimes.yaml").read_text("utf-8"))
}
MISTAKES = {
    row["name"]: row
    for path in ("mistakes.yaml", "launcher_mistakes.yaml")
    for row in yaml.safe_load((FIXTURES / path).read_text("utf-8"))
}
POLICIES = tuple(select_policies(load_builtin_policies(), RuleSelection()))
# The restricted level of Pod Security, which images decide about, is information on nearly every job.
RESTRICTED = ("SEC014", "SEC015", "SEC016", "SEC017", "SEC018")


def check(job: dict[str, Any], row: dict[str, Any]) -> list[str]:
    """The findings of a job, and of its runtime with the patch of the row."""
    reference = job["spec"].get("runtimeRef", {}).get("name")
    runtimes = [RUNTIMES[reference]] if reference in RUNTIMES else []
    objects = [job, *(apply_patch(one, row.get("runtime", {})) for one in runtimes)]
    source = parse_yaml(emit_documents(objects).encode(), "jobs.yaml")
    inventory = build_inventory(row["inventory"]) if "inventory" in row else None
    reader = ExampleReader(inventory, {})
    reader.add_stream(source)
    versions = {"trainer.kubeflow.org": {"version": row.get("version", "2.3")}}
    settings = PipelineSettings(
        policies=POLICIES,
        gitops_tool=row.get("gitops", "none"),
        lowering_options=LoweringOptions(behavior_values=versions),
    )
    found = check_sources([source], settings, reader).findings
    return [describe(one, source) for one in found if one.rule not in RESTRICTED]


def describe(finding: Finding, source: SourceFile) -> str:
    starts = [one.span(()).line for one in source.documents]
    document = source.documents[sum(line <= finding.location.line for line in starts) - 1]
    severity, kind = finding.severity.name.lower(), document.data["kind"]
    return f"{severity} {finding.rule} {kind}{to_json_pointer(finding.location.path)} {finding.message}"


@each_row("name", MISTAKES)
def test_a_mistake_is_reported_where_it_is(name: str) -> None:
    row = MISTAKES[name]
    assert check(apply_patch(CLEAN[row["base"]], row.get("change", {})), row) == row["findings"]


@each_row("name", CLEAN)
def test_a_clean_job_gives_no_finding(name: str) -> None:
    assert check(CLEAN[name], {}) == []


def test_the_files_of_clean_jobs_are_clean_yaml() -> None:
    for path in sorted((FIXTURES / "clean").glob("*.yaml")):
        assert not parse_yaml(path.read_bytes(), path.name).diagnostics


def test_the_jobs_are_of_all_kinds() -> None:
    kinds = {"TrainJob", "JobSet", "Job"}
    assert {job["kind"] for job in CLEAN.values()} == kinds
    assert {CLEAN[row["base"]]["kind"] for row in MISTAKES.values()} == kinds
    assert len(MISTAKES) >= 120
    assert len(CLEAN) >= 39
