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


class Measured(NamedTuple):
    """A whole run: the machine, and what was measured on it."""

    machine: Sequence[str]
    sections: Sequence[Section]


HEAD = ("what", "measured", "target", "")


def printed(measured: Measured) -> str:
    """The tables for a terminal."""
    rows = [row for section in measured.sections for row in section.rows]
    widths = [max(len(cells(row)[n]) for row in rows) for n in range(3)]
    lines = [*measured.machine]
    for section in measured.sections:
        lines += ["", section.title]
        for row in section.rows:
            first, second, third, last = cells(row)
            lines.append(
                f"  {first:<{widths[0]}}  {second:>{widths[1]}}  {third:<{widths[2]}}  {last}".rstrip()
            )
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
