"""Findings from the diagnostics of the pipeline; equal ones of many replicas or variants are aggregated."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from podplan.core.builtin_rules import BUILTIN_RULES, Rule
from podplan.core.findings import (
    MAX_RELATED,
    Diagnostic,
    DocumentFix,
    Edit,
    Finding,
    Fix,
    InstanceCounts,
    Location,
    LoweredReference,
    Path,
    Related,
)
from podplan.core.provenance import DocumentPath, TracedDocument, TraceStep, find_origin
from podplan.core.replica_groups import find_name_text
from podplan.core.typing import TYPE_CHECKING, Any
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.location import find_contributing_places, find_source_location, locate

if TYPE_CHECKING:
    from podplan.core.path_syntax import EntryNameCounts
    from podplan.redaction.redactor import Redactor

# What one document says by itself, whatever others say.
STRUCTURE_RULE_PREFIXES = ("SCHEMA001", "SCHEMA002", "SCHEMA004", "SCHEMA011", "SCHEMA012", "PROF")
REJECTING_RULE_PREFIXES = ("PROF0", "POLICY0")
SHARED_KINDS = ("JobProfileBase", "ClusterInventory", "WorkloadMapping")
SHARED_LINE_REFUSAL = "the line is for all variants, and only some need it"
CONSEQUENCE_RULE_PREFIXES = ("SCHEMA", "PROF011", "PROF02")


class _Equal:
    """What is equal in several variants: the first finding, the data of its document, and where else it is.

    ``lowered`` are the replicas of the first variant; each of ``variants`` has its number in the item.
    """

    __slots__ = ("data", "first", "lowered", "variants")

    def __init__(self, first: Finding, data: Any) -> None:
        self.first, self.data = first, data
        self.variants: dict[str | None, int] = {}
        self.lowered: list[LoweredReference] = []

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

    def add(
        self, diagnostic: Diagnostic, variant: str | None = "", object_id: dict[str, Any] | None = None
    ) -> None:
        """One more, in the order of the variants.

        ``variant`` is None for the document as a whole; ``object_id`` is the CR or object that it is in.
        """
        found, data = _build_finding(diagnostic, object_id)
        number = self._numbers.setdefault(variant, len(self._numbers))
        # Not by path: an alias leads to one line along several of them.
        key = (found.rule, found.message, found.location[:-1])
        if key not in self._equal:
            self._equal[key] = _Equal(found, data)
        self._equal[key].add(found, variant, number)

    def findings(self, secrets: Redactor | None, variants: Sequence[str] = ("",)) -> list[Finding]:
        """The findings in the order of their places; ``variants`` are the ids of all that the item has.

        What ``secrets`` hides is in none of them.
        """
        if not self._equal:
            return []
        from podplan.lint.stable_identity import build_anchor

        names: EntryNameCounts = {}
        equal = self._redact_entries(secrets) if secrets else self._equal
        made = [
            found._replace(identity=build_anchor(found, entry.data, names, secrets))
            for entry, found in ((entry, _merge_findings(entry, variants)) for entry in equal.values())
        ]
        by_form = {found.location for found in made if found.rule == "PROF001"}
        by_cr = {found.location for found in made if found.level == "cr" and _is_schema_finding(found)}
        # Report a cause without its consequences: schema errors of a profile make errors of resolving and
        # compiling redundant, and errors in the CR those of the same values in Pods.
        reported = (
            found
            for found in made
            if not (found.rule.startswith(CONSEQUENCE_RULE_PREFIXES) and found.location in by_form)
            and not (found.level == "lowered" and _is_schema_finding(found) and found.location in by_cr)
        )
        return sorted(reported, key=_sort_key)

    def _redact_entries(self, secrets: Redactor) -> dict[tuple[object, ...], _Equal]:
        """The same without the secrets; what differed in these alone is equal."""
        from podplan.lint.finding_redaction import redact_finding

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


def aggregate_findings(
    diagnostics: Iterable[Diagnostic],
    get_redactor: Callable[[], Redactor | None],
    object_id: dict[str, Any] | None = None,
) -> list[Finding]:
    """Return the findings of one document that has no variants, as ``Fold`` returns them.

    ``get_redactor`` returns the redactor that hides secrets, None if there are none. It is called only if
    there is a finding.
    """
    fold = Fold()
    for one in diagnostics:
        fold.add(one, object_id=object_id)
    return fold.findings(get_redactor()) if fold else []


def merge_equal_findings(findings: Iterable[Finding], shared_files: Collection[str]) -> list[Finding]:
    """The findings; those that many jobs have in one of the shared files are one, with the first jobs."""
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        is_shared = finding.location.file in shared_files
        key = (finding.rule, finding.message, finding.location) if is_shared else id(finding)
        groups.setdefault(key, []).append(finding)
    return [_merge_users(group) if len(group) > 1 else group[0] for group in groups.values()]


def _merge_users(equal: Sequence[Finding]) -> Finding:
    """The first of several equal findings, with the places and files of the others."""
    related = dict.fromkeys(one for finding in equal[:MAX_RELATED] for one in finding.related)
    files = dict.fromkeys(file for finding in equal for file in finding.subject_files)
    return equal[0]._replace(related=tuple(related)[:MAX_RELATED], subject_files=tuple(files))


def _is_schema_finding(finding: Finding) -> bool:
    return finding.rule.startswith("SCHEMA")


def _sort_key(finding: Finding) -> tuple[object, ...]:
    location = finding.location
    return (location.file, location.line, location.column, -finding.severity, finding.rule, finding.message)


def _build_finding(diagnostic: Diagnostic, object_id: dict[str, Any] | None) -> tuple[Finding, Any]:
    """A finding without its anchor, and the data of the document that it is in."""
    doc, group = diagnostic.doc, diagnostic.group
    assert doc is not None, f"{diagnostic.rule} is in no document"
    path, related_paths = _choose_report_path(doc, diagnostic)
    source = locate(doc, path, diagnostic.on_key)
    selector_related: tuple[Related, ...] = ()
    selector = _find_selector(source.steps) if diagnostic.report_at_selector else None
    if selector is not None:
        selector_related = (Related(source.location, "what it stands for"),)
        source = locate(selector.doc, selector.path)
    rule = diagnostic.graded_rule or BUILTIN_RULES[diagnostic.rule]
    lowered = None
    if diagnostic.level == "lowered" and group is not None:
        metadata = get_mapping(doc.data, "metadata")  # a Pod that somebody wrote may have no name
        name = get_text(metadata, "name") or get_text(metadata, "generateName")
        name_text = find_name_text(doc) if name else None
        lowered_path = tuple(diagnostic.path)
        if () in doc.origins:
            from podplan.lint.analysis.mounted_scripts import find_lowered_path

            lowered_path = find_lowered_path(doc, lowered_path)
        lowered = LoweredReference(doc.data["kind"], name, group.indexes, lowered_path, name_text)
    finding = Finding(
        rule=rule.code,
        name=rule.name,
        severity=rule.severity,
        message=diagnostic.message,
        basis=rule.basis,
        location=source.location,
        level=diagnostic.level,
        object=object_id,
        lowered=lowered,
        related=(*selector_related, *_iter_related(diagnostic, doc, related_paths, source.location)),
        help=diagnostic.help,
        fix=_build_fix(diagnostic.fix_doc or doc, rule, diagnostic.fix) if diagnostic.fix else None,
    )
    return finding, source.steps[-1].doc.data


def _build_fix(doc: TracedDocument, rule: Rule, change: DocumentFix) -> Fix:
    """The change as edits of the files that the parts came from, or why there are none.

    What podplan refuses renders nothing, so that its job did not run. A base and an inventory are shared, and
    what is wrong with their form keeps no profile from being rendered: what is right for one job may change
    another.
    """
    from podplan.yaml.edits import FixRefused, build_edits, resolve_to_source

    safe = change.safe or rule.code.startswith(REJECTING_RULE_PREFIXES)
    edits: list[Edit] = []
    try:
        for step in change.steps:
            document, step_at_source = resolve_to_source(doc, step)
            safe = safe and get_mapping({"": document.data}, "").get("kind") not in SHARED_KINDS
            edits += build_edits(document, step_at_source)
    except FixRefused as reason:
        return Fix(change.title, safe, refusal_reason=str(reason))
    return Fix(change.title, safe, tuple(edits))


def _choose_report_path(
    doc: TracedDocument, diagnostic: Diagnostic
) -> tuple[Path, tuple[tuple[Path, str], ...]]:
    """The path to report at, and the related ones: what somebody wrote before what a controller added."""
    if not diagnostic.related or not _is_added_by_behavior(doc, diagnostic.path):
        return diagnostic.path, diagnostic.related
    (path, message), *other_related = diagnostic.related
    if _is_added_by_behavior(doc, path):
        return diagnostic.path, diagnostic.related
    return path, ((diagnostic.path, message), *other_related)


def _find_selector(steps: Iterable[TraceStep]) -> DocumentPath | None:
    """The location of the name by which a value was looked up elsewhere; None for a value that was not."""
    origins = (step.origin for step in steps if step.origin is not None)
    return next(
        (one.sources[1] for one in origins if one.derivation == "copied" and len(one.sources) > 1), None
    )


def _is_added_by_behavior(doc: TracedDocument, path: Path) -> bool:
    """Whether a controller behaviour adds a part of a lowered document, which nobody wrote."""
    return doc.source is None and find_origin(doc, path)[0].behavior is not None


def _iter_related(
    diagnostic: Diagnostic,
    doc: TracedDocument,
    related_paths: Iterable[tuple[Path, str]],
    primary_location: Location,
) -> Iterable[Related]:
    places = [(DocumentPath(doc, path), message) for path, message in related_paths]
    places += diagnostic.related_places
    shown = {primary_location}
    for place, message in places:
        location = locate(place.doc, place.path).location
        shown.add(location)
        yield Related(location, message)
    # A value may be written elsewhere, such as that of a param that an environment sets.
    for read in (DocumentPath(doc, diagnostic.path), *(place for place, _ in places)):
        for place in find_contributing_places(read.doc, read.path):
            source = find_source_location(place.doc, place.path)
            if source is not None and source.location not in shown:
                shown.add(source.location)
                yield Related(source.location, "the value comes from here too")


def _merge_findings(equal: _Equal, variant_ids: Sequence[str]) -> Finding:
    """One finding for all that are equal: the first, with the replicas and the variants of the others."""
    first, hit_variants = equal.first, equal.variants
    if first.lowered is not None:
        stem = _strip_index(first.lowered)
        indexes = [lowered.indexes for lowered in equal.lowered if _strip_index(lowered) == stem]
        first = first._replace(lowered=first.lowered._replace(indexes=_merge_ranges(indexes)))
    if len(variant_ids) > 1 and None not in hit_variants:
        unaffected_variants = [id_ for id_ in variant_ids if id_ not in hit_variants]
        first = first._replace(
            instances=InstanceCounts(
                len(hit_variants), len(variant_ids), tuple(id_ or "as written" for id_ in hit_variants)
            ),
            fix=_refuse_partial_fix(first, unaffected_variants) if unaffected_variants else first.fix,
        )
    return first


def _refuse_partial_fix(finding: Finding, unaffected_variants: list[str]) -> Fix | None:
    """Return the fix of a finding, refused if ``unaffected_variants`` share the line that it changes."""
    fix, path = finding.fix, finding.location.path
    if fix is None or fix.refusal_reason or finding.rule.startswith(STRUCTURE_RULE_PREFIXES):
        return fix
    if path[:2] == ("spec", "environments") and len(path) > 2:
        unaffected_variants = [id_ for id_ in unaffected_variants if id_.partition("/")[0] == path[2]]
    return fix._replace(edits=(), refusal_reason=SHARED_LINE_REFUSAL) if unaffected_variants else fix


def _strip_index(lowered: LoweredReference) -> tuple[str, object]:
    """The kind and the name without the index: the same for all replicas of a role."""
    if lowered.name.endswith("-"):
        return lowered.kind, lowered.name_text
    return lowered.kind, lowered.name.removesuffix(lowered.indexes.partition("-")[0])


def _merge_ranges(ranges: list[str]) -> str:
    """Ranges such as "0" and "1-31" as few as can be: "0-31"."""
    bounds = sorted({_parse_range(text) for text in ranges if text})
    merged: list[tuple[int, int]] = []
    for first, last in bounds:
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in merged)


def _parse_range(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    return int(first), int(last or first)
