"""The one line that says how it went."""

from __future__ import annotations

from collections.abc import Sequence

from podplan.checker.check import Result
from podplan.report.sanitization import visible

_MOST_NAMED = 3


def summary_line(result: Result) -> str:
    """Such as "1 error in 3 files (4 objects, 38 lowered); not checked: 2 × Deployment (apps/v1)"."""
    counts = result.summary
    said = [
        _counted(number, word)
        for number, word in ((counts.errors, "error"), (counts.warnings, "warning"), (counts.infos, "info"))
        if number
    ]
    line = (
        f"{' and '.join(said) if len(said) < 3 else f'{said[0]}, {said[1]} and {said[2]}'}" or "no findings"
    )
    line += f" in {_counted(counts.files, 'file')}"
    line += f", {counts.suppressed} suppressed" if counts.suppressed else ""
    line += f", {counts.left_out} left out" if counts.left_out else ""
    line += f" ({_counted(counts.objects, 'object')}, {counts.lowered} lowered)"
    if counts.not_checked:
        line += "; not checked: " + ", ".join(f"{n} × {reason}" for reason, n in counts.not_checked.items())
    if counts.unreadable_folders:
        line += f"; {unreadable(counts.unreadable_folders)}"
    if counts.today:
        line += f"; suppressions judged as of {counts.today}"
    return visible(line)


def unreadable(folders: Sequence[str], files: Sequence[str] = ()) -> str:
    """Such as "1 folder could not be read (jobs/private)"; one folder or file at least."""
    counts = [_counted(len(paths), word) for paths, word in ((folders, "folder"), (files, "file")) if paths]
    named = [*folders, *files]
    more = ", …" if len(named) > _MOST_NAMED else ""
    return f"{' and '.join(counts)} could not be read ({', '.join(named[:_MOST_NAMED])}{more})"


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")
