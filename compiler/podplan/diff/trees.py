"""One side of a comparison: every job of a tree, compiled and lowered, and what cannot be."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from podplan.check import summarised
from podplan.findings import Finding, Severity
from podplan.groups import Group
from podplan.kubernetes.shape import mapping, text
from podplan.limits import MAX_OBJECTS, BoundExceeded, beyond
from podplan.lint.seen import Seen
from podplan.pipeline import Plan, Settings, check_form, plans
from podplan.provenance import Doc
from podplan.reading import Reader
from podplan.reading.documents import ALL_SORTS, Item, items, may_hold
from podplan.reading.opening import Unread
from podplan.rendering.origin import Header, compare, header_of, source_path
from podplan.requests import RequestError
from podplan.rules import RULES
from podplan.source import Source


class Job(NamedTuple):
    """A job of a tree, or another Kubernetes object, which has neither ``profile`` nor ``groups``.

    ``origin`` is the profile that it is of, by name, or "" for a hand-written CR. ``findings`` are the errors
    of one that the API server would refuse; it has then no groups.
    """

    cr: Doc
    file: str
    origin: str
    environment: str
    variant: str
    profile: Doc | None = None
    inventory: Doc | None = None
    groups: tuple[Group, ...] = ()
    lowered: bool = False
    findings: tuple[Finding, ...] = ()
    is_job: bool = True

    @property
    def kind(self) -> str:
        return text(self.cr.data, "kind")

    @property
    def namespace(self) -> str:
        return text(mapping(self.cr.data, "metadata"), "namespace")

    @property
    def name(self) -> str:
        """The name; of one that the API server names, what the name begins with and a star."""
        metadata = mapping(self.cr.data, "metadata")
        generated = text(metadata, "generateName")
        return text(metadata, "name") or (f"{generated}*" if generated else "")


class Broken(NamedTuple):
    """A profile, or what it is under some environments, of which there is no CR; a base; a file of no YAML.

    ``environments`` and ``variants`` are the names and ids of those that are broken, None for all.
    """

    file: str
    origin: str
    kind: str
    namespace: str
    environments: tuple[str, ...] | None
    variants: tuple[str, ...] | None
    findings: tuple[Finding, ...]

    @property
    def is_shared(self) -> bool:
        """Whether it is what jobs are made with, and no job."""
        return self.kind in ("JobProfileBase", "ClusterInventory")


class Stale(NamedTuple):
    """A file with a rendered CR that is not what its profile, ``source``, renders."""

    file: str
    source: str


class Tree(NamedTuple):
    """All jobs, what is broken, the environments that profiles have, and rendered CRs that are not theirs."""

    jobs: tuple[Job, ...] = ()
    broken: tuple[Broken, ...] = ()
    environments: frozenset[str] = frozenset()
    stale: tuple[Stale, ...] = ()


def read(found: Iterable[Source | Unread], settings: Settings, reader: Reader) -> Tree:
    """The jobs of files, each profile under each of its environments, or those that ``settings`` names.

    A rendered CR whose source is there is no job of its own. Raises RequestError, BoundExceeded.
    """
    asked = settings.environments
    wanted = asked if isinstance(asked, tuple) else None
    each = settings._replace(environments="each", policies=())
    jobs: list[Job] = []
    broken: list[Broken] = []
    environments: set[str] = set()
    rendered: list[tuple[Item, Header]] = []
    for source in found:
        if isinstance(source, Unread):
            continue
        if may_hold(source, ALL_SORTS):
            broken += _unreadable(source, each, reader)
        for item in items(source):
            if (header := _rendered_from(item)) is not None:
                rendered.append((item, header))
                continue
            made = list(_plans(item, each, reader))
            own, wrong = _sorted(item, made, source, each, reader)
            under = {job.environment for job in own}.union(*(one.environments or () for one in wrong))
            environments |= under - {""}
            jobs += own
            if len(jobs) > MAX_OBJECTS:
                message = (
                    f"there are more than {MAX_OBJECTS:,} objects, the last in {source.file}; compare fewer"
                )
                raise BoundExceeded(beyond("objects", message), source.file)
            broken += wrong
    stale = _stale(rendered, jobs, broken, each, reader)
    shared = {one.file: one.findings for one in broken if one.kind == "JobProfileBase"}
    if shared:
        jobs = [_with_faults_of_bases(job, shared) for job in jobs]
        said = {id(found) for job in jobs for found in job.findings}
        broken = [one for one in broken if not (one.findings and id(one.findings[0]) in said)]
    if wanted is not None:
        jobs = [job for job in jobs if job.environment in wanted or not job.environment]
        broken = [one for one in broken if not one.environments or set(one.environments).intersection(wanted)]
    return Tree(tuple(jobs), tuple(broken), frozenset(environments), stale)


def _with_faults_of_bases(job: Job, shared: Mapping[str, tuple[Finding, ...]]) -> Job:
    """A job with the errors of the bases that anything in its profile is from."""
    if job.profile is None or job.findings:
        return job
    files = {os.path.realpath(file) for file in _files(job.profile)}
    said = [
        found for file, findings in shared.items() if os.path.realpath(file) in files for found in findings
    ]
    return job._replace(findings=tuple(said))


def _files(doc: Doc) -> set[str]:
    """The files that a document is made of."""
    found: set[str] = set()
    waiting = [doc]
    seen = {id(doc)}
    while waiting:
        one = waiting.pop()
        if one.source is not None:
            found.add(one.source.file)
        for origin in one.origins.values():
            for place in (*origin.places, *origin.overrides):
                if id(place.doc) not in seen:
                    seen.add(id(place.doc))
                    waiting.append(place.doc)
    return found


def _plans(item: Item, settings: Settings, reader: Reader) -> Iterator[Plan]:
    if item.what in ("base", "inventory"):
        yield Plan(
            item,
            tuple(Seen("profile", item.doc, problem) for problem in check_form(item)),
            None,
            failed=("",),
        )
    elif item.what in ("profile", "podplan", "cr"):
        yield from plans(item, settings, reader)
    elif item.what == "object":
        yield Plan(item, cr=item.doc, lowered=True)


def _rendered_from(item: Item) -> Header | None:
    """What a CR says that it was rendered from; None where it is hand-written, or the source is gone."""
    said = header_of(item) if item.what == "cr" else None
    return said if said is not None and os.path.exists(source_path(item, said)) else None


def _stale(
    rendered: Sequence[tuple[Item, Header]],
    jobs: Sequence[Job],
    broken: Sequence[Broken],
    settings: Settings,
    reader: Reader,
) -> tuple[Stale, ...]:
    """The rendered CRs that are not what their profiles render; of a broken profile nobody can tell.

    Most profiles are in the tree, with the same flags: what they render is known.
    """
    if not rendered:
        return ()
    known = {(os.path.realpath(job.file), job.environment, *_named(job.cr)): job.cr.data for job in jobs}
    unknown = {os.path.realpath(one.file) for one in broken}
    found: dict[Stale, None] = {}
    for item, said in rendered:
        path = os.path.realpath(source_path(item, said))
        same_flags = (said.gitops, said.sets) == (settings.gitops, dict(settings.sets))
        now = known.get((path, said.environment, *_named(item.doc))) if same_flags else None
        is_now = now == item.doc.data if now is not None else not compare(item, said, settings, reader)
        if not is_now and path not in unknown:
            found[Stale(item.doc.name, said.file)] = None
    return tuple(found)


def _named(cr: Doc) -> tuple[str, str, str]:
    metadata = mapping(cr.data, "metadata")
    return text(cr.data, "kind"), text(metadata, "namespace"), text(metadata, "name")


def _sorted(
    item: Item, made: Sequence[Plan], source: Source, settings: Settings, reader: Reader
) -> tuple[list[Job], list[Broken]]:
    """The plans that have a CR, and those that have none, each with the errors that it has."""
    jobs: list[Job] = []
    broken: list[Broken] = []
    of_all: tuple[Finding, ...] = ()
    for plan in made:
        said = _errors([source], [plan], settings, reader) if any(map(_is_error, plan.seen)) else ()
        if plan.variant is None and not plan.failed:
            of_all = said
        elif plan.cr is None and item.what in ("base", "inventory") and not said:
            continue
        elif plan.cr is None:
            broken.append(_broken(item, plan, said))
        else:
            jobs.append(_job(item, plan, said or of_all))
    return jobs, broken


def _job(item: Item, plan: Plan, said: tuple[Finding, ...]) -> Job:
    assert plan.cr is not None
    return Job(
        plan.cr,
        item.doc.name,
        _origin(item),
        plan.environment,
        plan.variant or "",
        plan.profile,
        plan.inventory,
        plan.groups,
        plan.lowered,
        said,
        item.what != "object",
    )


def _broken(item: Item, plan: Plan, said: tuple[Finding, ...]) -> Broken:
    """What has no CR: one variant, some environments, or all of a profile."""
    of_environments = None if plan.failed == ("",) else plan.failed
    return Broken(
        item.doc.name,
        _origin(item),
        (text(mapping(item.doc.data, "spec"), "job") if item.what == "profile" else "")
        or text(item.doc.data, "kind"),
        text(mapping(item.doc.data, "metadata"), "namespace"),
        of_environments if plan.variant is None else (plan.environment,),
        None if plan.variant is None else (plan.variant,),
        said,
    )


def _is_error(seen: Seen) -> bool:
    return RULES[seen.problem.rule].severity is Severity.ERROR


def _origin(item: Item) -> str:
    """The profile that an item is, by its name, else by its place."""
    if item.what in ("cr", "object"):
        return ""
    return text(mapping(item.doc.data, "metadata"), "name") or item.doc.name


def _errors(
    found: Sequence[Source], made: Sequence[Plan], settings: Settings, reader: Reader
) -> tuple[Finding, ...]:
    said = summarised(found, made, settings, reader).findings
    return tuple(one for one in said if one.severity is Severity.ERROR)


def _unreadable(source: Source, settings: Settings, reader: Reader) -> Iterator[Broken]:
    if any(RULES[fault.rule].severity is Severity.ERROR for fault in source.faults):
        yield Broken(source.file, "", "file", "", None, None, _errors([source], [], settings, reader))


def demand_environments(settings: Settings, *trees: Tree) -> None:
    """Raises RequestError for an environment that was asked for and no profile has."""
    known = frozenset[str]().union(*(tree.environments for tree in trees))
    for name in settings.environments if isinstance(settings.environments, tuple) else ():
        if name not in known:
            there = f"there are {', '.join(sorted(known))}" if known else "no profile has any"
            raise RequestError(f'no profile has the environment "{name}", before or after; {there}')
