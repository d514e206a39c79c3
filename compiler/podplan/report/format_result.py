"""What podplan fmt has done, in a line; and why it left a file alone."""

from __future__ import annotations

from podplan.report.sanitization import visible
from podplan.yaml import Source


def counted(changed: int, same: int, broken: int, only_told: bool) -> str:
    """Such as "2 files reformatted, 1 file left unchanged"."""
    parts = [
        (changed, "would be reformatted" if only_told else "reformatted"),
        (same, "already formatted" if only_told else "left unchanged"),
        (broken, "not formatted"),
    ]
    return ", ".join(f"{number} file{'' if number == 1 else 's'} {what}" for number, what in parts if number)


def fault_line(source: Source) -> str:
    """The first fault of a file, after its place."""
    fault = source.faults[0]
    place = f"{source.file}:{fault.span.line}:{fault.span.column}"
    return visible(f"{place}: {fault.rule} {fault.message}; the file is left as it is")
