"""A repository to render in, and podplan in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from podplan.cli import main
from tests.command import PROFILE, Run
from tests.rendering.repository import Command, git


@pytest.fixture
def podplan(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """podplan in this process, in the folder, for tests that call it often."""

    monkeypatch.chdir(folder)

    def run(*arguments: str) -> Run:
        monkeypatch.setattr("sys.argv", ["podplan", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        assert "internal error" not in err, err
        assert isinstance(ended.value.code, int)
        return Run(ended.value.code, out, err)

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with a profile in jobs/."""
    top = tmp_path / "repository"
    (top / "jobs").mkdir(parents=True)
    (top / "jobs" / "a.yaml").write_text(PROFILE)
    git(top, "init", "--quiet")
    return top
