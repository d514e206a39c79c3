"""The action with the podplan of this Python, its steps in several workspaces."""

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
# What pip and python import or read from the current folder.
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
    """Return the wheels of the lock for this Python; they are downloaded once."""
    mark = hashlib.sha256(LOCK.read_bytes() + sys.version.encode()).hexdigest()
    done = WHEELS / ".of"
    if not (done.exists() and done.read_text() == mark):
        asked = ("--quiet", "--only-binary", ":all:", "--require-hashes", "--requirement", str(LOCK))
        command = [sys.executable, "-I", "-m", "pip", "download", "--dest", str(WHEELS), *asked]
        subprocess.run(command, check=True)
        done.write_text(mark)
    return WHEELS


def environ(folder: Path) -> dict[str, str]:
    """Return the environment of a clean machine: a PATH with this Python as ``python3``, and an empty
    home."""
    bin_, home = folder / "bin", folder / "home"
    bin_.mkdir(parents=True, exist_ok=True)
    home.mkdir(exist_ok=True)
    python = bin_ / "python3"
    if not python.exists():
        python.symlink_to(os.path.realpath(sys.executable))
    return {"PATH": f"{bin_}:/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}


def offline() -> dict[str, str]:
    """Return the environment in which pip can only use the wheels of the lock."""
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels()), "PIP_CONFIG_FILE": os.devnull}


def plant(workspace: Path, owned: Path) -> None:
    """Write files to the checkout that write to ``owned`` if anything imports or runs them."""
    for name in PLANTED:
        path = workspace / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(PLANT.format(owned=str(owned)))


def machine(workspace: Path, temp: Path, more: Mapping[str, str] = {}) -> Machine:
    """Return a machine with ``workspace``; ``more`` is added to its environment."""
    temp.mkdir(exist_ok=True)
    return Machine(workspace, temp, {**environ(temp), **more})


def run(workspace: Path, inputs: Mapping[str, str], more: Mapping[str, str] = {}, timeout: float = 60) -> Ran:
    """Run the action in ``workspace``, with this Python and its podplan in place of what it would install."""
    temp = workspace.parent / f"{workspace.name}-temp"
    job = machine(workspace, temp, more)._replace(timeout=timeout)
    python = temp / "podplan" / "bin" / "python"
    python.parent.mkdir(parents=True, exist_ok=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return run_action(ROOT, inputs, job, leave_out=("Install podplan",))
