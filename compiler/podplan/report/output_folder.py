"""What is not as it has to be in a folder of rendered files, as text."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence

from podplan.rendering.output_folder import Difference
from podplan.report.sanitization import visible

MENDED = ("missing", "stale", "orphaned")  # by rendering again


def as_text(folder: str, found: Sequence[Difference], diffs: Mapping[str, Sequence[str]]) -> str:
    """A sentence for each file, and below it the lines of its diff, if it has one."""
    lines = []
    for one in found:
        lines.append(f"{os.path.join(folder, one.name)}: {one.how}; {one.what}")
        lines += [f"  {line}" for line in diffs.get(one.name, ())]
    return "".join(f"{visible(line)}\n" for line in lines)


def counted(folder: str, found: Sequence[Difference], files: int, mend: str) -> str:
    """What it comes to, and how to mend it."""
    if not found:
        return visible(f"{_files(files)} in {folder} {'is' if files == 1 else 'are'} as rendered")
    by = Counter(one.how for one in found)
    listed = ", ".join(f"{number} {how}" for how, number in by.items())
    said = f"{folder} is not as rendered: {listed}"
    return visible(f"{said}; {mend}" if any(one.how in MENDED for one in found) else said)


def written(folder: str, changed: int, files: int, removed: int) -> str:
    """Such as "2 of 3 files written to rendered, 1 removed"."""
    more = f", {removed} removed" if removed else ""
    return visible(f"{changed} of {_files(files)} written to {folder}{more}")


def _files(number: int) -> str:
    return f"{number} file{'' if number == 1 else 's'}"
