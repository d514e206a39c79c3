"""The YAML parser and `yaml.load` in one process, on the same bytes."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from benchmarks import inputs
from benchmarks.measuring import answer
from benchmarks.scale import Scale
from benchmarks.table import Row, Section

WAYS = ("read", "yaml.load")


def section(folder: Path, scale: Scale) -> Section:
    number = scale.many
    made = {
        "CRs": inputs.crs(folder / "crs", number),
        "profiles": inputs.profiles(folder / "profiles", number),
    }
    rows = []
    for name, path in made.items():
        taken, _ = answer("benchmarks.reading", str(path), str(scale.turns(15)), *WAYS)
        ours, theirs = (answer("benchmarks.reading", str(path), "1", way)[1] for way in WAYS)
        value = median(old / new for new, old in zip(taken["read"], taken["yaml.load"], strict=True))
        what = f"`read` of {number:,} {name}, with positions"
        target = "≥ 2 × `yaml.load(CSafeLoader)`"
        rows += [
            Row(what, value, f"{value:.2f} × as fast", target, least=2.0, peak_mb=ours),
            Row("`yaml.load(CSafeLoader)` of the same bytes", 1, "1 ×", peak_mb=theirs),
        ]
    return Section(
        "Reading YAML",
        rows,
        "Files one after another. Peaks are of processes that use one of the two parsers.",
    )
