"""Git repositories for tests: the commits are the same with any git configuration."""

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
    """Return a function that runs git in a folder and returns its output.

    It raises CalledProcessError on failure.
    """

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
    """Commit all files, and return the name of the commit."""
    git("add", "-A")
    git("commit", "-q", "-m", message)
    return git("rev-parse", "HEAD")
