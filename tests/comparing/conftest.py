"""A repository to compare in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.comparing.repository import job
from tests.git import Git, commit, git_in


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """A repository with two jobs, in ``jobs/`` and next to it, as the current folder."""
    git = git_in(tmp_path)
    git("init", "-q", "-b", "main")
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs/one.yaml").write_text(job("one"))
    (tmp_path / "two.yaml").write_text(job("two"))
    commit(git, "first")
    monkeypatch.chdir(tmp_path)
    return git
