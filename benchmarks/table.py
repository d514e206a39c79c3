"""Rows of figures, and their formats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Row(NamedTuple):
    """One figure; its ``value`` must be at most ``most``, or at least ``least``."""

    what: str
    value: float
    measure: str
    target: str = ""
    most: float | None = None
    least: float | None = None
    peak_mb: float | None = None

    @property
    def verdict(self) -> str:
        """Return "met" or "not met"; "" without a target."""
        if self.most is not None:
            return "met" if self.value <= self.most else "not met"
        if self.least is not None:
            return "met" if self.value >= self.least else "not met"
        return ""


class Section(NamedTuple):
    """Rows that belong together and a sentence about them, or the reason why there are none."""

    title: str
    rows: Sequence[Row]
    note: str = ""
    failure: str = ""

    def unjudged(self) -> Section:
        """Return the same figures without verdicts."""
        return self._replace(rows=[row._replace(most=None, least=None) for row in self.rows])


TARGETS = "Targets"
HEAD = ("what", "measured", "peak memory", "target", "")


def targets(sections: Iterable[Section]) -> Section:
    """Collect every row that has a target."""
    rows = [row for section in sections for row in section.rows if row.verdict]
    met = sum(row.verdict == "met" for row in rows)
    return Section(TARGETS, rows, summary(met, len(rows)))


def summary(met: int, rows: int) -> str:
    """Return how many of the rows with a target are met."""
    return f"{met} of {rows} are met."


def printed(section: Section) -> str:
    """Format the table for a terminal."""
    rows = [cells(row) for row in section.rows]
    widths = [max((len(row[n]) for row in rows), default=0) for n in range(4)]
    lines = [section.title]
    for what, measured, peak, target, verdict in rows:
        line = f"  {what:<{widths[0]}}  {measured:>{widths[1]}}  {peak:>{widths[2]}}  {target:<{widths[3]}}"
        lines.append(f"{line}  {verdict}".rstrip())
    if section.failure:
        lines.append(f"  FAILED: {section.failure}")
    return "\n".join(lines)


def markdown(sections: Iterable[Section]) -> str:
    """Format the tables for a page."""
    parts = []
    for section in sections:
        lines = [f"### {section.title}", ""]
        if section.failure:
            lines += [f"Not measured: {section.failure}"]
        else:
            lines += [f"| {' | '.join(HEAD)} |", "|---|--:|--:|---|---|"]
            lines += [f"| {' | '.join(cells(row))} |" for row in section.rows]
        parts.append("\n".join([*lines, *(["", section.note] if section.note else [])]))
    return "\n\n".join(parts)


def cells(row: Row) -> tuple[str, str, str, str, str]:
    peak = "" if row.peak_mb is None else f"{row.peak_mb:,.0f} MB"
    return row.what, row.measure, peak, row.target, row.verdict
