"""A checkout as GitHub creates it: with git, an event, and text that looks like a workflow command."""

from __future__ import annotations

from pathlib import Path

from tests.git import git_in

EVIL = "::error file=/etc/passwd::pwned ##[set-output name=findings]0 ::stop-commands::x"


def git(folder: Path, *arguments: str) -> str:
    return git_in(folder)(*arguments)


def event(folder: Path) -> dict[str, str]:
    return {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_SHA": git(folder, "rev-parse", "HEAD")}
