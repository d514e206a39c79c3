"""The contents of a repository with rendered files."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.command import PROFILE, Run

NS = "pytorchtrainingjob"
NAME = f"{NS}-resnet.yaml"
HEADER = "# podplan: rendered from "
Command = Callable[..., Run]


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


def tree(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file below a folder, without those of git."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.parts
    }


def named(name: str, **metadata: str) -> str:
    more = "".join(f", {key}: {value}" for key, value in metadata.items())
    return PROFILE.replace("{name: resnet}", f"{{name: {name}{more}}}")


def rendered(folder: Path, podplan: Command, *flags: str) -> Path:
    """Render jobs/ to the folder ``out``, and add it to git."""
    run = podplan("render", "jobs", "-o", "out", *flags)
    assert run.code == 0, run.err
    git(folder, "add", "--all")
    return folder / "out"
