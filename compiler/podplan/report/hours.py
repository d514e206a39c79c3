"""GPU-hours as text."""

from __future__ import annotations


def format_hours(hours: float) -> str:
    """Return "768", "1,536" or "0.5"."""
    return f"{hours:,.1f}".removesuffix(".0")
