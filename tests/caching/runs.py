"""What a run of podplan check said, and what it left in the cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


class Said:
    """What a run printed, its exit code, and whether it checked anything or looked it up."""

    def __init__(self, code: int, out: bytes, checked: bool) -> None:
        self.code, self.out, self.checked = code, out, checked


Run = Callable[..., Said]


def entries(tree: Path) -> list[Path]:
    return sorted((tree.parent / "cache").glob("*"))
