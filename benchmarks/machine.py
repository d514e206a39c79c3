"""The measured machine, without its name."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def described() -> list[str]:
    """Describe processor, cores, system and Python in a few lines."""
    return [
        f"{_processor()}, {os.cpu_count()} cores",
        f"{platform.system()} {platform.release().partition('-')[0]}, {platform.machine()}",
        f"{platform.python_implementation()} {platform.python_version()}",
    ]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "a processor without a name"
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "a processor without a name")
