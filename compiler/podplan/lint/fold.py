"""Findings from what the pipeline saw; what is the same on many replicas or in many variants is said once."""

from __future__ import annotations

from collections.abc import Iterable

from podplan.findings import Change, Finding, Fix, Instances, Location, Lowered, Path, Problem, Related
from podplan.kubernetes.shape import mapping, text
from podplan.lint.anchors import anchor
from podplan.lint.checks._stars import Hidden
from podplan.lint.locate import locate, other_places
from podplan.lint.masking import silent
from podplan.lint.seen import Sighting
from podplan.provenance import Doc, Place, Step, origin_of
from podplan.rules import RULES, Rule
from podplan.selecting import Names
from podplan.typing import Any

OF_FORM = ("SCHEMA", "PROF")
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

    def findings(self, variants: int, secrets: Hidden | None = None) -> list[Finding]:
        """The findings in the order of their places; ``variants`` is how many the item has.

        They say nothing of ``secrets``, whatever was seen.
        """
        names: Names = {}
        equal = self._equal if secrets is None else self._silent(secrets)
        made = [
            found._replace(anchor=anchor(found, entry.data, names))
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

    def _silent(self, secrets: Hidden) -> dict[tuple[object, ...], _Equal]:
        """The same without the secrets; what differed in these alone is equal."""
        kept: dict[tuple[object, ...], _Equal] = {}
        for entry in self._equal.values():
            entry.first = silent(entry.first, secrets)
            key = (entry.first.rule, entry.first.message, entry.first.location[:-1])
            if key in kept:
                kept[key].merge(entry)
            else:
                kept[key] = entry
        return kept


def findings(sightings: Iterable[Sighting], variants: int, secrets: Hidden | None = None) -> list[Finding]:
    """The findings of one item, as ``Fold`` gives them."""
    fold = Fold()
    for sighting in sightings:
        fold.add(sighting)
    return fold.findings(variants, secrets)


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
        lowered = Lowered(doc.data["kind"], name, group.indexes, problem.path)
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
    """The change as edits of the file that the part came from, or why there are none.

    A base is shared: what is right for one profile may change another, so that only a mistake of form, which
    is one for all of them, is safe to mend there.
    """
    from podplan.fixing import Refused, at_source, edits_for

    try:
        document, there = at_source(doc, change)
        shared = isinstance(document.data, dict) and document.data.get("kind") == "JobProfileBase"
        safe = change.safe and (not shared or rule.code.startswith(OF_FORM))
        return Fix(change.title, safe, edits_for(document, there))
    except Refused as reason:
        return Fix(change.title, change.safe, refused=str(reason))


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
        where = locate(place.doc, place.path).location
        if where != primary:
            yield Related(where, "the value comes from here too")


def _one(equal: _Equal, variants: int) -> Finding:
    """One finding for all that are equal: the first, with the replicas and the variants of the others."""
    first, hit = equal.first, tuple(equal.variants)
    if first.lowered is not None:
        stem = _stem(first.lowered)
        indexes = [lowered.indexes for lowered in equal.lowered if _stem(lowered) == stem]
        first = first._replace(lowered=first.lowered._replace(indexes=_joined(indexes)))
    if variants > 1 and None not in hit:
        first = first._replace(
            instances=Instances(len(hit), variants, tuple(id_ or "as written" for id_ in hit)),
            fix=_for_some(first) if len(hit) < variants else first.fix,
        )
    return first


def _for_some(found: Finding) -> Fix | None:
    """The fix of a finding that other variants do not have: refused where they may need the line as it is."""
    fix, path = found.fix, found.location.path
    wrong_anyway = found.rule.startswith(OF_FORM) or path[:2] == ("spec", "environments")
    if fix is None or fix.refused or wrong_anyway:
        return fix
    return fix._replace(edits=(), refused="the line is for all variants, and only some need it")


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
