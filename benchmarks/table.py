"""Rows of figures, and what they look like."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Row(NamedTuple):
    """One figure; its ``value`` may be ``most``, or must be ``least``."""

    what: str
    value: float
    measure: str
    target: str = ""
    most: float | None = None
    least: float | None = None

    @property
    def verdict(self) -> str:
        """ "met" or "not met"; "" where there is no target."""
        if self.most is not None:
            return "met" if self.value <= self.most else "not met"
        if self.least is not None:
            return "met" if self.value >= self.least else "not met"
        return ""


class Section(NamedTuple):
    """Rows that belong together, and a sentence about them."""

    title: str
    rows: Sequence[Row]
    note: str = ""


HEAD = ("what", "measured", "target", "")


def printed(section: Section) -> str:
    """The table for a terminal."""
    rows = [cells(row) for row in section.rows]
    widths = [max(len(row[n]) for row in rows) for n in range(3)]
    lines = [section.title]
    for what, measured, target, verdict in rows:
        line = f"  {what:<{widths[0]}}  {measured:>{widths[1]}}  {target:<{widths[2]}}  {verdict}"
        lines.append(line.rstrip())
    return "\n".join(lines)


def markdown(sections: Iterable[Section]) -> str:
    """The tables for a page."""
    parts = []
    for section in sections:
        lines = [f"### {section.title}", "", f"| {' | '.join(HEAD)} |", "|---|--:|---|---|"]
        lines += [f"| {' | '.join(cells(row))} |" for row in section.rows]
        parts.append("\n".join([*lines, *(["", section.note] if section.note else [])]))
    return "\n\n".join(parts)


def cells(row: Row) -> tuple[str, str, str, str]:
    return row.what, row.measure, row.target, row.verdict
