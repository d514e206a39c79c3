"""A repository with a cache next to it, and podplan check in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podplan.cli import check_cache, check_run
from podplan.cli.check_run import check_and_report
from podplan.cli.reports import parse_report_flags
from podplan.workspace.dependencies import MIN_FILES_FOR_CACHE
from tests.caching.runs import Run, Said
from tests.command import JOB, PROFILE


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with enough files, as the current folder."""
    top = tmp_path / "repository"
    (top / ".git").mkdir(parents=True)
    (top / "jobs").mkdir()
    for number in range(MIN_FILES_FOR_CACHE):
        (top / "jobs" / f"job{number}.yaml").write_text(JOB.replace("name: count", f"name: count-{number}"))
    (top / "base.yaml").write_text(PROFILE.replace("JobProfile", "JobProfileBase"))
    (top / "jobs" / "profile.yaml").write_text(
        "apiVersion: podplan/v1\nkind: JobProfile\nmetadata: {name: short}\nspec: {extends: [../base.yaml]}\n"
    )
    monkeypatch.chdir(top)
    monkeypatch.delenv(check_cache.DISABLE_VARIABLE)
    monkeypatch.setenv(check_cache.FOLDER_VARIABLE, str(tmp_path / "cache"))
    return top


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Return a function that runs podplan check in this process."""
    calls: list[Any] = []
    run = check_run.run_check

    def counted(*arguments: Any, **flags: Any) -> Any:
        calls.append(arguments)
        return run(*arguments, **flags)

    def check(*paths: str, format_: str = "json", cached: str | None = "", **flags: Any) -> Said:
        calls.clear()
        into = parse_report_flags(format_, (), False, "never")
        code = check_and_report(paths or ("jobs",), flags, into, cached)
        return Said(code, capfdbinary.readouterr().out, bool(calls))

    monkeypatch.setattr(check_run, "run_check", counted)
    return check
