"""podplan, as a user runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def podplan(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """``podplan words`` in a process of its own, bounded in time."""
    return subprocess.run(
        [sys.executable, "-m", "podplan", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
