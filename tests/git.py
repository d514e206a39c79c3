"""Repositories of git, as tests make them: the same commits whatever git is told on this machine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

Git = Callable[..., str]
AUTHOR = {
    **{f"GIT_{who}_{what}": "a@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git_in(folder: Path) -> Git:
    """git in a folder: its words in, what it prints out. Raises CalledProcessError where it fails."""

    def git(*arguments: str, given: str = "") -> str:
        env = {"PATH": os.environ["PATH"], "HOME": str(folder), **AUTHOR}
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            input=given,
            capture_output=True,
            text=True,
            env=env,
            check=True,
        )
        return done.stdout.strip()

    return git


def commit(git: Git, message: str) -> str:
    """Commits all that there is; the name of the commit."""
    git("add", "-A")
    git("commit", "-q", "-m", message)
    return git("rev-parse", "HEAD")
