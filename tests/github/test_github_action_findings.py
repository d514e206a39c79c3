"""Findings that the action shows: at their lines, in outputs, and as many as there is room for."""

from __future__ import annotations

import json
from pathlib import Path

from tests.command import BAD_JOB, JOB
from tests.github_action import run


def test_findings_are_shown_at_their_lines_and_told_in_outputs(workspace: Path) -> None:
    (workspace / "bad, worse.yaml").write_text(BAD_JOB)
    ran = run(workspace, {"paths": "bad, worse.yaml", "sarif-file": "out/podplan.sarif"})
    assert not ran.success
    assert ran.steps[-1].code == 1
    [error, *_] = ran.of("error")
    assert error.properties["file"] == "bad, worse.yaml"
    assert error.properties["line"] == "8"
    assert 'unknown field "replica"; did you mean "replicas"?' in error.data
    counts = {name: int(ran.outputs[name]) for name in ("findings", "errors", "warnings", "infos")}
    assert counts["errors"] == len(ran.of("error"))
    assert counts["findings"] == sum(counts.values()) - counts["findings"]
    assert ran.outputs["sarif-file"] == "out/podplan.sarif"
    report = json.loads((workspace / "out/podplan.sarif").read_text())
    assert len(report["runs"][0]["results"]) == counts["findings"]
    assert "did you mean" in ran.summary


def test_fail_on_decides_and_nothing_else(workspace: Path) -> None:
    (workspace / "job.yaml").write_text(BAD_JOB)
    assert run(workspace, {"fail-on": "never"}).success
    assert not run(workspace, {"fail-on": "error", "summary": "false"}).success


def test_a_file_that_is_broken_is_a_finding(workspace: Path) -> None:
    (workspace / "job.yaml").write_text(JOB.replace("  successRules:", "  successRules: [\n  - :"))
    ran = run(workspace, {})
    assert ran.steps[-1].code == 1
    assert ran.of("error")[0].properties["title"].startswith("YAML")


def test_only_the_most_important_have_room_and_the_rest_is_counted(workspace: Path) -> None:
    """Fifteen errors and twelve infos where GitHub shows ten of each, one of them the count of the rest."""
    (workspace / "podplan.toml").write_text('preset = "strict"\n')
    for number in range(15):
        job = JOB.replace("name: count", f"name: c{number}").replace("replicas: 3", "replicas: many")
        (workspace / f"job-{number:02}.yaml").write_text(job)
    for number in range(3):
        careless, _, _ = JOB.replace("name: count", f"name: i{number}").partition("          securityContext")
        (workspace / f"a-{number}.yaml").write_text(f"{careless}  successRules:\n  - worker: [0, 1, 2]\n")
    ran = run(workspace, {"fail-on": "never"})
    assert ran.outputs["errors"] == "15"
    assert int(ran.outputs["infos"]) >= 10
    assert len(ran.of("error")) == len(ran.of("notice")) == 10
    sent = [one for step in ran.steps for one in step.commands if one.name in ("error", "warning", "notice")]
    assert tuple(sent) == ran.annotations  # GitHub drops none of them
    left_out = int(ran.outputs["findings"]) - len(ran.annotations) + 1
    assert ran.annotations[-1].data.startswith(f"{left_out} more findings have no room here")
    assert ran.log.count("job-14.yaml:8:15: error") == 1  # the log has them all
