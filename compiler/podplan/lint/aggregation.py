"""Findings from what the pipeline saw; what is the same on many replicas or in many variants is said once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from podplan.core.builtin_rules import RULES, Rule
from podplan.core.findings import (
    Change,
    Edit,
    Finding,
    Fix,
    Instances,
    Location,
    Lowered,
    Path,
    Problem,
    Related,
)
from podplan.core.path_syntax import Names
from podplan.core.provenance import Doc, Place, Step, origin_of
from podplan.core.typing import TYPE_CHECKING, Any
from podplan.kubernetes.accessors import mapping, text
from podplan.lint.document_diagnostics import Sighting
from podplan.lint.location import find_source, locate, other_places
from podplan.lint.stable_identity import anchor

if TYPE_CHECKING:
    from podplan.redaction.redactor import Redactor

# What one document says by itself, whatever others say.
OF_FORM = ("SCHEMA001", "SCHEMA002", "SCHEMA004", "SCHEMA011", "PROF")
REFUSED_WHOLE = ("PROF0", "POLICY0")
SHARED = ("JobProfileBase", "ClusterInventory")
FOR_ALL = "the line is for all variants, and only some need it"
FORM_AGAIN = ("SCHEMA", "PROF011", "PROF02")


class _Equal:
    """What is equal in several variants: the first finding, the data of its document, and where else it is.

    ``lowered`` are the replicas of the first variant; each of ``variants`` has its number in the item.
    """

    __slots__ = ("data", "first", "lowered", "variants")

    def __init__(self, first: Finding, data: Any) -> None:
        self.first, self.data = first, data
        self.variants: dict[str | None, int] = {}
        self.lowered: list[Lowered] = []

    def add(self, found: Finding, variant: str | None, number: int) -> None:
        """The same in a variant."""
        self.variants.setdefault(variant, number)
        if found.lowered is not None and variant == next(iter(self.variants)):
            self.lowered.append(found.lowered)

    def merge(self, other: _Equal) -> None:
        """One that is equal without the secrets in it."""
        if next(iter(other.variants)) == next(iter(self.variants)):
            self.lowered += other.lowered
        both = {**other.variants, **self.variants}
        self.variants = dict(sorted(both.items(), key=lambda entry: entry[1]))


class Fold:
    """Folds what was seen in one item into findings. It keeps one finding of many that are equal, and no
    document that was made on the way."""

    def __init__(self) -> None:
        self._equal: dict[tuple[object, ...], _Equal] = {}
        self._numbers: dict[str | None, int] = {}

    def add(self, sighting: Sighting) -> None:
        """One more, in the order of the variants."""
        found, data = _finding(sighting)
        number = self._numbers.setdefault(sighting.variant, len(self._numbers))
        # Not by path: an alias leads to one line along several of them.
        key = (found.rule, found.message, found.location[:-1])
        if key not in self._equal:
            self._equal[key] = _Equal(found, data)
        self._equal[key].add(found, sighting.variant, number)

    def findings(self, secrets: Redactor | None, variants: Sequence[str] = ("",)) -> list[Finding]:
        """The findings in the order of their places; ``variants`` are the ids of all that the item has.

        What ``secrets`` hides is in none of them.
        """
        names: Names = {}
        equal = self._redacted(secrets) if secrets else self._equal
        made = [
            found._replace(anchor=anchor(found, entry.data, names, secrets))
            for entry, found in ((entry, _one(entry, variants)) for entry in equal.values())
        ]
        by_form = {found.location for found in made if found.rule == "PROF001"}
        by_cr = {found.location for found in made if found.level == "cr" and _of_schema(found)}
        # A consequence is not told beside its cause: what the form of a profile says already, resolving and
        # compiling need not say again, nor the Pods what the CR says of the same value.
        told = (
            found
            for found in made
            if not (found.rule.startswith(FORM_AGAIN) and found.location in by_form)
            and not (found.level == "lowered" and _of_schema(found) and found.location in by_cr)
        )
        return sorted(told, key=_order)

    def _redacted(self, secrets: Redactor) -> dict[tuple[object, ...], _Equal]:
        """The same without the secrets; what differed in these alone is equal."""
        from podplan.lint.redaction import redact_finding

        kept: dict[tuple[object, ...], _Equal] = {}
        for entry in self._equal.values():
            entry.first = redact_finding(entry.first, secrets)
            key = (entry.first.rule, entry.first.message, entry.first.location[:-1])
            if key in kept:
                kept[key].merge(entry)
            else:
                kept[key] = entry
        return kept

    def __bool__(self) -> bool:
        return bool(self._equal)


def findings(sightings: Iterable[Sighting], secrets: Callable[[], Redactor | None]) -> list[Finding]:
    """The findings of one item that has no variants, as ``Fold`` gives them.

    What ``secrets`` gives hides secrets, None for there are none; it is asked for where there is a finding.
    """
    fold = Fold()
    for sighting in sightings:
        fold.add(sighting)
    return fold.findings(secrets()) if fold else []


def _of_schema(found: Finding) -> bool:
    return found.rule.startswith("SCHEMA")


def _order(found: Finding) -> tuple[object, ...]:
    where = found.location
    return (where.file, where.line, where.column, -found.severity, found.rule, found.message)


def _finding(sighting: Sighting) -> tuple[Finding, Any]:
    """A finding without its anchor, and the data of the document that it is in."""
    level, doc, problem, group, rule, _, change_in, _ = sighting.seen
    path, related = _written(doc, problem)
    source = locate(doc, path, problem.on_key)
    stands_for: tuple[Related, ...] = ()
    chosen = _choice(source.steps) if problem.by_choice else None
    if chosen is not None:
        stands_for = (Related(source.location, "what it stands for"),)
        source = locate(chosen.doc, chosen.path)
    rule = rule or RULES[problem.rule]
    lowered = None
    if level == "lowered" and group is not None:
        name = text(mapping(doc.data, "metadata"), "name")  # a Pod that somebody wrote may have none
        lowered = Lowered(doc.data["kind"], name, group.indexes, tuple(problem.path))
    found = Finding(
        rule=rule.code,
        name=rule.name,
        severity=rule.severity,
        message=problem.message,
        basis=rule.basis,
        location=source.location,
        level=level,
        object=sighting.object,
        lowered=lowered,
        related=(*stands_for, *_related(sighting, related, source.location)),
        help=problem.help,
        fix=_fix(change_in or doc, rule, problem.change) if problem.change else None,
    )
    return found, source.steps[-1].doc.data


def _fix(doc: Doc, rule: Rule, change: Change) -> Fix:
    """The change as edits of the files that the parts came from, or why there are none.

    What podplan refuses renders nothing, so that its job did not run. A base and an inventory are shared, and
    what is wrong with their form keeps no profile from being rendered: what is right for one job may change
    another.
    """
    from podplan.yaml.edits import Refused, at_source, edits_for

    safe = change.safe or rule.code.startswith(REFUSED_WHOLE)
    edits: list[Edit] = []
    try:
        for step in change.steps:
            document, there = at_source(doc, step)
            safe = safe and mapping({"": document.data}, "").get("kind") not in SHARED
            edits += edits_for(document, there)
    except Refused as reason:
        return Fix(change.title, safe, refused=str(reason))
    return Fix(change.title, safe, tuple(edits))


def _written(doc: Doc, problem: Problem) -> tuple[Path, tuple[tuple[Path, str], ...]]:
    """The path to report at, and the related ones: what somebody wrote before what a controller added."""
    if not problem.related or not _is_added(doc, problem.path):
        return problem.path, problem.related
    (path, message), *others = problem.related
    if _is_added(doc, path):
        return problem.path, problem.related
    return path, ((problem.path, message), *others)


def _choice(steps: Iterable[Step]) -> Place | None:
    """Where the name stands by which a value was looked up elsewhere; None for one that was not."""
    origins = (step.origin for step in steps if step.origin is not None)
    return next((one.places[1] for one in origins if one.how == "copied" and len(one.places) > 1), None)


def _is_added(doc: Doc, path: Path) -> bool:
    """Whether a part of a lowered document stands because of a fact, and not because somebody wrote it."""
    return doc.source is None and origin_of(doc, path)[0].fact is not None


def _related(sighting: Sighting, related: Iterable[tuple[Path, str]], primary: Location) -> Iterable[Related]:
    _, doc, problem, _, _, also, _, _ = sighting.seen
    for path, message in related:
        yield Related(locate(doc, path).location, message)
    for place, message in also:
        yield Related(locate(place.doc, place.path).location, message)
    for place in other_places(doc, problem.path):
        source = find_source(place.doc, place.path)
        if source is not None and source.location != primary:
            yield Related(source.location, "the value comes from here too")


def _one(equal: _Equal, variants: Sequence[str]) -> Finding:
    """One finding for all that are equal: the first, with the replicas and the variants of the others."""
    first, hit = equal.first, equal.variants
    if first.lowered is not None:
        stem = _stem(first.lowered)
        indexes = [lowered.indexes for lowered in equal.lowered if _stem(lowered) == stem]
        first = first._replace(lowered=first.lowered._replace(indexes=_joined(indexes)))
    if len(variants) > 1 and None not in hit:
        others = [id_ for id_ in variants if id_ not in hit]
        first = first._replace(
            instances=Instances(len(hit), len(variants), tuple(id_ or "as written" for id_ in hit)),
            fix=_for_some(first, others) if others else first.fix,
        )
    return first


def _for_some(found: Finding, others: list[str]) -> Fix | None:
    """The fix of a finding that the ``others`` do not have: refused where the line is theirs too."""
    fix, path = found.fix, found.location.path
    if fix is None or fix.refused or found.rule.startswith(OF_FORM):
        return fix
    if path[:2] == ("spec", "environments") and len(path) > 2:
        others = [id_ for id_ in others if id_.partition("/")[0] == path[2]]
    return fix._replace(edits=(), refused=FOR_ALL) if others else fix


def _stem(lowered: Lowered) -> tuple[str, str]:
    """The kind and the name without the index: the same for all replicas of a role."""
    return lowered.kind, lowered.name.removesuffix(lowered.indexes.partition("-")[0])


def _joined(ranges: list[str]) -> str:
    """Ranges such as "0" and "1-31" as few as can be: "0-31"."""
    numbers = sorted({_bounds(text) for text in ranges if text})
    joined: list[tuple[int, int]] = []
    for first, last in numbers:
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in joined)


def _bounds(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    return int(first), int(last or first)
