"""Verifies that the lock is installable, with its hashes and only from wheels, wherever the action and the
image run.

python -m tests.integration.lock resolves with uv for each Python and platform, and with pip for this one;
nothing is installed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

LOCK = Path(__file__).parents[2] / "deploy" / "requirements.lock"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = (
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "aarch64-apple-darwin",
    "x86_64-apple-darwin",
)
STRICT = ("--quiet", "--dry-run", "--require-hashes", "--only-binary", ":all:")


def main() -> int:
    """Return 0 if it is installable everywhere; print where it is not."""
    with tempfile.TemporaryDirectory() as folder:
        wrong = [f"{where}: {said}" for where, command in _commands(folder) if (said := _said(command))]
    print("\n".join(wrong) or f"the lock installs on {len(PYTHONS)} pythons and {len(PLATFORMS)} platforms")
    return 1 if wrong else 0


def _commands(folder: str) -> Iterator[tuple[str, list[str]]]:
    asked = (*STRICT, "--target", folder, "--requirement", str(LOCK))
    yield "pip", [sys.executable, "-I", "-m", "pip", "install", *asked]
    uv = [sys.executable, "-m", "uv", "--no-config", "pip", "install", *asked]
    for python, platform in product(PYTHONS, PLATFORMS):
        yield f"{python} {platform}", [*uv, "--python-version", python, "--python-platform", platform]


def _said(command: list[str]) -> str:
    """Return the output of a command if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr.strip() or "failed" if done.returncode else ""


if __name__ == "__main__":
    sys.exit(main())
