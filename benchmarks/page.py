"""docs/performance.md: the figures of the last `make bench ARGS=--write` between its two marks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from benchmarks.measuring import TOP
from benchmarks.table import Section, markdown, targets

PAGE = TOP / "docs" / "performance.md"
_FIGURES = re.compile(r"(<!-- figures -->\n).*(<!-- end -->)", re.DOTALL)


def write(machine: Sequence[str], sections: Sequence[Section]) -> None:
    """Replaces the figures of the page."""
    tables = markdown(chain([targets(sections)], sections))
    figures = f"Measured on: {'; '.join(machine)}.\n\n{tables}\n"
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_FIGURES.sub(lambda found: found[1] + figures + found[2], page), encoding="utf-8")
