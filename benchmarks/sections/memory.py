"""Peak memory of commands that build every job: for a small input that expands to much, and a big one."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks import inputs
from benchmarks.measuring import Command, measure, podplan
from benchmarks.scale import Scale
from benchmarks.table import Row, Section

MOST_MB = 500
SWEEPS, INSTANCES, VARIABLES = 2, 1000, 150
PROFILES, ENVIRONMENTS = 1000, 5


def section(folder: Path, scale: Scale) -> Section:
    instances, number = scale.size(INSTANCES), scale.size(PROFILES)
    sweeps = inputs.sweeps(folder / "sweeps", SWEEPS, instances, VARIABLES)
    many = inputs.in_environments(folder / "many", number, ENVIRONMENTS)
    rows = _rows(f"{SWEEPS} profiles of {instances:,} instances, {VARIABLES} variables each", sweeps)
    rows += _rows(f"{number:,} profiles in {ENVIRONMENTS} environments", many)
    return Section("Memory of commands", rows, "`diff` compares a change of the base profile of all jobs.")


def _rows(what: str, profiles: Path) -> list[Row]:
    before = profiles.with_name(f"{profiles.name}-before")
    shutil.copytree(profiles, before)
    base = before / "base.yaml"
    base.write_text(
        base.read_text(encoding="utf-8").replace("priority: 40", "priority: 30"), encoding="utf-8"
    )
    commands: dict[str, Command] = {
        "render": podplan("render", str(profiles), "-e", "all"),
        "lower": podplan("lower", str(profiles), "-e", "all", "--fold"),
        "diff": podplan("diff", str(profiles), "--base-tree", str(before)),
    }
    costs = measure(commands, 1)
    unit = costs["pass"].cpu
    return [
        Row(
            f"`{name}` of {what}",
            costs[name].peak_mb,
            f"{costs[name].cpu / unit:,.0f} × `python -c pass`",
            f"≤ {MOST_MB} MB",
            MOST_MB,
            peak_mb=costs[name].peak_mb,
        )
        for name in commands
    ]
