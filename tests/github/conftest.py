"""A workspace with a job, and the checkout of a pull request in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import ENVIRONMENTS, JOB
from tests.github.checkout import git


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / ".git").mkdir(parents=True)
    (folder / "job.yaml").write_text(JOB)
    return folder


@pytest.fixture
def pull_request(workspace: Path) -> Path:
    """A checkout of a pull request as GitHub creates it: the merge commit of a change that doubles a job
    into main."""
    (workspace / ".git").rmdir()
    (workspace / "many.yaml").write_text(ENVIRONMENTS)
    git(workspace, "init", "--quiet", "--initial-branch=main")
    git(workspace, "add", ".")
    git(workspace, "commit", "--quiet", "--message=before")
    git(workspace, "checkout", "--quiet", "-b", "change")
    (workspace / "many.yaml").write_text(ENVIRONMENTS.replace("prod: {replicas: 4}", "prod: {replicas: 8}"))
    git(workspace, "commit", "--quiet", "--all", "--message=change")
    git(workspace, "checkout", "--quiet", "main")
    (workspace / "other.txt").write_text("main goes on\n")
    git(workspace, "add", ".")
    git(workspace, "commit", "--quiet", "--message=other")
    git(workspace, "merge", "--quiet", "--no-ff", "--message=merge", "change")
    return workspace
