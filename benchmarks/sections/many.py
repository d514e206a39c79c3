"""CPU time and peak memory by the number of files."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from benchmarks import inputs
from benchmarks.measuring import Cost, check, measure
from benchmarks.scale import Scale
from benchmarks.table import Row, Section


def section(folder: Path, scale: Scale) -> Section:
    rows: list[Row] = []
    for name, make in (("CRs", inputs.crs), ("profiles", inputs.profiles)):
        costs: dict[int, Cost] = {}
        for number in scale.numbers:
            what = f"{number:,} {name}"
            measured = measure(
                {what: check(make(folder / f"{name}-{number}", number))}, _turns(number, scale)
            )
            costs[number] = measured[what]
            value = measured[what].cpu / measured["pass"].cpu
            said = f"{value:,.0f} × `python -c pass`"
            rows.append(
                Row(f"`check` of {counted(number, name)}", value, said, peak_mb=costs[number].peak_mb)
            )
        rows += _memory(name, costs)
    note = "One object per file: CRs of 8 replicas, and profiles that share a base profile and an inventory."
    return Section("Many files", rows, note)


def counted(number: int, name: str) -> str:
    return f"{number:,} {name if number > 1 else name.removesuffix('s')}"


def _turns(number: int, scale: Scale) -> int:
    return scale.turns(7 if number <= 100 else 3 if number <= 1000 else 1)


def _memory(name: str, costs: dict[int, Cost]) -> Iterator[Row]:
    """Yield rows about memory: ten times the files must need about the same."""
    for (few, less), (number, more) in list(pairwise(sorted(costs.items())))[1:]:
        value = more.peak_mb / less.peak_mb
        each = (more.peak_mb - less.peak_mb) * 1000 / (number - few)
        what = f"peak memory, {number:,} {name} against {few:,}: {each:.1f} kB a file"
        yield Row(what, value, f"{value:.2f} ×", "≤ 1.2 ×", 1.2, peak_mb=more.peak_mb)
