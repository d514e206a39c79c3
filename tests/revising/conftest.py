"""A repository with one commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.git import Git, commit, git_in


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """A repository with one commit on main that has ``a.yaml`` and ``jobs/b.yaml``."""
    git = git_in(tmp_path)
    git("init", "-q", "-b", "main")
    (tmp_path / "jobs").mkdir()
    (tmp_path / "a.yaml").write_text("a: 1\n")
    (tmp_path / "jobs/b.yaml").write_text("b: 1\n" * 20)
    (tmp_path / "train.py").write_text("print()\n")
    commit(git, "first")
    return git
