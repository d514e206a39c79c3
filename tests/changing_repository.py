"""A repository in which files change, and the findings of podplan check as short lines."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.git import Git, commit, git_in
from tests.golden_cases import podplan

BASE = """\
apiVersion: podplan/v1
kind: JobProfileBase
spec:
  job: PyTorchTrainingJob
  image: registry.example.com/train:1.4
  cleanUp: Unfinished
  deadline: 24h
"""
# One warning in each job: its image tag can move.
JOB = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {{name: {name}, namespace: ml}}
spec:
  extends: [{base}]
  image: registry.example.com/train:latest
  run: [train.py]
  replicas: 2
"""
LOUD = ("--select", "IMG002,NAME002,SCHED007,GIT001,GIT002,GIT003,PROF002,PROF014")


def repository(folder: Path) -> Git:
    """Return a repository with two bases, one extending the other, a job on each, and a separate job,
    committed on main."""
    files = {
        "bases/all.yaml": BASE,
        "bases/vision.yaml": "apiVersion: podplan/v1\nkind: JobProfileBase\n"
        "spec: {extends: [all.yaml], launcher: torchrun}\n",
        "jobs/text.yaml": JOB.format(name="text", base="../bases/all.yaml"),
        "jobs/vision.yaml": JOB.format(name="vision", base="../bases/vision.yaml"),
        "jobs/own.yaml": JOB.format(name="own", base="").replace("extends: []", "job: PyTorchTrainingJob"),
    }
    for name, text in files.items():
        put(folder, name, text)
    git = git_in(folder)
    git("init", "-q", "-b", "main")
    commit(git, "first")
    return git


def put(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def edit(folder: Path, name: str, old: str, new: str) -> None:
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new))


def report(*arguments: str) -> dict[str, Any]:
    """Run podplan check, and return its JSON; only with the rules that the tests are about."""
    said = podplan("check", *LOUD, "--format", "json", *arguments)
    assert said.code in (0, 1), said.err
    found: dict[str, Any] = json.loads(said.out)
    return found


def lines(*arguments: str) -> list[str]:
    """Return the findings, such as "jobs/text.yaml IMG002"."""
    return [f"{found['file']} {found['rule']}" for found in report(*arguments)["findings"]]


def shallow(folder: Path, to: Path) -> None:
    """Clone only the last commit."""
    subprocess.run(
        ["git", "clone", "-q", "--depth=1", f"file://{folder}", str(to)], check=True, capture_output=True
    )
