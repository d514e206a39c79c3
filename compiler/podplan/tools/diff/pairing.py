"""Pairs the jobs of two revisions: by identity, else by their source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from podplan.core.findings import Finding
from podplan.lint.stable_identity import remove_numbers
from podplan.tools.diff.job_facts import BrokenSource, JobFacts
from podplan.tools.diff.repository_state import RepositoryState


class Pair(NamedTuple):
    """A job before and after; None if it does not exist. ``fault`` is why it is broken now, ``mended`` why it
    was broken before."""

    before: JobFacts | None
    after: JobFacts | None
    fault: BrokenSource | None = None
    mended: BrokenSource | None = None


def pair_jobs(before: RepositoryState, after: RepositoryState) -> list[Pair]:
    """Pair all jobs of both revisions, in the order of ``after``, then the removed ones."""
    former_jobs: dict[int, JobFacts] = {}  # by the index in ``after.jobs``
    for get_key in (_get_identity_in_file, get_identity, _get_source_key, _get_name_key):
        _match(before.jobs, after.jobs, former_jobs, get_key)
    _match(before.jobs, after.jobs, former_jobs, _get_key_without_kind, _has_findings)
    matched = {job.ref for job in former_jobs.values()}
    faults, mended_faults = _BrokenByOrigin(after.broken), _BrokenByOrigin(before.broken)
    pairs = []
    for number, job in enumerate(after.jobs):
        former = former_jobs.get(number)
        pairs.append(Pair(former, job, None, mended_faults.find(job) if former is None else None))
    pairs += [Pair(job, None, faults.find(job)) for job in before.jobs if job.ref not in matched]
    return pairs


def pair_jobs_in_file(before: list[JobFacts], after: list[JobFacts]) -> Iterator[tuple[JobFacts, JobFacts]]:
    """Yield the jobs of one file that ``pair_jobs`` would pair within the file."""
    former_jobs: dict[int, JobFacts] = {}
    _match(before, after, former_jobs, _get_identity_in_file)
    return ((former, after[number]) for number, former in former_jobs.items())


class _BrokenByOrigin:
    """Broken profiles and files, by the profile or the file."""

    def __init__(self, broken: Iterable[BrokenSource]) -> None:
        self._sources: dict[tuple[str, str], list[BrokenSource]] = {}
        for source in broken:
            key = (source.origin, "") if source.origin else ("", source.file)
            self._sources.setdefault(key, []).append(source)

    def find(self, job: JobFacts) -> BrokenSource | None:
        """Return the first that a job comes from."""
        of_profile = self._sources.get((job.origin, ""), ()) if job.origin else ()
        sources = (source for source in of_profile if _belongs_to(source, job))
        return next(chain(sources, self._sources.get(("", job.file), ())), None)


def iter_new_faults(
    before: RepositoryState, after: RepositoryState, pairs: Iterable[Pair]
) -> Iterator[BrokenSource]:
    """Yield what is broken now, was not before, and removes no job."""
    paired = {id(pair.fault) for pair in pairs if pair.fault is not None}
    former_faults = {_get_fault(source) for source in before.broken}
    for source in after.broken:
        if id(source) not in paired and _get_fault(source) not in former_faults:
            yield source


def iter_mended_faults(
    before: RepositoryState, after: RepositoryState, pairs: Iterable[Pair]
) -> Iterator[BrokenSource]:
    """Yield what was broken before, is not now, and is no job: such as a file that was not valid YAML."""
    paired = {id(pair.mended) for pair in pairs if pair.mended is not None}
    still_broken = {_get_place(source) for source in after.broken}
    present = {job.origin or job.file for job in after.jobs} | {job.file for job in after.jobs}
    for source in before.broken:
        is_mended = id(source) not in paired and _get_place(source) not in still_broken
        if is_mended and (source.origin or source.file) in present:
            yield source


def has_new_error(before: Iterable[Finding], after: Iterable[Finding]) -> bool:
    """Whether there is an error that a revision did not have before; one with other numbers is the same."""
    return not set(map(_identify_error, after)) <= set(map(_identify_error, before))


def _identify_error(finding: Finding) -> Hashable:
    return finding.rule, remove_numbers(finding.message)


def _get_fault(source: BrokenSource) -> Hashable:
    return (*_get_place(source), tuple(map(_identify_error, source.findings)))


def _get_place(source: BrokenSource) -> tuple[Hashable, ...]:
    return source.origin or source.file, source.environments, source.variants


def _belongs_to(source: BrokenSource, job: JobFacts) -> bool:
    """Whether a job belongs to the broken environments and variants of its profile."""
    return (source.environments is None or job.environment in source.environments) and (
        source.variants is None or job.variant in source.variants
    )


def _match(
    before: list[JobFacts],
    after: list[JobFacts],
    former_jobs: dict[int, JobFacts],
    get_key: Callable[[JobFacts], Hashable | None],
    may_pair: Callable[[JobFacts, JobFacts], bool] = lambda _before, _after: True,
) -> None:
    """Pair the remaining jobs by a key: the first with the first, the second with the second."""
    paired = {job.ref for job in former_jobs.values()}
    unpaired = dict(_iter_numbered_keys((job for job in before if job.ref not in paired), get_key))
    numbers = {job.ref: number for number, job in enumerate(after) if number not in former_jobs}
    for key, job in _iter_numbered_keys((job for job in after if job.ref in numbers), get_key):
        former = unpaired.get(key)
        if former is not None and may_pair(former, job):
            former_jobs[numbers[job.ref]] = former


def _iter_numbered_keys(
    jobs: Iterable[JobFacts], get_key: Callable[[JobFacts], Hashable | None]
) -> Iterator[tuple[tuple[Hashable, int], JobFacts]]:
    counts: Counter[Hashable] = Counter()
    for job in jobs:
        key = get_key(job)
        if key is not None:
            yield (key, counts[key]), job
            counts[key] += 1


def _get_identity_in_file(job: JobFacts) -> Hashable:
    return job.path, get_identity(job)


def get_identity(job: JobFacts) -> Hashable:
    """Return the identity of an object in a cluster, for each environment."""
    return job.group, job.kind, job.namespace, job.name, job.environment


def _get_source_key(job: JobFacts) -> Hashable | None:
    """Return the variant of a profile, independent of the name, which may contain a hash of the content."""
    return (job.group, job.kind, job.origin, job.variant) if job.origin else None


def _get_name_key(job: JobFacts) -> Hashable | None:
    """Return only the name: environments may have been renamed, or added."""
    return (job.group, job.kind, job.namespace, job.name) if job.is_job and job.name else None


def _get_key_without_kind(job: JobFacts) -> Hashable | None:
    return (job.path, job.namespace, job.name, job.environment) if job.is_job else None


def _has_findings(before: JobFacts, after: JobFacts) -> bool:
    """Whether one of the jobs is invalid for a cluster: a wrong kind neither adds nor removes a job."""
    return bool(before.findings or after.findings)
