"""podplan, as a user runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def podplan(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run ``podplan words`` in a separate process in this folder, with a timeout."""
    return subprocess.run(
        [sys.executable, "-m", "podplan", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
