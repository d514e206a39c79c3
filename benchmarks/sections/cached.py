"""A second run on unchanged files."""

from __future__ import annotations

from pathlib import Path

from benchmarks import inputs
from benchmarks.measuring import check, measure, once
from benchmarks.scale import Scale
from benchmarks.sections.many import counted
from benchmarks.table import Row, Section


def section(folder: Path, scale: Scale) -> Section:
    rows = []
    for name, make in (("CRs", inputs.crs), ("profiles", inputs.profiles)):
        for number in (1, scale.many):
            cache = folder / f"cache-{name}-{number}"
            what = counted(number, name)
            command = {what: check(make(folder / f"{name}-{number}", number))}
            first = measure(command, scale.turns(3))[what]
            once(command[what], cache)
            again = measure(command, scale.turns(3), cache)[what]
            value = first.cpu / again.cpu
            target, least = ("≥ 5 × as fast", 5.0) if number > 1 else ("", None)
            said = f"{value:.1f} × as fast"
            said_of = f"`check` of {what} again, unchanged"
            rows.append(Row(said_of, value, said, target, least=least, peak_mb=again.peak_mb))
    return Section(
        "Cache", rows, "Compared with a run without a cache. For one file, nearly all of it is the start."
    )
