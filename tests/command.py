"""Running podplan as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Run(NamedTuple):
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


def podplan(
    *arguments: str | Path, cwd: Path | None = None, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> Run:
    """``podplan arguments`` in a process of its own; bounded, and never a traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "podplan", *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        timeout=60,
        env={**os.environ, **(env or {})},
        check=False,
    )
    run = Run(done.returncode, done.stdout.decode(), done.stderr.decode())
    assert "Traceback" not in run.out + run.err, run.err
    assert "internal error" not in run.err, run.err
    return run
