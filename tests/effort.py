"""How many examples a property is tried with: all under --thorough, else a third of them."""

from __future__ import annotations

from hypothesis import settings


def examples(number: int) -> int:
    """``number``, or what the profile that tests/conftest.py has chosen makes of it."""
    return max(number * settings().max_examples // 100, 5)
