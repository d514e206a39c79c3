"""Applies edits to a text."""

from __future__ import annotations

from collections.abc import Iterable

from podplan.core.findings import Edit


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with non-overlapping edits applied, from the last to the first."""
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text
