"""Checking files: every document of ours on its way, and what there is to say about it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple, TypeVar

from podplan.findings import Finding, Location, Severity
from podplan.groups import Group
from podplan.limits import BoundExceeded
from podplan.lint.apply import apply, apply_to_set, apply_to_variants, lacking
from podplan.lint.fold import findings
from podplan.lint.locate import locate
from podplan.lint.masking import masked, secrets, secrets_written
from podplan.lint.seen import Seen, Sighting
from podplan.lint.selection import UNSILENCED, enforced
from podplan.lint.silences import Silences
from podplan.lint.subject import Job
from podplan.pipeline import Plan, Settings, check_form, check_object, plans
from podplan.provenance import Doc, trace
from podplan.reading import Reader, Unread, sources
from podplan.reading.documents import Item, identity, is_helm_template, items, mentions_ours
from podplan.reading.files import expand, root_of
from podplan.rendering.origin import compare, header_of, source_path
from podplan.rules import RULES
from podplan.source import Fault, Source

Something = TypeVar("Something")


class Summary(NamedTuple):
    """Counts. ``objects`` are CRs (one per variant of a profile) and Kubernetes objects; ``lowered`` what
    the controllers make of the CRs, every replica counted; ``not_checked`` is documents by reason.
    ``today`` is the day by which suppressions were judged, "" where it made no difference."""

    errors: int
    warnings: int
    infos: int
    suppressed: int
    files: int
    objects: int
    lowered: int
    not_checked: Mapping[str, int]
    today: str = ""


class Result(NamedTuple):
    """Findings in the order of files and lines; ``texts`` holds the files that have any.

    ``with_suppressed`` are the same together with those that somebody silenced. Of ``unlowered`` files and of
    ``undecided`` rules there may be more to say. ``given_up`` says, a sentence for each file, which reached
    a bound: the result is then that of the others.
    """

    findings: list[Finding]
    summary: Summary
    texts: Mapping[str, str]
    with_suppressed: list[Finding]
    unlowered: frozenset[str] = frozenset()
    undecided: frozenset[str] = frozenset()
    given_up: tuple[str, ...] = ()


class Run:
    """What grows while files are checked: counts, findings, and the jobs for policies about all of them."""

    def __init__(self, settings: Settings, reader: Reader) -> None:
        self.settings = settings
        self.reader = reader
        self.counts: Counter[str] = Counter()
        self.not_checked: Counter[str] = Counter()
        self.findings: list[Finding] = []
        self.texts: dict[str, str] = {}
        self.texts_of_jobs: dict[str, str] = {}  # of files without a finding, until one about several jobs
        self.jobs: list[Job] = []
        self.silences = Silences(settings.policies, settings.terms)
        self.shared: set[str] = set()  # files that others refer to
        self.unlowered: set[str] = set()
        self.secret: set[str] = set()  # files of which no line is shown
        self.secrets: list[Location] = []  # what is shown as stars, whichever rules are on
        self.given_up: list[str] = []
        self.files: set[str] = set()
        self.rendered: list[tuple[Item, str]] = []  # with the real paths of their sources


def check(paths: Sequence[str], settings: Settings, reader: Reader, exclude: Sequence[str] = ()) -> Result:
    """Everything there is to say about the files that ``paths`` stand for.

    Raises files.NoSuchPath and requests.RequestError.
    """
    folders = tuple(os.path.realpath(path) for path in paths if os.path.isdir(path))
    return check_sources(sources(expand(paths, exclude), reader.instead), settings, reader, folders)


def check_sources(
    found: Iterable[Source | Unread], settings: Settings, reader: Reader, folders: tuple[str, ...] = ()
) -> Result:
    """The same for files that are read already, such as standard input; ``folders`` are checked whole."""
    run = Run(settings, reader)
    for source in _as_far_as_bounds(found, run):
        run.counts["files"] += 1
        if isinstance(source, Unread):
            run.not_checked[source.reason] += 1
            continue
        run.files.add(os.path.realpath(source.file))
        if source.holds_secret:
            run.secret.add(source.file)
        jobs = len(run.jobs)
        in_file = run.silences.graded(source.file, _as_far_as_bounds(_check_source(source, run), run))
        if in_file:
            run.findings += in_file
            run.texts[source.file] = source.text
        elif len(run.jobs) > jobs:
            run.texts_of_jobs[source.file] = source.text
    _check_rendered(run)
    for job, seen in apply_to_set(run.silences.anywhere(), tuple(run.jobs)):
        run.findings += _set_findings(job, seen, run)
    if settings.terms.policy_texts:
        _add_policy_faults(run)
    return _result(run, folders)


def _check_rendered(run: Run) -> None:
    """Rendered CRs that are up to date: their source says what there is to say, where it is checked too."""
    for item, source in run.rendered:
        if source in run.files:
            run.not_checked["rendered CR: its source is"] += 1
        else:
            said = _plan_findings(plans(item, run.settings, run.reader), run)
            run.findings += run.silences.graded(item.doc.name, said)
            run.texts |= {item.doc.name: item.doc.source.text} if said and item.doc.source else {}


def _add_policy_faults(run: Run) -> None:
    """What is wrong with the policies of an organisation: said once, for however many jobs it is so."""
    terms = run.settings.terms
    faults = (Seen("file", doc, problem) for doc, problem in terms.policy_faults)
    run.findings += findings((Sighting(None, fault, None) for fault in faults), 1)
    run.texts |= terms.policy_texts
    once = {(found.rule, found.message, found.location): found for found in reversed(run.findings)}
    run.findings = [
        found
        for found in run.findings
        if found.location.file not in terms.policy_texts
        or once.pop((found.rule, found.message, found.location), None) is not None
    ]


def _as_far_as_bounds(found: Iterable[Something], run: Run) -> Iterator[Something]:
    """What there is until a bound is reached, which is noted, so that the other files get their turn."""
    try:
        yield from found
    except BoundExceeded as error:
        run.given_up.append(str(error))


def summarised(
    found: Sequence[Source | Unread], made: Sequence[Plan], settings: Settings, reader: Reader
) -> Result:
    """The findings of plans that are made already, and the faults of the files they are from."""
    run = Run(settings, reader)
    run.counts["files"] = len(found)
    for source in found:
        if isinstance(source, Source):
            run.texts[source.file] = source.text
            if source.holds_secret:
                run.secret.add(source.file)
            run.silences.open(source)
            if mentions_ours(source.text):
                faults = (_fault(source, fault) for fault in source.faults)
                run.findings += run.silences.graded(source.file, faults)
    for _, group in groupby(made, key=lambda plan: id(plan.item)):
        plans_of_item = list(group)
        said = _plan_findings(plans_of_item, run)
        run.findings += run.silences.graded(plans_of_item[0].item.doc.name, said)
    return _result(run)


def _result(run: Run, folders: tuple[str, ...] | None = None) -> Result:
    """The result; without ``folders``, what is wrong with suppressions themselves is left out."""
    places = {found.location.file for found in run.findings}
    places |= {related.location.file for found in run.findings for related in found.related}
    run.texts.update(run.reader.texts(places - run.texts.keys()))
    run.texts |= {file: run.texts_of_jobs[file] for file in places & run.texts_of_jobs.keys()}
    # Lines of a file with Secrets are not shown: nobody can tell from a broken one which of them are secret.
    shown = {file: text for file, text in run.texts.items() if not _is_secret(file, run)}
    shown = masked(shown, run.secrets)
    everything = run.silences.settled(run.findings, shown, run.reader.source_of)
    if folders is not None:
        everything += run.silences.faults(lambda file: _is_whole(file, run, folders))
    if run.jobs or len(everything) > len(run.findings):
        everything.sort(key=lambda found: (found.location.file, found.location.line, found.location.column))
    said = [found for found in everything if not found.suppressed]
    if run.silences.undecided:
        run.not_checked["rules that need an inventory"] = len(run.silences.undecided)
    severities = Counter(found.severity for found in said)
    summary = Summary(
        errors=severities[Severity.ERROR],
        warnings=severities[Severity.WARNING],
        infos=severities[Severity.INFO],
        suppressed=len(everything) - len(said),
        files=run.counts["files"],
        objects=run.counts["objects"],
        lowered=run.counts["lowered"],
        not_checked=dict(sorted(run.not_checked.items())),
        today=run.silences.today,
    )
    unlowered, undecided = frozenset(run.unlowered), frozenset(run.silences.undecided)
    return Result(said, summary, shown, everything, unlowered, undecided, tuple(run.given_up))


def _is_secret(file: str, run: Run) -> bool:
    source = run.reader.source_of(file)
    return file in run.secret or (source is not None and source.holds_secret)


def _is_whole(file: str, run: Run, folders: tuple[str, ...]) -> bool:
    """Whether everything was seen that suppressions in a file are about, so that an unused one is that.

    A base is used by profiles anywhere below its root, and there are environments and flags.
    """
    asked = run.settings
    if asked.environments != "all" or asked.sets or file in run.unlowered or run.given_up:
        return False
    return file not in run.shared or (root_of(file) in folders and not run.unlowered)


def _check_source(source: Source, run: Run) -> Iterator[Finding]:
    found = list(items(source))
    ours = any(item.what != "other" for item in found) or mentions_ours(source.text)
    if not ours or (source.faults and not found and is_helm_template(source.text)):
        run.not_checked.update(item.reason for item in found)
        if not found:
            run.not_checked[_why_nothing(source)] += 1
        return
    if run.silences.open(source):
        run.texts[source.file] = source.text
    if any(fault.rule in UNSILENCED for fault in source.faults):
        run.unlowered.add(source.file)
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
    run.secrets += secrets_written(item.doc)
    if item.what == "other":
        run.not_checked[item.reason] += 1
    elif item.what in ("base", "inventory"):
        run.shared.add(item.doc.name)
        faults = [Seen("profile", item.doc, problem) for problem in check_form(item)]
        yield from findings((Sighting("", one, None) for one in faults), 1)
    elif item.what == "object":
        run.counts["objects"] += 1
        group = Group(item.doc)
        job = Job(None, (group,), version=run.settings.k8s_version)
        run.jobs.append(job)
        policies = run.silences.ruling(item.doc.name).policies
        run.secrets += secrets(run.silences.terms.known, job)
        seen = [*check_object(item.doc, run.settings), *apply(policies, job)]
        said_of_it = findings((Sighting("", one, identity(item.doc.data)) for one in seen), 1)
        yield from run.silences.annotated(item.doc.name, [item.doc], said_of_it)
    elif item.what == "cr" and (said := header_of(item)) is not None:
        stale = compare(item, said, run.settings, run.reader)
        if stale is not None:
            run.not_checked["rendered CR that is stale"] += 1
            yield from findings([Sighting("", Seen("cr", item.doc, stale), identity(item.doc.data))], 1)
        else:
            run.rendered.append((item, os.path.realpath(source_path(item, said))))
    else:
        yield from _plan_findings(plans(item, run.settings, run.reader), run)


def _plan_findings(made: Iterable[Plan], run: Run) -> list[Finding]:
    """The findings of all variants of one document; what is equal in several is said once."""
    sightings: list[Sighting] = []
    crs: list[Doc] = []
    file = ""
    ids: list[str] = []
    before = len(run.jobs)
    for plan in made:
        file = plan.item.doc.name
        crs += [plan.cr] if plan.cr is not None else []
        if plan.variant is not None:
            ids.append(plan.variant)
        run.counts["objects"] += plan.cr is not None
        run.counts["lowered"] += sum(group.replicas for group in plan.groups)
        named = identity(plan.cr.data) if plan.cr is not None else None
        sightings += [Sighting(plan.variant, seen, named) for seen in (*plan.seen, *_ruled(plan, run))]
    sightings += _of_all_variants(ids, tuple(run.jobs[before:]), file, run)
    return run.silences.annotated(file, crs, findings(sightings, len(ids)))


def _of_all_variants(ids: list[str], jobs: tuple[Job, ...], file: str, run: Run) -> list[Sighting]:
    """What policies about a profile as a whole say, where every variant of it is there."""
    if not jobs or len(jobs) < len(ids) or run.settings.environments != "all":
        return []
    seen = apply_to_variants(run.silences.ruling(file).policies, jobs)
    return [Sighting(id_, one, None) for one in seen for id_ in ids]


def _set_findings(job: Job, seen: Seen, run: Run) -> list[Finding]:
    """What a policy about all jobs says of one, if it is on for the file of that job."""
    assert job.cr is not None
    file = locate(job.cr, ()).location.file
    rule = next(
        (one.rule for one in run.silences.ruling(file).policies if one.rule.code == seen.problem.rule), None
    )
    if rule is None:
        return []
    said = findings([Sighting("", seen._replace(rule=rule), identity(job.cr.data))], 1)
    return run.silences.annotated(file, [job.cr], said)


def _ruled(plan: Plan, run: Run) -> list[Seen]:
    """What the policies say of a plan; of one that does not lower they say nothing, and that is counted."""
    if plan.variant is None:
        if plan.failed:
            run.not_checked["CR: the profile has errors"] += len(plan.failed)
            run.unlowered.add(plan.item.doc.name)
        return []
    if not plan.lowered:
        run.not_checked[_why_not_lowered(plan)] += 1
        run.unlowered.add(plan.item.doc.name)
        return []
    job = Job(plan.cr, plan.groups, plan.profile, plan.inventory, run.settings.k8s_version)
    policies = run.silences.ruling(plan.item.doc.name, enforced(job)).policies
    run.jobs.append(job)
    run.secrets += secrets(run.silences.terms.known, job)
    for policy in lacking(policies, job):
        run.silences.undecided.add(policy.rule.code)
    return list(apply(policies, job))


def _why_not_lowered(plan: Plan) -> str:
    if any(seen.problem.rule == "CR900" for seen in plan.seen):
        return "lowered objects: the kind is not lowered yet"
    return "lowered objects: the CR has errors" if plan.cr else "CR: the profile has errors"
