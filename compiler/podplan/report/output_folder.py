"""The differences of an output folder, as text."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence

from podplan.core.wording import format_count
from podplan.rendering.output_folder import FileDifference
from podplan.report.sanitization import escape_text

FIXED_BY_RENDERING = ("missing", "stale", "orphaned")  # by rendering again


def render_differences(
    folder: str, differences: Sequence[FileDifference], diffs: Mapping[str, Sequence[str]]
) -> str:
    """Render a sentence for each file, and below it the lines of its diff, if it has one."""
    lines = []
    for difference in differences:
        lines.append(
            f"{os.path.join(folder, difference.name)}: {difference.status}; {difference.description}"
        )
        lines += [f"  {line}" for line in diffs.get(difference.name, ())]
    return "".join(f"{escape_text(line)}\n" for line in lines)


def format_summary(folder: str, differences: Sequence[FileDifference], files: int, remedy: str) -> str:
    """Format the summary, with the command that fixes the differences."""
    if not differences:
        return escape_text(
            f"{format_count(files, 'file')} in {folder} {'is' if files == 1 else 'are'} as rendered"
        )
    counts = Counter(one.status for one in differences)
    count_text = ", ".join(f"{number} {how}" for how, number in counts.items())
    message = f"{folder} is not as rendered: {count_text}"
    return escape_text(
        f"{message}; {remedy}" if any(one.status in FIXED_BY_RENDERING for one in differences) else message
    )


def format_written(folder: str, changed: int, files: int, removed: int) -> str:
    """Return a summary such as "2 of 3 files written to rendered, 1 removed"."""
    removed_text = f", {removed} removed" if removed else ""
    return escape_text(f"{changed} of {format_count(files, 'file')} written to {folder}{removed_text}")
