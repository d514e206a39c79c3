"""Checking files: every document of ours on its way, and what there is to say about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from podplan.findings import Finding, Location, Severity
from podplan.groups import Group
from podplan.lint.apply import apply, apply_to_set, lacking
from podplan.lint.fold import findings
from podplan.lint.seen import Seen, Sighting
from podplan.lint.subject import Job
from podplan.pipeline import Plan, Settings, check_form, check_object, plans
from podplan.provenance import trace
from podplan.reading import Reader, Unread, sources
from podplan.reading.documents import Item, identity, is_helm_template, items, mentions_ours
from podplan.reading.files import expand
from podplan.rendering.origin import compare, header_of
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


class Run:
    """What grows while files are checked: counts, findings, and the jobs for policies about all of them."""

    def __init__(self, settings: Settings, reader: Reader) -> None:
        self.settings = settings
        self.reader = reader
        self.counts: Counter[str] = Counter()
        self.not_checked: Counter[str] = Counter()
        self.findings: list[Finding] = []
        self.texts: dict[str, str] = {}
        self.jobs: list[Job] = []


def check(paths: Sequence[str], settings: Settings, reader: Reader, exclude: Sequence[str] = ()) -> Result:
    """Everything there is to say about the files that ``paths`` stand for.

    Raises files.NoSuchPath, requests.RequestError and limits.BoundExceeded.
    """
    return check_sources(sources(expand(paths, exclude)), settings, reader)


def check_sources(found: Iterable[Source | Unread], settings: Settings, reader: Reader) -> Result:
    """The same for files that are read already, such as standard input."""
    run = Run(settings, reader)
    for source in found:
        run.counts["files"] += 1
        if isinstance(source, Unread):
            run.not_checked[source.reason] += 1
            continue
        in_file = list(_check_source(source, run))
        if in_file:
            run.findings += in_file
            run.texts[source.file] = source.text
    about_all = apply_to_set(settings.policies, tuple(run.jobs))
    run.findings += findings([Sighting("", seen, _identity_of(job)) for job, seen in about_all], 1)
    return _result(run)


def summarised(
    found: Sequence[Source | Unread], made: Sequence[Plan], settings: Settings, reader: Reader
) -> Result:
    """The findings of plans that are made already, and the faults of the files they are from."""
    run = Run(settings, reader)
    run.counts["files"] = len(found)
    for source in found:
        if isinstance(source, Source):
            run.texts[source.file] = source.text
            if mentions_ours(source.text):
                run.findings += [_fault(source, fault) for fault in source.faults]
    for _, group in groupby(made, key=lambda plan: id(plan.item)):
        run.findings += _plan_findings(list(group), run)
    return _result(run)


def _result(run: Run) -> Result:
    said = sorted(run.findings, key=lambda found: found.location.file) if run.jobs else run.findings
    severities = Counter(found.severity for found in said)
    summary = Summary(
        errors=severities[Severity.ERROR],
        warnings=severities[Severity.WARNING],
        infos=severities[Severity.INFO],
        suppressed=0,
        files=run.counts["files"],
        objects=run.counts["objects"],
        lowered=run.counts["lowered"],
        not_checked=dict(sorted(run.not_checked.items())),
    )
    places = {found.location.file for found in said}
    places |= {related.location.file for found in said for related in found.related}
    run.texts.update(run.reader.texts(places - run.texts.keys()))
    # Lines of a file with Secrets are not shown: nobody can tell from a broken one which of them are secret.
    shown = {file: text for file, text in run.texts.items() if not SECRET.search(text)}
    return Result(said, summary, shown)


def _check_source(source: Source, run: Run) -> Iterator[Finding]:
    found = list(items(source))
    ours = any(item.what != "other" for item in found) or mentions_ours(source.text)
    if not ours or (source.faults and not found and is_helm_template(source.text)):
        run.not_checked.update(item.reason for item in found)
        if not found:
            run.not_checked[_why_nothing(source)] += 1
        return
    for fault in (*source.faults, *_hints(source, found)):
        yield _fault(source, fault)
    for item in found:
        yield from _check_item(item, run)


def _hints(source: Source, found: Iterable[Item]) -> Iterator[Fault]:
    """The scalars of profiles and CRs that Kubernetes reads as something else than they look."""
    ours = {index for item in found if item.what != "other" for index in _document_indexes(item)}
    return (hint for hint in source.hints if hint.document in ours)


def _document_indexes(item: Item) -> Iterator[int]:
    end = trace(item.doc, ())[-1].doc.source
    if end is not None:
        yield end.index


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


def _check_item(item: Item, run: Run) -> Iterator[Finding]:
    if item.what == "other":
        run.not_checked[item.reason] += 1
    elif item.what in ("base", "inventory"):
        faults = [Seen("profile", item.doc, problem) for problem in check_form(item)]
        yield from findings((Sighting("", one, None) for one in faults), 1)
    elif item.what == "object":
        run.counts["objects"] += 1
        group = Group(item.doc)
        seen = [
            *check_object(item.doc, run.settings),
            *apply(run.settings.policies, Job(None, (group,), version=run.settings.k8s_version)),
        ]
        yield from findings((Sighting("", one, identity(item.doc.data)) for one in seen), 1)
    elif item.what == "cr" and (said := header_of(item)) is not None:
        run.not_checked["rendered CR: its source is"] += 1
        stale = compare(item, said, run.settings, run.reader)
        if stale is not None:
            yield from findings([Sighting("", Seen("cr", item.doc, stale), identity(item.doc.data))], 1)
    else:
        yield from _plan_findings(plans(item, run.settings, run.reader), run)


def _plan_findings(made: Iterable[Plan], run: Run) -> list[Finding]:
    """The findings of all variants of one document; what is equal in several is said once."""
    sightings: list[Sighting] = []
    variants = 0
    for plan in made:
        variants += 1
        run.counts["objects"] += plan.cr is not None
        run.counts["lowered"] += sum(group.replicas for group in plan.groups)
        named = identity(plan.cr.data) if plan.cr is not None else None
        sightings += [Sighting(plan.variant, seen, named) for seen in (*plan.seen, *_ruled(plan, run))]
    return findings(sightings, variants)


def _ruled(plan: Plan, run: Run) -> list[Seen]:
    """What the policies say of a plan; of one that does not lower they say nothing, and that is counted."""
    if not plan.lowered:
        run.not_checked[_why_not_lowered(plan)] += 1
        return []
    job = Job(plan.cr, plan.groups, plan.profile, plan.inventory, run.settings.k8s_version)
    run.jobs.append(job)
    for policy in lacking(run.settings.policies, job):
        run.not_checked[f"{policy.rule.code}: no {' and no '.join(policy.needs)}"] += 1
    return list(apply(run.settings.policies, job))


def _identity_of(job: Job) -> dict[str, Any] | None:
    return identity(job.cr.data) if job.cr is not None else None


def _why_not_lowered(plan: Plan) -> str:
    if any(seen.problem.rule == "CR900" for seen in plan.seen):
        return "lowered objects: the kind is not lowered yet"
    return "lowered objects: the CR has errors" if plan.cr else "CR: the profile has errors"
