"""An internal error in a document is a finding there: the rest is still checked, and the exit code is 4."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from podplan.checker import files, jobs, pool
from tests.command import BAD_JOB, JOB, podplan

RESULT = "job-b.yaml:2 RUN001"
FAULTY = JOB.replace("name: count", "name: broken")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with three jobs; podplan fails at the one called broken."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job-a.yaml").write_text(BAD_JOB)
    (tmp_path / "job-b.yaml").write_text(f"---\n{FAULTY}---\n{BAD_JOB}")
    (tmp_path / "job-c.yaml").write_text(BAD_JOB)
    check_plans = jobs.check_plans

    def fail(plans, run, job_source, is_only):  # type: ignore[no-untyped-def]
        plans = list(plans)
        if plans[0].cr.data["metadata"]["name"] == "broken":
            raise ValueError("text of the input")
        yield from check_plans(plans, run, job_source, is_only)

    monkeypatch.setattr(files, "check_plans", fail)
    return tmp_path


def check(*arguments: str) -> tuple[int, list[str]]:
    """The exit code, and the findings about syntax and internal errors."""
    run = podplan("check", "--no-cache", "--format", "json", *arguments, ".", may_fail=True)
    findings = json.loads(run.out)["findings"]
    shown = [one for one in findings if one["rule"] in ("RUN001", "SCHEMA001")]
    return run.code, [f"{one['file']}:{one['line']} {one['rule']}" for one in shown]


def test_the_other_documents_are_checked() -> None:
    code, findings = check()
    assert code == 4
    assert RESULT in findings
    assert [one for one in findings if "SCHEMA001" in one] == [
        "job-a.yaml:8 SCHEMA001",
        "job-b.yaml:33 SCHEMA001",
        "job-c.yaml:8 SCHEMA001",
    ]


def test_workers_report_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = check("--jobs", "1")
    monkeypatch.setattr(pool, "MIN_FILES_FOR_WORKERS", 2)
    monkeypatch.setattr(pool, "FILES_BEFORE_FORK", 1)
    monkeypatch.setattr(pool, "FILES_PER_TASK", 1)
    assert check("--jobs", "2") == alone


def test_the_message_has_the_file_and_no_text_of_the_input() -> None:
    run = podplan("check", "--no-cache", ".", may_fail=True)
    assert run.code == 4
    assert "error[RUN001 internal-error]: podplan itself failed here" in run.out
    assert "--> job-b.yaml:2:1" in run.out
    assert "please report it" in run.out
    assert "text of the input" not in run.out + run.err


def test_it_cannot_be_suppressed_and_is_not_cached() -> None:
    assert RESULT in check("--ignore", "RUN001")[1]
    for _ in range(2):
        assert podplan("check", ".", may_fail=True).code == 4
    assert podplan("check", "--fail-on", "never", ".", may_fail=True).code == 4


def test_an_error_in_the_file_as_a_whole_is_reported_at_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_):  # type: ignore[no-untyped-def]
        raise RecursionError

    monkeypatch.setattr(files, "is_broken_template", fail)
    code, findings = check()
    assert code == 4
    assert findings == [f"job-{letter}.yaml:1 RUN001" for letter in "abc"]
