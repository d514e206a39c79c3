"""Runs that keep nothing: they ask for it, are not worth it, reach a limit, or cannot write."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from podplan.cli import check_cache
from tests.caching.runs import Run, entries
from tests.command import JOB, podplan


@pytest.mark.parametrize(
    "arguments",
    [["--no-cache"], ["--fix"], ["--diff"], ["--show-settings"], ["--stdin-filename", "a.yaml", "-"]],
)
def test_some_runs_keep_nothing(tree: Path, arguments: list[str]) -> None:
    podplan("check", *arguments, *([] if "-" in arguments else ["jobs"]), cwd=tree, stdin=JOB.encode())
    assert entries(tree) == []


def test_few_files_are_not_worth_it(tree: Path, check: Run) -> None:
    check("jobs/job0.yaml")
    shutil.rmtree(tree / "jobs")
    check(".")
    assert entries(tree) == []


def test_a_run_that_reached_a_limit_is_not_kept(tree: Path, check: Run) -> None:
    (tree / "jobs" / "big.yaml").write_text(JOB + "#" * (8 * 1024 * 1024))
    with pytest.raises(Exception, match="at most"):
        check()
    assert entries(tree) == []


def refuse(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("step", ["os.replace", "os.makedirs", "tempfile.mkstemp", "json.dumps"])
def test_what_cannot_be_kept_fails_no_run(
    tree: Path, check: Run, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    first = check(cached=None)
    with monkeypatch.context() as patch:
        patch.setattr(step, refuse)
        if step == "json.dumps":
            patch.setattr(check_cache, "compute_key", lambda *_: "0" * 40)
        second = check(format_="json" if step != "json.dumps" else "concise")
    assert second.checked
    assert second.code == first.code
    assert entries(tree) == []


def test_a_folder_that_is_none_fails_no_run(tree: Path, check: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree.parent / "file").write_text("")
    monkeypatch.setenv(check_cache.FOLDER_VARIABLE, str(tree.parent / "file"))
    assert check().out == check(cached=None).out
