"""Two trees compared: what becomes of each job, and what changes, folded over everything it changes in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from podplan.diff.folding import Folding
from podplan.diff.impact import impact, size
from podplan.diff.lowered import Lowered, lowered
from podplan.diff.model import ABSENT, ANOTHER, Count, Diff, Difference, JobChange, Level
from podplan.diff.pairing import Pair, mended_faults, new_faults, paired
from podplan.diff.secrets import masked, secrets_of
from podplan.diff.trees import Broken, Job, Tree
from podplan.diff.values import Delta, compared
from podplan.facts.changes import Change, differing, what_happens
from podplan.findings import Location, Path
from podplan.lint.locate import locate
from podplan.provenance import Doc, trace

MAX_FINDINGS = 3  # of a broken job


class _Seen(NamedTuple):
    """What differs in one job: in its CR, and in what is told of it at the level that was asked for."""

    cr: list[Delta]
    told: list[tuple[str, Delta, Doc | None, Path, str, int]]


def compare(before: Tree, after: Tree, level: Level = "lowered", base: str = "", head: str = "") -> Diff:
    """What differs between two trees. ``base`` and ``head`` are what people call them.

    At ``source`` that is profiles as resolved, and CRs that are written by hand; at ``cr`` all CRs; at
    ``lowered`` the objects that the controllers make, and of the CRs what none of those shows.
    """
    pairs = paired(before, after)
    secrets = sorted(secrets_of((*before.jobs, *after.jobs)), key=lambda value: (-len(value), value))
    changes: list[JobChange] = []
    folding = Folding()
    for pair in pairs:
        seen = _seen(pair, level) if pair.before is not None and pair.after is not None else None
        change = _change(pair, seen)
        if change is None:
            continue
        if seen is not None and pair.after is not None and change.what == "changed":
            for kind, delta, doc, path, role, objects in seen.told:
                place = _placer(doc, path)
                folding.add(kind, delta, len(changes), pair.after.name, place, role, objects)
        changes.append(change)
    changes += [_of_broken(one, "broken") for one in new_faults(before, after, pairs)]
    changes += [_of_broken(one, "mended") for one in mended_faults(before, after, pairs)]
    counted = [pair for pair in pairs if not _is_unknown(pair)]
    sums = impact(
        changes,
        [pair.before for pair in counted if pair.before is not None],
        [pair.after for pair in counted if pair.after is not None],
    )
    told = tuple(_masked(one, secrets) for one in folding.differences())
    return Diff(base, head, level, sums, tuple(changes), told, tuple(_notes(after, before, pairs, changes)))


def _seen(pair: Pair, level: Level) -> _Seen:
    one, other = pair.before, pair.after
    assert one is not None
    assert other is not None
    told = _renaming(one, other)
    of_cr = list(compared(told(one.cr.data), other.cr.data))
    if level == "source" and one.profile is not None and other.profile is not None:
        parts = compared(_own(one.profile.data), _own(other.profile.data))
        return _Seen(
            of_cr, [("JobProfile", *_at(delta, one.profile, other.profile), "", 1) for delta in parts]
        )
    in_cr = [(other.kind, *_at(delta, one.cr, other.cr), "", 1) for delta in of_cr]
    if level != "lowered" or not (one.lowered and other.lowered):
        return _Seen(of_cr, in_cr)
    below = list(lowered(one.groups, other.groups, told))
    shown = _covered(below, one, other)
    in_groups = [
        (
            part.kind,
            *_at(
                part.delta, part.before.doc if part.before else None, part.after.doc if part.after else None
            ),
            part.role,
            part.objects,
        )
        for part in below
    ]
    return _Seen(of_cr, [*in_groups, *(entry for entry in in_cr if not shown(entry[1]))])


def _own(profile: Any) -> Any:
    """A resolved profile as the author wrote it: it has the name that the CR gets."""
    return {key: value for key, value in profile.items() if key in ("metadata", "spec")}


def _at(delta: Delta, one: Doc | None, other: Doc | None) -> tuple[Delta, Doc | None, Path]:
    """A delta with the document and the path where its value is written now, or was."""
    return (delta, one, delta.before_path) if delta.after is ABSENT else (delta, other, delta.after_path)


def _renaming(one: Job, other: Job) -> Callable[[Any], Any]:
    """What tells values of a job by the name that it has now, so that only other changes are seen."""
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


def _covered(parts: list[Lowered], one: Job, other: Job) -> Callable[[Delta], bool]:
    """Whether lowered objects show a change of the CR, by where their values come from."""
    ways: list[tuple[bool, Path]] = []
    counts = any(part.delta.part == "" for part in parts)
    for part in parts:
        gone = part.delta.after is ABSENT
        group = part.before if gone else part.after
        cr, path = (one.cr, part.delta.before_path) if gone else (other.cr, part.delta.after_path)
        if group is not None and path:
            ways += [(gone, step.path) for step in trace(group.doc, path) if step.doc is cr]

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


def _change(pair: Pair, seen: _Seen | None) -> JobChange | None:
    """What becomes of a job; None where nothing does."""
    job = pair.after or pair.before
    assert job is not None
    sizes = zip(size(pair.before), size(pair.after), strict=True)
    pods, gpus = (Count(*counts) for counts in sizes)
    found = JobChange(
        "created",
        job.kind,
        job.namespace,
        job.name,
        job.environment,
        job.variant,
        job.file,
        pods=pods,
        gpus=gpus,
        is_job=job.is_job,
    )
    if pair.after is not None and pair.after.findings:
        was_broken = pair.before is not None and pair.before.findings
        if was_broken and not (seen and seen.cr):
            return None
        return found._replace(what="broken", findings=_few(pair.after.findings))
    if pair.before is None:
        cause = pair.mended
        return found if cause is None else found._replace(what="mended", findings=_few(cause.findings))
    if pair.after is None:
        if pair.wrong is not None:
            return found._replace(what="broken", findings=_few(pair.wrong.findings), file=pair.wrong.file)
        return found._replace(what="removed")
    if pair.before.findings:
        return found._replace(what="mended", findings=_few(pair.before.findings))
    assert seen is not None
    was = pair.before
    if (was.namespace, was.name) != (job.namespace, job.name):
        old = was.name if was.namespace == job.namespace else f"{was.namespace}/{was.name}"
        return found._replace(what="changed", effect="re-run" if job.is_job else None, was=old)
    if not seen.cr and not seen.told:
        return None
    effect = _effect(seen.cr) if job.is_job and seen.cr else None
    if effect is None:
        return found._replace(what="changed", effect=None if job.is_job else "in-place")
    return found._replace(what="changed", effect=effect.how, effects=effect.decisive)


def _effect(deltas: list[Delta]) -> Change:
    paths: list[Path] = []
    for delta in deltas:
        path = delta.before_path if delta.after is ABSENT else delta.after_path
        sides = [{} if side is ABSENT else side for side in (delta.before, delta.after)]
        nested = all(isinstance(side, dict) for side in sides)
        paths += differing(sides[0], sides[1], path) if nested else [path]
    return what_happens(None, None, paths)


def _of_broken(one: Broken, what: Any) -> JobChange:
    name = one.origin or one.file
    under = one.environments[0] if one.environments and len(one.environments) == 1 else ""
    variant = one.variants[0] if one.variants else ""
    is_job = one.kind not in ("file", "JobProfileBase", "ClusterInventory")
    return JobChange(
        what,
        one.kind,
        one.namespace,
        name,
        under,
        variant,
        one.file,
        findings=_few(one.findings),
        is_job=is_job,
    )


def _few(findings: tuple[Any, ...]) -> tuple[Any, ...]:
    return findings[:MAX_FINDINGS]


def _is_unknown(pair: Pair) -> bool:
    """Whether nobody knows what a job comes to on one side, so that it counts on neither."""
    faulty = any(job is not None and job.findings for job in (pair.before, pair.after))
    return faulty or pair.wrong is not None or pair.mended is not None


def _placer(doc: Doc | None, path: Path) -> Callable[[], Location | None]:
    return lambda: locate(doc, path).location if doc is not None and path else None


def _masked(one: Difference, secrets: list[str]) -> Difference:
    before, after = (masked(value, secrets, one.kind, one.path) for value in (one.before, one.after))
    if before == after and isinstance(after, str):
        after += ANOTHER
    elif before == after and isinstance(after, list) and after:
        after = [*after, ANOTHER.strip()]
    return one._replace(before=before, after=after)


def _notes(after: Tree, before: Tree, pairs: list[Pair], changes: list[JobChange]) -> Iterator[str]:
    unknown = sum(_is_unknown(pair) for pair in pairs if pair.after is None or pair.after.is_job)
    named = sum(1 for change in changes if change.what in ("broken", "mended") and change.is_job)
    if unknown or named:
        number = max(unknown, named)
        yield f"{number} broken or mended job{'s are' if number > 1 else ' is'} in none of the sums"
    unlowered = sorted({job.kind for job in (*before.jobs, *after.jobs) if _is_not_lowered(job)})
    if unlowered:
        yield f"{', '.join(unlowered)}: not lowered yet, so only the CR is compared, and no Pods are counted"
    still = len(after.broken) - sum(1 for change in changes if change.what == "broken")
    if still > 0 and before.broken:
        was, remains = ("were", "are") if still > 1 else ("was", "is")
        yield f"{still} {was} broken before, and still {remains}"


def _is_not_lowered(job: Job) -> bool:
    return job.is_job and not job.lowered and not job.findings
