"""One revision of a comparison: facts about every job, and what cannot be compiled or lowered.

A lowered job takes a hundred kilobytes or more. So only facts are kept of each; the job itself is in memory
just after it was read, and is rebuilt when it is needed later.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from sys import intern
from typing import Any, NamedTuple

from podplan.checker.check import summarize_plans
from podplan.checker.files import is_broken_template
from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.core.errors import UsageError
from podplan.core.findings import Diagnostic, Finding, Severity
from podplan.core.limits import MAX_OBJECTS, LimitExceeded, limit_exceeded
from podplan.core.provenance import TracedDocument
from podplan.core.replay import Replay
from podplan.core.replica_groups import ReplicaGroup
from podplan.kinds.change_effects import has_generated_name
from podplan.kinds.registry import find_kind, load_spec
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.finding_redaction import secrets_behind
from podplan.pipeline import JobPlan, PipelineSettings, iter_job_plans, validate_profile_document
from podplan.redaction.hints import may_hold_secret
from podplan.rendering.header import RenderHeader, diagnose_stale_cr, find_source_path, parse_header
from podplan.tools.diff.job_size import Ask, asked_by, find_deadline, size_of
from podplan.workspace import Loader
from podplan.workspace.documents import (
    ALL_CATEGORIES,
    SHARED_CATEGORIES,
    ClassifiedDocument,
    classify_documents,
    may_hold,
)
from podplan.workspace.file_loader import (
    DENIED,
    SkippedFile,
    build_changed_error,
    load_file,
    reload_file,
    summarize_limit_errors,
)
from podplan.workspace.files import OutsideRoot, find_root, read_inside_root
from podplan.yaml import SourceFile

MOST_KEPT = 60_000  # parts with an origin, in the jobs that were read last
MOST_OPEN = 4  # documents whose jobs are being rebuilt
_HOLDING_TEXT = ("Secret", "ConfigMap")
MOST_ERRORS = 5  # kept of each broken profile


Place = Callable[[], AbstractContextManager[object]]


class Files(NamedTuple):
    """The files of one revision: their names, by their paths from ``top``, which are the same in both.

    ``top`` is the real path of the repository, or of the compared folder. The files are read inside
    ``place()``, which changes to the folder that their names are relative to. ``are_built``: the names are
    folders with a kustomization, and the file of each is what kustomize builds.
    """

    names: Mapping[str, str]
    top: str
    place: Place
    are_built: bool = False


class Ref(NamedTuple):
    """Where a job comes from: a file, the index of the document, and the index of the job; from 0."""

    file: str
    item: int
    number: int = 0


class Whole(NamedTuple):
    """A job with all its lowered objects; another Kubernetes object has neither ``profile`` nor
    ``groups``. ``references`` are the documents that the CR refers to."""

    cr: TracedDocument
    profile: TracedDocument | None
    inventory: TracedDocument | None
    groups: tuple[ReplicaGroup, ...]
    lowered: bool
    references: tuple[TracedDocument, ...] = ()

    @property
    def weight(self) -> int:
        """Return the number of its parts with an origin, which is a measure of its memory."""
        docs = [self.cr, *([self.profile] if self.profile else []), *(group.doc for group in self.groups)]
        return 50 + sum(len(doc.origins) for doc in docs)


class Job(NamedTuple):
    """The facts about a job, or about another Kubernetes object.

    ``path`` is the path of its file from the top, the same in both revisions, and ``depends_on`` are the
    paths of the files that the profile or CR depends on, directly and indirectly. ``origin`` is the name of
    its profile, or "" for a hand-written CR. ``findings`` are errors of a CR that the API server would
    reject; it then has no groups. ``name`` is the prefix and a star for a generateName, and the file if the
    name is not a string. ``asks`` are its requests of its queue, and ``content`` is a digest of its CR.
    ``deadline`` is the time in seconds after which it ends. ``is_referred_to``: it is a document that
    jobs refer to, such as a runtime.
    """

    ref: Ref
    group: str
    kind: str
    namespace: str
    name: str
    is_named_later: bool
    path: str
    origin: str
    environment: str
    variant: str
    inventory: TracedDocument | None
    lowered: bool
    findings: tuple[Finding, ...]
    is_job: bool
    pods: int
    gpus: int
    asks: tuple[Ask, ...]
    content: bytes
    deadline: int | None = None
    depends_on: tuple[str, ...] = ()
    is_referred_to: bool = False

    @property
    def file(self) -> str:
        return self.ref.file

    @property
    def gpu_seconds(self) -> int | None:
        """GPUs × deadline; 0 without GPUs, None without a deadline."""
        if not self.gpus:
            return 0
        return None if self.deadline is None else self.gpus * self.deadline


class Broken(NamedTuple):
    """A profile without a CR, possibly only in some environments; a base profile; a file with invalid YAML.

    ``environments`` and ``variants`` are the names and ids of the broken ones, None for all.
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
        """Whether it is something that jobs depend on, and no job."""
        return self.kind in ("JobProfileBase", "ClusterInventory", "WorkloadMapping")


