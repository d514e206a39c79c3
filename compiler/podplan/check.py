"""Checking files: every document of ours on its way, and what there is to say about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from podplan.documents import Item, is_helm_template, items, mentions_ours
from podplan.files import expand
from podplan.findings import Finding, Location, Severity
from podplan.lint.fold import findings
from podplan.lint.seen import Seen, Sighting
from podplan.pipeline import Plan, Settings, check_form, check_object, plans
from podplan.reading import Reader, Unread, sources
from podplan.rendered import compare, header_of
from podplan.rules import RULES
from podplan.source import Fault, Source

SECRET = re.compile(r"kind[\"']?\s*:\s*[\"']?Secret")


class Summary(NamedTuple):
    """Counts. ``objects`` are CRs (one per variant of a profile) and Kubernetes objects; ``lowered`` what
    the controllers make of the CRs, every replica counted; ``not_checked`` is documents by reason."""

    errors: int
    warnings: int
    infos: int
    suppressed: int
    files: int
    objects: int
    lowered: int
    not_checked: Mapping[str, int]


class Result(NamedTuple):
    """Findings in the order of files and lines; ``texts`` holds the files that have any."""

    findings: list[Finding]
    summary: Summary
    texts: Mapping[str, str]


class Tally:
    """Counts that grow while files are checked."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.not_checked: Counter[str] = Counter()


def check(paths: Sequence[str], settings: Settings, reader: Reader, exclude: Sequence[str] = ()) -> Result:
    """Everything there is to say about the files that ``paths`` stand for.

    Raises files.NoSuchPath, reading.RequestError and limits.BoundExceeded.
    """
    return check_sources(sources(expand(paths, exclude)), settings, reader)


def check_sources(found: Iterable[Source | Unread], settings: Settings, reader: Reader) -> Result:
    """The same for files that are read already, such as standard input."""
    tally = Tally()
    said: list[Finding] = []
    texts: dict[str, str] = {}
    for source in found:
        tally.counts["files"] += 1
        if isinstance(source, Unread):
            tally.not_checked[source.reason] += 1
            continue
        in_file = list(_check_source(source, settings, reader, tally))
        if in_file:
            said += in_file
            texts[source.file] = source.text
    return _result(said, texts, tally, reader)


def summarised(found: Sequence[Source | Unread], made: Sequence[Plan], reader: Reader) -> Result:
    """The findings of plans that are made already, and the faults of the files they are from."""
    tally = Tally()
    tally.counts["files"] = len(found)
    said: list[Finding] = []
    texts: dict[str, str] = {}
    for source in found:
        if isinstance(source, Source):
            texts[source.file] = source.text
            if mentions_ours(source.text):
                said += [_fault(source, fault) for fault in source.faults]
    for _, group in groupby(made, key=lambda plan: id(plan.item)):
        said += _plan_findings(list(group), tally)
    return _result(said, texts, tally, reader)


def _result(said: list[Finding], texts: dict[str, str], tally: Tally, reader: Reader) -> Result:
    severities = Counter(found.severity for found in said)
    summary = Summary(
        errors=severities[Severity.ERROR],
        warnings=severities[Severity.WARNING],
        infos=severities[Severity.INFO],
        suppressed=0,
        files=tally.counts["files"],
        objects=tally.counts["objects"],
        lowered=tally.counts["lowered"],
        not_checked=dict(sorted(tally.not_checked.items())),
    )
    places = {found.location.file for found in said}
    places |= {related.location.file for found in said for related in found.related}
    texts.update(reader.texts(places - texts.keys()))
    # Lines of a file with Secrets are not shown: nobody can tell from a broken one which of them are secret.
    shown = {file: text for file, text in texts.items() if not SECRET.search(text)}
    return Result(said, summary, shown)


def _check_source(source: Source, settings: Settings, reader: Reader, tally: Tally) -> Iterator[Finding]:
    found = list(items(source))
    ours = any(item.what != "other" for item in found) or mentions_ours(source.text)
    if not ours or (source.faults and not found and is_helm_template(source.text)):
        tally.not_checked.update(item.reason for item in found)
        if not found:
            tally.not_checked[_why_nothing(source)] += 1
        return
    for fault in source.faults:
        yield _fault(source, fault)
    for item in found:
        yield from _check_item(item, settings, reader, tally)


def _why_nothing(source: Source) -> str:
    if is_helm_template(source.text):
        return "Helm template"
    return "not YAML" if source.faults else "empty"


def _fault(source: Source, fault: Fault) -> Finding:
    rule, span = RULES[fault.rule], fault.span
    return Finding(
        rule=rule.code,
        name=rule.name,
        severity=rule.severity,
        message=fault.message,
        basis=rule.basis,
        location=Location(source.file, span.line, span.column, span.end_line, span.end_column, ()),
        level="file",
        help=fault.help,
    )


def _check_item(item: Item, settings: Settings, reader: Reader, tally: Tally) -> Iterator[Finding]:
    if item.what == "other":
        tally.not_checked[item.reason] += 1
    elif item.what in ("base", "inventory"):
        seen = [Seen("profile", item.doc, problem) for problem in check_form(item)]
        yield from findings((Sighting("", one, None) for one in seen), 1)
    elif item.what == "object":
        tally.counts["objects"] += 1
        seen = list(check_object(item.doc, settings))
        yield from findings((Sighting("", one, identity(item.doc.data)) for one in seen), 1)
    elif item.what == "cr" and (said := header_of(item)) is not None:
        tally.not_checked["rendered CR: its source is"] += 1
        stale = compare(item, said, settings, reader)
        if stale is not None:
            yield from findings([Sighting("", Seen("cr", item.doc, stale), identity(item.doc.data))], 1)
    else:
        yield from _plan_findings(plans(item, settings, reader), tally)


def _plan_findings(made: Iterable[Plan], tally: Tally) -> list[Finding]:
    """The findings of all variants of one document; what is equal in several is said once."""
    sightings: list[Sighting] = []
    variants = 0
    for plan in made:
        variants += 1
        tally.counts["objects"] += plan.cr is not None
        tally.counts["lowered"] += sum(group.replicas for group in plan.groups)
        if not plan.lowered:
            tally.not_checked[_why_not_lowered(plan)] += 1
        named = identity(plan.cr.data) if plan.cr is not None else None
        sightings += [Sighting(plan.variant, seen, named) for seen in plan.seen]
    return findings(sightings, variants)


def _why_not_lowered(plan: Plan) -> str:
    if any(seen.problem.rule == "CR900" for seen in plan.seen):
        return "lowered objects: the kind is not lowered yet"
    return "lowered objects: the CR has errors" if plan.cr else "CR: the profile has errors"


def identity(data: Mapping[str, Any]) -> dict[str, Any]:
    """apiVersion, kind, name and namespace of an object, None for what it lacks."""
    metadata = data.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return {
        "apiVersion": data.get("apiVersion"),
        "kind": data.get("kind"),
        "name": metadata.get("name"),
        "namespace": metadata.get("namespace"),
    }
