"""Writes docs/performance.md: the figures of the last `make bench ARGS=--write` between its two markers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain

from benchmarks.measuring import TOP
from benchmarks.table import TARGETS, Section, markdown, summary, targets

PAGE = TOP / "docs" / "performance.md"
_FIGURES = re.compile(r"(<!-- figures -->\n)(.*)(<!-- end -->)", re.DOTALL)
MET, NOT_MET = "| met |", "| not met |"  # the last cell of rows with a target


def write(machine: Sequence[str], sections: Sequence[Section]) -> None:
    """Replace the figures of the page."""
    tables = markdown(chain([targets(sections)], sections))
    _replace(lambda _: f"Measured on: {'; '.join(machine)}.\n\n{tables}\n")


def write_some(sections: Sequence[Section]) -> None:
    """Replace the tables of some sections, and append new ones."""
    _replace(lambda figures: _update(figures, sections))


def _replace(new_figures: Callable[[str], str]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    page = _FIGURES.sub(lambda found: found[1] + new_figures(found[2]) + found[3], page)
    PAGE.write_text(page, encoding="utf-8")


def _update(figures: str, sections: Sequence[Section]) -> str:
    head, *tables = figures.rstrip().split("\n\n### ")
    by_title = {table.partition("\n")[0]: table for table in tables}
    for section in sections:
        by_title[section.title] = markdown([section]).removeprefix("### ")
    by_title.pop(TARGETS, None)
    rows = [line for table in by_title.values() for line in table.splitlines() if _is_judged(line)]
    return "\n\n### ".join([head, _target_table(rows), *by_title.values()]) + "\n"


def _target_table(rows: Sequence[str]) -> str:
    """Build the table of targets from the rows of a page that have one."""
    head = markdown([Section(TARGETS, [])]).removeprefix("### ")
    met = sum(row.endswith(MET) for row in rows)
    return "\n".join([head, *rows, "", summary(met, len(rows))])


def _is_judged(line: str) -> bool:
    return line.endswith((MET, NOT_MET))
