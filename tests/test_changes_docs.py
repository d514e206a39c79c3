"""docs/changes.md: its commands print what it shows, in the repository that it describes."""

from __future__ import annotations

import re
from pathlib import Path

from tests.changing_repository import edit, put
from tests.command import podplan
from tests.git import commit, git_in

PAGE = (Path(__file__).parents[1] / "docs/changes.md").read_text()
FILES = dict(re.findall(r"^```yaml\n# (\S+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
BLOCKS = re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def said(block: str, folder: Path) -> str:
    """The block with what its command prints now."""
    (command,) = re.findall(r"^\$ podplan (.*)$", block, re.MULTILINE)
    run = podplan(*command.split(), cwd=folder)
    return f"$ podplan {command}\n{run.out}{run.err}"


def test_its_commands(tmp_path: Path) -> None:
    for name, text in FILES.items():
        put(tmp_path, name, text)
    git = git_in(tmp_path)
    git("init", "-q", "-b", "main")
    commit(git, "first")
    git("switch", "-q", "-c", "topic")
    edit(tmp_path, "bases/training.yaml", "train:1.4", "train:latest")
    commit(git, "another image")
    assert [said(block, tmp_path) for block in BLOCKS] == BLOCKS
