"""What a comparison does not show, or counts otherwise than a reader expects, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from podplan.core.wording import format_count
from podplan.tools.diff.job_facts import JobFacts, StaleFile
from podplan.tools.diff.kept_variables import iter_kept_variable_notes
from podplan.tools.diff.model import JobChange
from podplan.tools.diff.outcomes import is_unknown
from podplan.tools.diff.pairing import Pair, get_identity
from podplan.tools.diff.repository_state import RepositoryState

MAX_FILES = 3  # that a note names


def iter_notes(
    before: RepositoryState, after: RepositoryState, pairs: list[Pair], changes: list[JobChange]
) -> Iterator[str]:
    """Yield sentences about what the comparison does not show, or counts otherwise than a reader expects."""
    yield from _iter_duplicate_notes(before, after)
    yield from _iter_stale_notes(before, after)
    named = _list_named(changes)
    if named:
        yield f"{_exclude(len(named))} before or after the change"
    still = count_uncompared(before, after, pairs, changes)
    if still:
        broken = [one for one in after.broken if not one.is_shared]
        files = {job.file for job in _list_unknown(pairs)} | {one.file for one in broken}
        files -= {change.file for change in named}
        they_are = "it is" if still == 1 else "they are"
        reason = f"{_exclude(still)} before and after the change"
        yield f"{reason}; {they_are} not compared{_list_files(sorted(files))}"
    yield from _iter_suspension_notes(pairs, changes)
    yield from iter_kept_variable_notes(changes)
    unlowered = sorted({job.kind for job in (*before.jobs, *after.jobs) if _is_not_lowered(job)})
    if unlowered:
        kinds = ", ".join(unlowered)
        yield f"{kinds}: not lowered (podplan check says why), so only the CR is compared"


def count_uncompared(
    before: RepositoryState, after: RepositoryState, pairs: list[Pair], changes: list[JobChange]
) -> int:
    """Return the number of jobs, and of files that cannot be read, with errors on both sides."""
    named = len(_list_named(changes))
    count = sum(job.is_job for job in _list_unknown(pairs))
    broken = [one for one in after.broken if not one.is_shared]
    return max(count - named, 0) or (len(broken) if before.broken and not named else 0)


def _list_named(changes: list[JobChange]) -> list[JobChange]:
    """Return the jobs that the change breaks or mends, which the comparison names."""
    return [change for change in changes if change.what in ("broken", "mended") and change.is_job]


def _list_unknown(pairs: list[Pair]) -> list[JobFacts]:
    return [job for pair in pairs if is_unknown(pair) and (job := pair.after or pair.before) is not None]


def _iter_suspension_notes(pairs: list[Pair], changes: list[JobChange]) -> Iterator[str]:
    """Yield a note on changed jobs whose size counts on no side, because they are suspended on both."""
    changed = {(one.kind, one.namespace, one.name, one.variant) for one in changes if one.what == "changed"}
    suspended = [
        pair.after
        for pair in pairs
        if pair.before is not None and pair.before.is_suspended
        if pair.after is not None and pair.after.is_suspended
        if (pair.after.kind, pair.after.namespace, pair.after.name, pair.after.variant) in changed
    ]
    if suspended:
        first, more = suspended[0], len(suspended) - 1
        subject = f"{first.kind} {first.name}" + (f" and {more} more are" if more else " is")
        yield f"{subject} suspended, and counted without Pods and GPUs before and after"


def _list_files(files: Sequence[str]) -> str:
    """Return files as the end of a sentence: ": a.yaml, b.yaml, c.yaml and 9 more files", "" for none."""
    names = ", ".join(files[:MAX_FILES])
    more = f" and {format_count(len(files) - MAX_FILES, 'more file')}" if len(files) > MAX_FILES else ""
    return f": {names}{more}" if files else ""


def _exclude(count: int) -> str:
    """Say that jobs are excluded from the totals; when they have errors follows."""
    jobs = "1 job is excluded from the totals because it has" if count == 1 else ""
    return f"{jobs or f'{count} jobs are excluded from the totals because they have'} errors"


def _iter_duplicate_notes(before: RepositoryState, after: RepositoryState) -> Iterator[str]:
    """Yield notes on objects that the change defines twice, or no longer twice: the cluster has each once."""
    counts_before, counts_after = (Counter(map(get_identity, side.jobs)) for side in (before, after))
    for more, fewer, side, verb in (
        (counts_after, counts_before, after, "is"),
        (counts_before, counts_after, before, "was"),
    ):
        duplicates = [
            job
            for identity, job in {get_identity(job): job for job in side.jobs if job.is_job}.items()
            if more[identity] > max(fewer[identity], 1) and not job.is_named_later
        ]
        if duplicates:
            job, identity = duplicates[0], get_identity(duplicates[0])
            name = f"{job.namespace}/{job.name}" if job.namespace else job.name
            files = ", ".join(dict.fromkeys(one.file for one in side.jobs if get_identity(one) == identity))
            others = f", and so {verb} {len(duplicates) - 1} more" if len(duplicates) > 1 else ""
            yield (
                f"{job.kind} {name} {verb} written {more[identity]} times ({files}){others}:"
                " it counts each time, and a cluster has it once"
            )


def _iter_stale_notes(before: RepositoryState, after: RepositoryState) -> Iterator[str]:
    """Yield notes on rendered files that differ from what their profiles render: manual changes are not
    compared."""
    still_stale = {one.file for one in after.stale}
    mended = [one for one in before.stale if one.file not in still_stale]
    if after.stale:
        yield f"{_describe_stale(after.stale)}; run podplan render again"
    if mended:
        yield f"before the change, {_describe_stale(mended)}"


def _describe_stale(stale: Sequence[StaleFile]) -> str:
    first, more = stale[0], len(stale) - 1
    if more:
        differ = f"{first.file} and {more} more differ from what their profiles render"
        return f"{differ}: only the profiles are compared"
    return f"{first.file} differs from what {first.source} renders: only the profile is compared"


def _is_not_lowered(job: JobFacts) -> bool:
    return job.is_job and not job.lowered and not job.findings
