"""Shared parts of profiles, and the number of variants."""

from __future__ import annotations

from pathlib import Path

from benchmarks import inputs
from benchmarks.measuring import check, measure
from benchmarks.scale import Scale
from benchmarks.table import Row, Section

AXIS = 4  # of one axis; the other one has two values


def section(folder: Path, scale: Scale) -> Section:
    number, environments = scale.many, scale.environments
    commands = {
        "a shared base": check(inputs.profiles(folder / "shared", number)),
        "no base": check(inputs.profiles(folder / "alone", number, with_base=False)),
        "environments × matrix": check(inputs.sweep(folder / "sweep", environments, AXIS)),
        "one": check(inputs.sweep(folder / "one", 0, 1)),
    }
    costs = measure(commands, scale.turns(3))
    shared, alone, sweep, one = (costs[name] for name in commands)
    unit = costs["pass"].cpu
    value = shared.cpu / alone.cpu
    instances = 2 * AXIS
    variants = (environments + 1) * instances  # the profile as written counts as an environment
    each = (sweep.cpu - one.cpu) / (variants - 2) / unit
    rows = [
        Row(
            f"a base shared by {number:,} profiles, against none",
            value,
            f"{value:.2f} ×",
            peak_mb=shared.peak_mb,
        ),
        Row(
            f"{environments} environments × {instances} matrix instances: {variants} variants",
            sweep.cpu / unit,
            f"{sweep.cpu / unit:.0f} × `python -c pass`, {each:.2f} × a variant",
            peak_mb=sweep.peak_mb,
        ),
    ]
    return Section("Bases and variants", rows)
