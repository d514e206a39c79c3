"""One file, in a process that must import everything."""

from __future__ import annotations

from pathlib import Path

from benchmarks import inputs
from benchmarks.measuring import check, measure
from benchmarks.scale import Scale
from benchmarks.table import Row, Section

COLD = 9.0  # × python -c pass; the goal is 6


def section(folder: Path, scale: Scale) -> Section:
    commands = {
        "CR": check(inputs.crs(folder / "cr", 1) / "job-00000.yaml"),
        "profile": check(inputs.profiles(folder / "profile", 1, with_base=False) / "job-00000.yaml"),
        "with base": check(inputs.profiles(folder / "based", 1) / "job-00000.yaml"),
    }
    costs = measure(commands, scale.turns(30))
    unit = costs["pass"].cpu
    target = f"≤ {COLD:g} × `python -c pass`; goal: 6 ×"

    def row(what: str, name: str, most: float | None = COLD) -> Row:
        value = costs[name].cpu / unit
        measured, peak = f"{value:.1f} ×", costs[name].peak_mb
        return Row(what, value, measured, target if most else "", most, peak_mb=peak)

    rows = [
        row("`check` of one CR", "CR"),
        row("`check` of one profile", "profile"),
        row("`check` of one profile with a base, an inventory and expressions", "with base", None),
        Row("`python -c pass`", 1, "1 ×", peak_mb=costs["pass"].peak_mb),
    ]
    noise = max(cost.noise for cost in costs.values())
    note = (
        f"Median of {costs['CR'].runs} alternating runs; half of the runs are within ±{noise:.0%} of it. "
        f"`python -c pass` took {unit * 1000:.1f} ms of CPU."
    )
    return Section("Cold start", rows, note)
