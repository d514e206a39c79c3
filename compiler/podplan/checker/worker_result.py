"""A part of the files, checked in another process: what goes back to the run that it is a part of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from podplan.checker.cross_job_index import Left
from podplan.checker.run_state import Gathered, Run
from podplan.core.limits import MAX_OBJECTS
from podplan.core.typing import NamedTuple
from podplan.lint.suppression_tracker import Marked
from podplan.workspace import Noted
from podplan.workspace.dependencies import Trace, note_other, trace_anew


class Part(NamedTuple):
    """What was gathered of some files, what is known of their suppressions, what their jobs left, and what
    was read."""

    gathered: Gathered
    marked: Marked
    left: Left
    noted: Noted
    trace: Trace | None


def part_of(whole: Run, check: Callable[[str, Run], None], files: Sequence[str]) -> Part:
    """What ``check`` finds in some files of a run, in a process of its own. Raises what ``check`` raises."""
    run = Run(whole.settings, whole.reader, whole.before)
    whole.reader.noted()
    trace = trace_anew()
    for file in files:
        check(file, run)
    return Part(run.gathered(), run.silences.marked(), run.together.left(), whole.reader.noted(), trace)


def add_part(part: Part, run: Run) -> bool:
    """Adds what was found in the files that come next; not if it is too much, and False is returned."""
    if run.counts["objects"] + part.gathered.counts["objects"] > MAX_OBJECTS:
        return False
    run.add(part.gathered)
    run.silences.add(part.marked)
    run.together.add_left(part.left)
    run.reader.add(part.noted)
    if part.trace is not None:
        note_other(part.trace)
    return True
