"""How much of a test runs: all of it with --thorough, else a part."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest
from hypothesis import settings


def examples(number: int, short: int | None = None) -> int:
    """Return ``number`` with --thorough, else ``short`` or a fifth (the profiles are in
    tests/conftest.py)."""
    if short is not None and settings().max_examples < 100:
        return short
    return max(number * settings().max_examples // 100, 5)


def mark_long(names: Iterable[Any], short: Collection[Any]) -> list[Any]:
    """Return values for ``parametrize``: all run with --thorough, and those in ``short`` in each run."""
    return [name if name in short else pytest.param(name, marks=pytest.mark.long) for name in names]


def mark_others(rows: Iterable[Any], every: int, columns: int = 1) -> list[Any]:
    """Return rows of ``columns`` for ``parametrize``: all run with --thorough, and each n-th in each run."""
    return [
        row if number % every == 0 else pytest.param(*(row if columns > 1 else [row]), marks=pytest.mark.long)
        for number, row in enumerate(rows)
    ]
