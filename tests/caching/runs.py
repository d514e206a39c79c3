"""The output of a run of podplan check, and its cache entries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


class Said:
    """The output of a run, its exit code, and whether it checked anything or used the cache."""

    def __init__(self, code: int, out: bytes, checked: bool) -> None:
        self.code, self.out, self.checked = code, out, checked


Run = Callable[..., Said]


def entries(tree: Path) -> list[Path]:
    return sorted((tree.parent / "cache").glob("*"))
