"""The time of each stage of a check, by the number of files."""

from __future__ import annotations

from pathlib import Path

from benchmarks import inputs
from benchmarks.measuring import answer, say
from benchmarks.scale import Scale
from benchmarks.sections.many import counted
from benchmarks.table import Row, Section


def section(folder: Path, scale: Scale) -> Section:
    rows = []
    for name, make in (("CRs", inputs.crs), ("profiles", inputs.profiles)):
        for number in scale.numbers:
            seconds, peak = answer("benchmarks.stages", str(make(folder / f"{name}-{number}", number)))
            say(f"stages of {number:,} {name}")
            whole = sum(seconds.values())
            shares = ", ".join(f"{stage} {part / whole:.0%}" for stage, part in seconds.items() if part)
            rows.append(Row(counted(number, name), whole, shares, peak_mb=peak))
    note = (
        "Shares of the CPU time of one process, without its start; nested stages count only for "
        "themselves. For one file, most is importing modules."
    )
    return Section("Stages of a check", rows, note)
