"""The action as tests run it: with the podplan of this python, its steps in many workspaces."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.github_runner import Machine, Ran, run_action

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "deploy" / "requirements.lock"
WHEELS = ROOT / "build" / "wheelhouse"
# What pip and python import, and what they read, where they look for it in the folder they are started in.
PLANTED = (
    "yaml.py",
    "pip.py",
    "venv.py",
    "json.py",
    "click.py",
    "hatchling.py",
    "sitecustomize.py",
    "usercustomize.py",
    "conftest.py",
    "setup.py",
    "podplan/__init__.py",
    "podplan/__main__.py",
)
PLANT = "open({owned!r}, 'a').write(__file__)\n"


def wheels() -> Path:
    """The wheels of the lock for this python; they are fetched once, and from then on nothing is."""
    mark = hashlib.sha256(LOCK.read_bytes() + sys.version.encode()).hexdigest()
    done = WHEELS / ".of"
    if not (done.exists() and done.read_text() == mark):
        asked = ("--quiet", "--only-binary", ":all:", "--require-hashes", "--requirement", str(LOCK))
        command = [sys.executable, "-I", "-m", "pip", "download", "--dest", str(WHEELS), *asked]
        subprocess.run(command, check=True)
        done.write_text(mark)
    return WHEELS


def environ(folder: Path) -> dict[str, str]:
    """A clean machine: a PATH with this python as ``python3``, and a home of its own."""
    bin_, home = folder / "bin", folder / "home"
    bin_.mkdir(parents=True, exist_ok=True)
    home.mkdir(exist_ok=True)
    python = bin_ / "python3"
    if not python.exists():
        python.symlink_to(os.path.realpath(sys.executable))
    return {"PATH": f"{bin_}:/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}


def offline() -> dict[str, str]:
    """The environment in which pip has nothing but the wheels of the lock."""
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels()), "PIP_CONFIG_FILE": os.devnull}


def plant(workspace: Path, owned: Path) -> None:
    """Files in the checkout that write to ``owned`` where anything imports or runs them."""
    for name in PLANTED:
        path = workspace / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(PLANT.format(owned=str(owned)))


def machine(workspace: Path, temp: Path, more: Mapping[str, str] = {}) -> Machine:
    """A job in ``workspace``; ``more`` is in its environment."""
    temp.mkdir(exist_ok=True)
    return Machine(workspace, temp, {**environ(temp), **more})


def run(workspace: Path, inputs: Mapping[str, str], more: Mapping[str, str] = {}, timeout: float = 60) -> Ran:
    """The action in ``workspace``, with this python and its podplan for what it would install."""
    temp = workspace.parent / f"{workspace.name}-temp"
    job = machine(workspace, temp, more)._replace(timeout=timeout)
    python = temp / "podplan" / "bin" / "python"
    python.parent.mkdir(parents=True, exist_ok=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return run_action(ROOT, inputs, job, leave_out=("Install podplan",))
