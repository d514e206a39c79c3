"""Pairs the jobs of two revisions: by identity, else by their source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import NamedTuple

from podplan.tools.diff.repository_state import Broken, Job, Tree


class Pair(NamedTuple):
    """A job before and after; None if it does not exist. ``wrong`` is the reason why it is broken now."""

    before: Job | None
    after: Job | None
    wrong: Broken | None = None
    mended: Broken | None = None


def paired(before: Tree, after: Tree) -> list[Pair]:
    """Pair all jobs of both trees, in the order of ``after``, then the removed ones."""
    left, right = before.jobs, after.jobs
    found: dict[int, Job] = {}  # by the index in ``right``
    for by in (_identity_in_file, identity, _source, _place):
        _match(left, right, found, by)
    _match(left, right, found, _whatever_kind, _is_faulty)
    matched = {job.ref for job in found.values()}
    wrong, mended = _ByOrigin(after.broken), _ByOrigin(before.broken)
    pairs = []
    for number, job in enumerate(right):
        was = found.get(number)
        pairs.append(Pair(was, job, None, mended.of(job) if was is None else None))
    pairs += [Pair(job, None, wrong.of(job)) for job in left if job.ref not in matched]
    return pairs


def paired_in_file(before: list[Job], after: list[Job]) -> Iterator[tuple[Job, Job]]:
    """Yield the jobs of one file that ``paired`` would pair within the file."""
    found: dict[int, Job] = {}
    _match(before, after, found, _identity_in_file)
    return ((was, after[number]) for number, was in found.items())


class _ByOrigin:
    """Broken profiles and files, by the profile or the file."""

    def __init__(self, broken: Iterable[Broken]) -> None:
        self._known: dict[tuple[str, str], list[Broken]] = {}
        for one in broken:
            key = (one.origin, "") if one.origin else ("", one.file)
            self._known.setdefault(key, []).append(one)

    def of(self, job: Job) -> Broken | None:
        """Return the first that a job comes from."""
        of_origin = self._known.get((job.origin, ""), []) if job.origin else []
        found = [one for one in of_origin if _is_of(one, job)] + self._known.get(("", job.file), [])
        return found[0] if found else None


def new_faults(before: Tree, after: Tree, pairs: Iterable[Pair]) -> Iterator[Broken]:
    """Yield what is broken now, was not before, and removes no job."""
    known = {id(pair.wrong) for pair in pairs if pair.wrong is not None}
    old = {_fault(one) for one in before.broken}
    for one in after.broken:
        if id(one) not in known and _fault(one) not in old:
            yield one


def mended_faults(before: Tree, after: Tree, pairs: Iterable[Pair]) -> Iterator[Broken]:
    """Yield what was broken before, is not now, and is no job: such as a file that was not valid YAML."""
    known = {id(pair.mended) for pair in pairs if pair.mended is not None}
    now = {_place_of(one) for one in after.broken}
    there = {job.origin or job.file for job in after.jobs} | {job.file for job in after.jobs}
    for one in before.broken:
        if id(one) not in known and _place_of(one) not in now and (one.origin or one.file) in there:
            yield one


def _fault(one: Broken) -> Hashable:
    return (*_place_of(one), tuple((found.rule, found.message) for found in one.findings))


def _place_of(one: Broken) -> tuple[Hashable, ...]:
    return one.origin or one.file, one.environments, one.variants


def _is_of(one: Broken, job: Job) -> bool:
    """Whether a job belongs to the broken environments and variants of its profile."""
    return (one.environments is None or job.environment in one.environments) and (
        one.variants is None or job.variant in one.variants
    )


def _match(
    left: list[Job],
    right: list[Job],
    found: dict[int, Job],
    by: Callable[[Job], Hashable | None],
    fits: Callable[[Job, Job], bool] = lambda _was, _is: True,
) -> None:
    """Pair the remaining jobs by a key: the first with the first, the second with the second."""
    taken = {job.ref for job in found.values()}
    free = dict(_numbered((job for job in left if job.ref not in taken), by))
    waiting = [(number, job) for number, job in enumerate(right) if number not in found]
    keys = _numbered((job for _, job in waiting), by)
    numbers = {job.ref: number for number, job in waiting}
    for key, job in keys:
        other = free.get(key)
        if other is not None and fits(other, job):
            found[numbers[job.ref]] = other


def _numbered(
    jobs: Iterable[Job], by: Callable[[Job], Hashable | None]
) -> Iterator[tuple[tuple[Hashable, int], Job]]:
    seen: Counter[Hashable] = Counter()
    for job in jobs:
        key = by(job)
        if key is not None:
            yield (key, seen[key]), job
            seen[key] += 1


def _identity_in_file(job: Job) -> Hashable:
    return job.path, identity(job)


def identity(job: Job) -> Hashable:
    """Return the identity of an object in a cluster, for each environment."""
    return job.group, job.kind, job.namespace, job.name, job.environment


def _source(job: Job) -> Hashable | None:
    """Return the variant of a profile, independent of the name, which may contain a hash of the content."""
    return (job.group, job.kind, job.origin, job.variant) if job.origin else None


def _place(job: Job) -> Hashable | None:
    """Return only the name: environments may have been renamed, or added."""
    return (job.group, job.kind, job.namespace, job.name) if job.is_job and job.name else None


def _whatever_kind(job: Job) -> Hashable | None:
    return (job.path, job.namespace, job.name, job.environment) if job.is_job else None


def _is_faulty(was: Job, now: Job) -> bool:
    """Whether one of the jobs is invalid for a cluster: a wrong kind neither adds nor removes a job."""
    return bool(was.findings or now.findings)
