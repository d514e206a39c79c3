"""The number of replicas must not matter: for one job, and for so many that start-up is negligible."""

from __future__ import annotations

from pathlib import Path

from benchmarks import inputs
from benchmarks.measuring import check, measure
from benchmarks.scale import Scale
from benchmarks.table import Row, Section

REPLICAS = (2, 100, 10_000)


def section(folder: Path, scale: Scale) -> Section:
    rows: list[Row] = []
    for jobs, turns in ((1, 15), (max(scale.size(100), 2), 5)):
        rows += _rows(folder / str(jobs), jobs, scale.turns(turns))
    return Section("Replicas", rows)


def _rows(folder: Path, jobs: int, turns: int) -> list[Row]:
    commands = {str(n): check(inputs.crs(folder / str(n), jobs, n)) for n in REPLICAS}
    costs = measure(commands, turns)
    rows = []
    for replicas in REPLICAS:
        cost = costs[str(replicas)]
        value = cost.cpu / costs[str(REPLICAS[0])].cpu
        most = 1.2 if replicas == REPLICAS[-1] else None
        what = f"{jobs} job{'s' if jobs > 1 else ''} of {replicas:,} replicas"
        target = f"≤ 1.2 × {REPLICAS[0]} replicas" if most else ""
        rows.append(Row(what, value, f"{value:.2f} ×", target, most, peak_mb=cost.peak_mb))
    return rows
