"""A repository with many findings."""

from __future__ import annotations

from pathlib import Path

from benchmarks import inputs
from benchmarks.measuring import check, measure
from benchmarks.scale import Scale
from benchmarks.table import Row, Section

A_JOB = 3  # findings of each job with errors
FINDINGS = 10_000


def section(folder: Path, scale: Scale) -> Section:
    number = -(-scale.size(FINDINGS) // A_JOB)
    loud = inputs.crs(folder / "loud", number, quiet=False)
    quiet = inputs.crs(folder / "quiet", number)
    formats = {name: (*check(loud), "--format", name) for name in ("concise", "json", "sarif")}
    costs = measure({"no findings": check(quiet), **formats}, scale.turns(1))
    rows = []
    for name in formats:
        value = costs[name].cpu / costs["no findings"].cpu
        what = f"`--format {name}` with {number * A_JOB:,} findings, against the same jobs without findings"
        rows.append(Row(what, value, f"{value:.2f} ×", peak_mb=costs[name].peak_mb))
    rows.append(Row("the same jobs without findings", 1, "1 ×", peak_mb=costs["no findings"].peak_mb))
    return Section("Many findings", rows)