class Stale(NamedTuple):
    """A file with a rendered CR that differs from what its profile, ``source``, renders."""

    file: str
    source: str


class _Rendered(NamedTuple):
    """A rendered CR whose source exists."""

    ref: Ref
    said: RenderHeader
    source: str
    named: tuple[str, str, str, str]
    content: bytes


class Tree:
    """The jobs of files, read one after the other, each profile in each environment, or in those of
    ``settings``.

    ``secrets`` are the texts in them that look secret, and ``incomplete`` the paths of the files that contain
    more than jobs: something broken, or CRs that were rendered from a profile. ``denied`` are the names of
    files without permission to read.
    """

    def __init__(self, files: Files, settings: PipelineSettings, reader: Loader) -> None:
        asked = settings.environments
        self.files = files
        self.jobs: list[Job] = []
        self.broken: list[Broken] = []
        self.environments: set[str] = set()
        self.stale: tuple[Stale, ...] = ()
        self.secrets: set[str] = set()
        self.incomplete: set[str] = set()
        self.denied: list[str] = []
        self.settings = settings._replace(environments="each", policies=())
        self._wanted = frozenset(asked) if isinstance(asked, tuple) else None
        self._reader = reader
        self._rendered: list[_Rendered] = []
        self._given_up: list[str] = []
        self._texts: dict[str, int] = {}
        self._builds: dict[str, SourceFile] = {}
        self._kept: dict[Ref, Whole] = {}
        self._room = MOST_KEPT
        self._replay = Replay(self._wholes, MOST_OPEN)

    def read(self, path: str) -> list[Job]:
        """Read the jobs of one more file, if this revision has it; a rendered CR whose source exists is
        skipped.

        Raises UsageError: if the file cannot be read. Raises LimitExceeded: if there are too many objects.
        """
        if path not in self.files.names:
            return []
        with self.files.place():
            try:
                source = self._load(self.files.names[path])
            except LimitExceeded as error:
                self._given_up.append(str(error))
                return []
            if isinstance(source, SkippedFile):
                self.denied += [source.file] if source.reason == DENIED else []
                return []
            return self._add(path, source)

    def _load(self, name: str) -> SourceFile | SkippedFile:
        if not self.files.are_built:
            return load_file(name)
        source = self._reader.load_build(name)
        self._builds[source.file] = source
        return source

    def _reload(self, file: str) -> SourceFile:
        return self._builds[file] if file in self._builds else reload_file(file)

    def adopt(self, jobs: Sequence[Job]) -> None:
        """Add jobs of the other revision, for a file that is the same in this one."""
        self.jobs += jobs

    def whole(self, job: Job) -> Whole:
        """Return a job with all its lowered objects. Raises UsageError: if its file has changed."""
        whole = self._kept.get(job.ref)
        if whole is None:
            with self.files.place():
                whole = self._replay.element(job.ref._replace(number=0), job.ref.number)
        return whole

    def content(self, path: str) -> bytes | None:
        """Return a digest of the file at a path from the top; None if it cannot be read."""
        from hashlib import blake2b

        name = self.files.names.get(path, os.path.join(self.files.top, path))
        with self.files.place():
            try:
                return blake2b(read_inside_root(find_root(name), name), digest_size=16).digest()
            except (OSError, OutsideRoot, LimitExceeded):
                return None

    def inventory(self, path: str) -> str | None:
        """Return the text of the inventory for the jobs of a file, None if there is none or several.

        Raises UsageError: if the configured inventory file has none.
        """
        with self.files.place():
            doc = self._reader.find_unique_inventory(
                TracedDocument(self.files.names[path], {}), self.settings.inventory_path
            )
        return doc.source.text if doc is not None and doc.source is not None else None

    def operator_values(self, path: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the lowering options that operators state for the jobs of a file, by apiVersion."""
        with self.files.place():
            stated = self._reader.find_operator_options(self.files.names[path], self.settings.cluster_paths)
        applied = stated.applied if stated is not None else {}
        return {version: {id_: one.value for id_, one in by_id.items()} for version, by_id in applied.items()}

    def finish(self) -> None:
        """Add what is known once all files are read.

        Raises LimitExceeded: for files that exceeded a limit.
        """
        if self._given_up:
            raise LimitExceeded(summarize_limit_errors(self._given_up))
        with self.files.place():
            self.stale = self._stale()
        self._add_faults_of_bases()
        if self._wanted is not None:
            wanted = self._wanted
            self.broken = [
                one
                for one in self.broken
                if not one.environments or set(one.environments).intersection(wanted)
            ]

    def _add(self, path: str, source: SourceFile) -> list[Job]:
        first, broken = len(self.jobs), len(self.broken)
        if may_hold(source, ALL_CATEGORIES) and not is_broken_template(
            source, list(classify_documents(source))
        ):
            self.broken += _unreadable(source, self.settings, self._reader)
        self._texts[source.file] = hash(source.text)
        for number, item in enumerate(self._reader.classify(source)):
            ref = Ref(source.file, number)
            if item.category == "cr" and parse_header(item) is not None:
                self.incomplete.add(path)
            if (said := _rendered_from(item)) is not None:
                of = os.path.realpath(find_source_path(item, said))
                named = _named(item.doc)
                self._rendered.append(_Rendered(ref, said, of, named, digest(item.doc.data)))
                continue
            if item.declared_kind is not None:
                self.incomplete.add(path)  # its references are resolved in all files
            wrong = list(self._read_item(item, ref, source))
            self.environments.update(*(one.environments or () for one in wrong))
            self.broken += wrong
            if len(self.jobs) > MAX_OBJECTS:
                message = (
                    f"there are more than {MAX_OBJECTS:,} objects, the last in {source.file}; compare fewer"
                )
                raise LimitExceeded(limit_exceeded("objects", message), source.file)
        self.environments.discard("")
        if len(self.broken) > broken:
            self.incomplete.add(path)
        depends_on = self._dependencies(source.file)
        self.jobs[first:] = [job._replace(path=path, depends_on=depends_on) for job in self.jobs[first:]]
        return self.jobs[first:]

    def _dependencies(self, file: str) -> tuple[str, ...]:
        """Return the paths of the files that a file depends on, directly and indirectly."""
        found: dict[str, None] = {}
        waiting = [file]
        while waiting:
            for name in self._reader.references.get(waiting.pop(), ()):
                if name not in found:
                    found[name] = None
                    waiting.append(name)
        return tuple(intern(path_from_top(self.files.top, name)) for name in found)

    def _read_item(self, item: ClassifiedDocument, ref: Ref, source: SourceFile) -> Iterator[Broken]:
        """Add the jobs of a document; yield what has no CR, with its errors."""
        of_all: tuple[Finding, ...] = ()
        number = 0
        has_other_text = self.settings.param_values or "extends" in get_mapping(item.doc.data, "spec")
        may_hold = has_other_text or may_hold_secret(source.text)
        for plan in _plans(item, self.settings, self._reader):
            is_wrong = any(map(_is_error, plan.diagnostics))
            said = _errors([source], [plan], self.settings, self._reader) if is_wrong else ()
            if plan.variant_id is None and not plan.failed_environments:
                of_all = said
            elif plan.cr is None and item.category in SHARED_CATEGORIES and not said:
                continue
            elif plan.cr is None:
                yield _broken(item, plan, said)
            else:
                self.environments.add(plan.environment)
                if self._wanted is None or not plan.environment or plan.environment in self._wanted:
                    whole = _whole(plan)
                    job = _job(item, plan, whole, ref._replace(number=number), said or of_all)
                    self.jobs.append(job)
                    if may_hold:
                        self.secrets.update(secrets_behind(_with_secrets(whole)))
                    self._keep(job.ref, whole)
                number += 1

    def _keep(self, ref: Ref, whole: Whole) -> None:
        self._kept[ref] = whole
        self._room -= whole.weight
        while self._room < 0 and len(self._kept) > 1:
            oldest = next(iter(self._kept))
            self._room += self._kept.pop(oldest).weight

    def _wholes(self, ref: Ref) -> Iterator[Whole]:
        """Yield the jobs of a document, rebuilt."""
        source = self._reload(ref.file)
        if hash(source.text) != self._texts[ref.file]:
            raise build_changed_error(ref.file)
        for plan in _plans(list(self._reader.classify(source))[ref.item], self.settings, self._reader):
            if plan.cr is not None:
                yield _whole(plan)

    def _add_faults_of_bases(self) -> None:
        """Add the errors of base profiles to the jobs whose profiles extend them, and remove these base
        profiles."""
        paths = {name: path for path, name in self.files.names.items()}
        shared = {paths.get(one.file): one for one in self.broken if one.kind == "JobProfileBase"}
        given: set[str] = set()
        for number, job in enumerate(self.jobs if shared else ()):
            bases = [path for path in job.depends_on if path in shared]
            if bases and not job.findings:
                said = tuple(found for path in bases for found in shared[path].findings)
                self.jobs[number] = job._replace(findings=said[:MOST_ERRORS])
                given.update(bases)
        self.broken = [
            one for one in self.broken if one.kind != "JobProfileBase" or paths.get(one.file) not in given
        ]

    def _stale(self) -> tuple[Stale, ...]:
        """Return the rendered CRs that differ from what their profiles render; unknown for broken profiles.

        Most profiles are in the tree, with the same flags, so their renders are known.
        """
        if not self._rendered:
            return ()
        known = {
            (
                os.path.realpath(job.file),
                job.environment,
                job.group,
                job.kind,
                job.namespace,
                job.name,
            ): job.content
            for job in self.jobs
        }
        unknown = {os.path.realpath(one.file) for one in self.broken}
        found: dict[Stale, None] = {}
        for one in self._rendered:
            said, flags = one.said, (self.settings.gitops_tool, dict(self.settings.param_values))
            same_flags = (said.gitops_tool, said.param_values) == flags
            now = known.get((one.source, said.environment, *one.named)) if same_flags else None
            if now != one.content and one.source not in unknown and self._is_stale(one):
                found[Stale(one.ref.file, said.source_file)] = None
        return tuple(found)

    def _is_stale(self, one: _Rendered) -> bool:
        item = list(classify_documents(self._reload(one.ref.file)))[one.ref.item]
        return diagnose_stale_cr(item, one.said, self.settings, self._reader) is not None


def path_from_top(top: str, name: str) -> str:
    """Return the path of a file relative to the top, with links in its folders resolved, but not the last
    part."""
    folder, last = os.path.split(name)
    return os.path.normpath(os.path.relpath(os.path.join(os.path.realpath(folder), last), top))


def digest(data: object) -> bytes:
    """Return a digest of the data of a CR, independent of the order of its keys."""
    from hashlib import blake2b

    written = json.dumps(data, sort_keys=True, default=str)
    return blake2b(written.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _plans(item: ClassifiedDocument, settings: PipelineSettings, reader: Loader) -> Iterator[JobPlan]:
    if item.category in SHARED_CATEGORIES:
        yield JobPlan(
            item,
            tuple(problem.in_document("profile", item.doc) for problem in validate_profile_document(item)),
            None,
            failed_environments=("",),
        )
    elif item.category in ("profile", "podplan", "cr"):
        yield from iter_job_plans(item, settings, reader)
    elif item.category == "object":
        yield JobPlan(item, cr=item.doc, is_lowered=True)


def _rendered_from(item: ClassifiedDocument) -> RenderHeader | None:
    """Return the header of a rendered CR; None if it is hand-written, or the source does not exist."""
    said = parse_header(item) if item.category == "cr" else None
    return said if said is not None and os.path.exists(find_source_path(item, said)) else None


def _named(cr: TracedDocument) -> tuple[str, str, str, str]:
    metadata = get_mapping(cr.data, "metadata")
    group = get_text(cr.data, "apiVersion").rpartition("/")[0]
    return group, get_text(cr.data, "kind"), get_text(metadata, "namespace"), get_text(metadata, "name")


def _whole(plan: JobPlan) -> Whole:
    assert plan.cr is not None
    documents = plan.referenced_documents
    return Whole(plan.cr, plan.profile, plan.inventory, plan.replica_groups, plan.is_lowered, documents)


def _with_secrets(whole: Whole) -> Iterator[TracedDocument]:
    """Yield the documents of a job that may contain secrets: CR, profile, and lowered objects with text."""
    yield whole.cr
    if whole.profile is not None:
        yield whole.profile
    yield from (group.doc for group in whole.groups if group.doc.data["kind"] in _HOLDING_TEXT)


def _job(item: ClassifiedDocument, plan: JobPlan, whole: Whole, ref: Ref, said: tuple[Finding, ...]) -> Job:
    data = whole.cr.data
    group, kind, namespace, name = _named(whole.cr)
    generated = get_text(get_mapping(data, "metadata"), "generateName")
    pods, gpus = size_of(whole.groups)
    known_kind = find_kind(data.get("apiVersion"), kind)
    return Job(
        ref,
        group,
        kind,
        namespace,
        name or (f"{generated}*" if generated else ref.file),
        has_generated_name(data),
        "",
        _origin(item),
        plan.environment,
        plan.variant_id or "",
        whole.inventory,
        whole.lowered,
        said[:MOST_ERRORS],
        item.category != "object",
        pods,
        gpus,
        asked_by(whole.cr, whole.groups),
        digest(data),
        find_deadline(whole.cr),
        is_referred_to=known_kind is not None and bool(load_spec(known_kind).referring_kinds),
    )


def _broken(item: ClassifiedDocument, plan: JobPlan, said: tuple[Finding, ...]) -> Broken:
    """Return the broken part of a document: one variant, some environments, or all of a profile."""
    of_environments = None if plan.failed_environments == ("",) else plan.failed_environments
    return Broken(
        item.doc.name,
        _origin(item),
        (get_text(get_mapping(item.doc.data, "spec"), "job") if item.category == "profile" else "")
        or get_text(item.doc.data, "kind"),
        get_text(get_mapping(item.doc.data, "metadata"), "namespace"),
        of_environments if plan.variant_id is None else (plan.environment,),
        None if plan.variant_id is None else (plan.variant_id,),
        said,
    )


def _is_error(seen: Diagnostic) -> bool:
    return BUILTIN_RULES[seen.rule].severity is Severity.ERROR


def _origin(item: ClassifiedDocument) -> str:
    """Return the profile of a document, by its name, else by its location."""
    if item.category in ("cr", "object"):
        return ""
    return get_text(get_mapping(item.doc.data, "metadata"), "name") or item.doc.name


def _errors(
    found: Sequence[SourceFile], made: Sequence[JobPlan], settings: PipelineSettings, reader: Loader
) -> tuple[Finding, ...]:
    said = summarize_plans(found, made, settings, reader).findings
    return tuple(one for one in said if one.severity is Severity.ERROR)


def _unreadable(source: SourceFile, settings: PipelineSettings, reader: Loader) -> Iterator[Broken]:
    if any(BUILTIN_RULES[fault.rule].severity is Severity.ERROR for fault in source.diagnostics):
        yield Broken(source.file, "", "file", "", None, None, _errors([source], [], settings, reader))


def demand_environments(settings: PipelineSettings, known: frozenset[str]) -> None:
    """Raise UsageError for a requested environment that no profile has."""
    for name in settings.environments if isinstance(settings.environments, tuple) else ():
        if name not in known:
            there = f"there are {', '.join(sorted(known))}" if known else "no profile has any"
            raise UsageError(f'no profile has the environment "{name}", before or after; {there}')
