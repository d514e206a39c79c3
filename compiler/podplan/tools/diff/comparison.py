"""Compares two revisions: the outcome for each job, and the changes, aggregated over the objects that have
them.

The trees are read file by file, side by side, so that most pairs are in memory together and nothing is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from podplan.core.findings import Location, Path
from podplan.core.provenance import TracedDocument, trace_to_source
from podplan.core.structural_diff import ABSENT
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.location import locate
from podplan.redaction.redactor import Redactor, redact_change, split_path
from podplan.tools.diff.aggregation import JOB, TRAINING, Folding
from podplan.tools.diff.document_changes import Delta, iter_document_changes
from podplan.tools.diff.impact import impact
from podplan.tools.diff.lowered_objects import Lowered, lowered
from podplan.tools.diff.model import Diff, Difference, JobChange, Level
from podplan.tools.diff.outcomes import UNCHANGED, Compared, effect_of, is_unknown, of_broken, outcome
from podplan.tools.diff.pairing import Pair, identity, mended_faults, new_faults, paired, paired_in_file
from podplan.tools.diff.repository_state import Job, Ref, Stale, Tree, Whole
from podplan.tools.diff.unchanged_files import Unchanged


class _Part(NamedTuple):
    """A part that differs in ``objects`` of a kind, and where its value is written now, or was written."""

    kind: str
    delta: Delta
    doc: TracedDocument | None
    path: Path
    role: str = ""
    objects: int = 1
    training: str = ""


class _Seen(NamedTuple):
    """The changes of one job: in its CR, and those to report at the requested level."""

    cr: list[Delta]
    told: list[_Part]


def compare(before: Tree, after: Tree, level: Level) -> Diff:
    """Compare two trees, which are read here.

    At ``source`` compare resolved profiles, and hand-written CRs; at ``cr`` all CRs; at ``lowered`` the
    objects that controllers create, and the parts of CRs that no object shows.
    """
    comparing = _Comparing(before, after, level)
    for path in dict.fromkeys((*after.files.names, *before.files.names)):
        comparing.read(path)
    before.finish()
    after.finish()
    pairs = paired(before, after)
    changes: list[JobChange] = []
    numbers: dict[Ref, int] = {}
    for pair in pairs:
        change = outcome(pair, comparing.of(pair))
        if change is None:
            continue
        if change.what == "changed" and pair.after is not None:
            numbers[pair.after.ref] = len(changes)
        changes.append(change)
    changes += [of_broken(one, "broken") for one in new_faults(before, after, pairs)]
    changes += [of_broken(one, "mended") for one in mended_faults(before, after, pairs)]
    counted = [pair for pair in pairs if not is_unknown(pair)]
    sums = impact(
        changes,
        [pair.before for pair in counted if pair.before is not None],
        [pair.after for pair in counted if pair.after is not None],
    )
    secrets = Redactor(before.secrets | after.secrets)
    told = tuple(_redacted(one, secrets) for one in comparing.folding.differences(numbers))
    notes = tuple(_notes(after, before, pairs, changes))
    return Diff("", "", level, sums, tuple(changes), told, notes)


class _Comparing:
    """Compares pairs of jobs while both are in memory; others are rebuilt."""

    def __init__(self, before: Tree, after: Tree, level: Level) -> None:
        self.folding = Folding()
        self._before, self._after, self._level = before, after, level
        self._unchanged = Unchanged(before, after)
        self._compared: dict[tuple[Ref, Ref], Compared] = {}

    def read(self, path: str) -> None:
        """Read one more file of both trees, and compare the jobs that are paired in it.

        Unchanged jobs are built once, for the totals.
        """
        now = self._after.read(path)
        if self._unchanged.holds(path, now):
            self._before.adopt(now)
            self._compared.update(((job.ref, job.ref), UNCHANGED) for job in now)
            return
        for one, other in paired_in_file(self._before.read(path), now):
            self._compare(one, other)

    def of(self, pair: Pair) -> Compared | None:
        """Return the result for a pair; None if a side is missing."""
        if pair.before is None or pair.after is None:
            return None
        return self._compared.get((pair.before.ref, pair.after.ref)) or self._compare(pair.before, pair.after)

    def _compare(self, was: Job, now: Job) -> Compared:
        one, other = self._before.whole(was), self._after.whole(now)
        seen = _seen(one, other, was, now, self._level)
        effect = effect_of(one.cr.data, other.cr.data, seen.cr)
        found = Compared(bool(seen.cr), bool(seen.told), effect, _list_changed_references(one, other))
        self._compared[was.ref, now.ref] = found
        for part in seen.told:
            words = {now.name: JOB, f"containers[{part.training}]": TRAINING}
            place = _placer(part.doc, part.path)
            self.folding.add(part.kind, part.delta, now.ref, words, place, part.role, part.objects)
        return found


def _seen(one: Whole, other: Whole, was: Job, now: Job, level: Level) -> _Seen:
    told = _renaming(was, now)
    of_cr = list(iter_document_changes(told(one.cr.data), other.cr.data))
    if level == "source" and one.profile is not None and other.profile is not None:
        parts = iter_document_changes(_own(one.profile.data), _own(other.profile.data))
        return _Seen(of_cr, [_part("JobProfile", delta, one.profile, other.profile) for delta in parts])
    in_cr = [_part(now.kind, delta, one.cr, other.cr) for delta in of_cr]
    if level != "lowered" or not (one.lowered and other.lowered):
        return _Seen(of_cr, in_cr)
    below = list(lowered(one.groups, other.groups, told))
    shown = _covered(below, one, other)
    return _Seen(of_cr, [*map(_part_of_group, below), *(part for part in in_cr if not shown(part.delta))])


def _list_changed_references(one: Whole, other: Whole) -> tuple[str, ...]:
    """Return the documents that a job refers to now, and that have changed or are others than before."""
    before = [doc.data for doc in one.references]
    return tuple(_name_document(doc) for doc in other.references if doc.data not in before)


def _name_document(doc: TracedDocument) -> str:
    return f"{get_text(doc.data, 'kind')} {get_text(get_mapping(doc.data, 'metadata'), 'name')}"


def _own(profile: Any) -> Any:
    """Return a resolved profile as the author wrote it: with the name of the profile instead of the CR."""
    return {key: value for key, value in profile.items() if key in ("metadata", "spec")}


def _part(kind: str, delta: Delta, one: TracedDocument | None, other: TracedDocument | None) -> _Part:
    gone = delta.after is ABSENT
    return _Part(kind, delta, one if gone else other, delta.before_path if gone else delta.after_path)


def _part_of_group(part: Lowered) -> _Part:
    group = part.after or part.before
    assert group is not None
    docs = (side.doc if side is not None else None for side in (part.before, part.after))
    found = _part(part.kind, part.delta, *docs)
    training = ""
    if group.training_container_index is not None:
        training = str(group.doc.data["spec"]["containers"][group.training_container_index].get("name"))
    return found._replace(role=part.role, objects=part.objects, training=training)


def _renaming(one: Job, other: Job) -> Callable[[Any], Any]:
    """Return a function that replaces the old name of a job by the new one, so that only other changes are
    found."""
    old, new = one.name, other.name
    spaces = one.namespace, other.namespace

    def told(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(old, new) if old != new and len(old) >= 3 else value
        if isinstance(value, dict):
            below = {key: told(entry) for key, entry in value.items()}
            if spaces[0] != spaces[1] and below.get("namespace") == spaces[0]:
                below["namespace"] = spaces[1]
            return below
        return [told(entry) for entry in value] if isinstance(value, list) else value

    return told if old != new or spaces[0] != spaces[1] else lambda value: value


def _covered(parts: list[Lowered], one: Whole, other: Whole) -> Callable[[Delta], bool]:
    """Return a predicate whether lowered objects show a change of the CR, by the origins of their values."""
    ways: list[tuple[bool, Path]] = []
    counts = any(part.delta.part == "" for part in parts)
    for part in parts:
        gone = part.delta.after is ABSENT
        group = part.before if gone else part.after
        cr, path = (one.cr, part.delta.before_path) if gone else (other.cr, part.delta.after_path)
        if group is not None and path:
            ways += [(gone, step.path) for step in trace_to_source(group.doc, path) if step.doc is cr]

    def shown(delta: Delta) -> bool:
        gone = delta.after is ABSENT
        path = delta.before_path if gone else delta.after_path
        if counts and path[-1:] == ("replicas",):
            return True
        return any(
            gone is side and (path[: len(way)] == way or way[: len(path)] == path)
            for side, way in ways
            if way
        )

    return shown


def _placer(doc: TracedDocument | None, path: Path) -> Callable[[], Location | None]:
    return lambda: locate(doc, path).location if doc is not None and path else None


def _redacted(one: Difference, secrets: Redactor) -> Difference:
    before, after = redact_change(one.before, one.after, split_path(one.part), one.kind, secrets)
    return one._replace(before=before, after=after)


def _notes(after: Tree, before: Tree, pairs: list[Pair], changes: list[JobChange]) -> Iterator[str]:
    yield from _twice(before, after)
    yield from _stale(before, after)
    named = sum(change.what in ("broken", "mended") and change.is_job for change in changes)
    unknown = sum(is_unknown(pair) for pair in pairs if pair.after is None or pair.after.is_job)
    if named:
        yield f"{named} broken or mended job{'s are' if named > 1 else ' is'} in none of the sums"
    broken = sum(not one.is_shared for one in after.broken)
    still = max(unknown - named, 0) or (broken if before.broken and not named else 0)
    if still:
        were = (
            "jobs were broken before, and still are" if still > 1 else "job was broken before, and still is"
        )
        yield f"{still} {were}: in none of the sums"
    unlowered = sorted({job.kind for job in (*before.jobs, *after.jobs) if _is_not_lowered(job)})
    if unlowered:
        kinds = ", ".join(unlowered)
        yield f"{kinds}: not lowered (podplan check says why), so only the CR is compared"


def _twice(before: Tree, after: Tree) -> Iterator[str]:
    """Yield notes on objects that the change defines twice, or no longer twice: the cluster has each once."""
    known, written = (Counter(map(identity, tree.jobs)) for tree in (before, after))
    for more, fewer, tree, verb in ((written, known, after, "is"), (known, written, before, "was")):
        again = [
            job
            for job in {identity(job): job for job in tree.jobs if job.is_job}.values()
            if more[identity(job)] > max(fewer[identity(job)], 1) and not job.is_named_later
        ]
        if again:
            job = again[0]
            name = f"{job.namespace}/{job.name}" if job.namespace else job.name
            files = dict.fromkeys(one.file for one in tree.jobs if identity(one) == identity(job))
            others = f", and so {verb} {len(again) - 1} more" if len(again) > 1 else ""
            yield (
                f"{job.kind} {name} {verb} written {more[identity(job)]} times ({', '.join(files)}){others}:"
                " it counts each time, and a cluster has it once"
            )


def _stale(before: Tree, after: Tree) -> Iterator[str]:
    """Yield notes on rendered files that differ from what their profiles render: manual changes are not
    compared."""
    now = {one.file for one in after.stale}
    gone = [one for one in before.stale if one.file not in now]
    if after.stale:
        yield f"{_differing(after.stale)}; run podplan render again"
    if gone:
        yield f"before the change, {_differing(gone)}"


def _differing(stale: Sequence[Stale]) -> str:
    first, more = stale[0], len(stale) - 1
    if more:
        differ = f"{first.file} and {more} more differ from what their profiles render"
        return f"{differ}: only the profiles are compared"
    return f"{first.file} differs from what {first.source} renders: only the profile is compared"


def _is_not_lowered(job: Job) -> bool:
    return job.is_job and not job.lowered and not job.findings
