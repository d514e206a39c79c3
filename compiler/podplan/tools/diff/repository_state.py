"""One revision of a comparison: facts about every job, and what cannot be compiled or lowered.

A lowered job takes a hundred kilobytes or more. So only facts are kept of each; the job itself is in memory
just after it was read, and is rebuilt when it is needed later.
"""

from __future__ import annotations

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
from podplan.kubernetes.accessors import get_mapping
from podplan.lint.finding_redaction import secrets_behind
from podplan.pipeline import JobPlan, PipelineSettings, iter_job_plans, validate_profile_document
from podplan.redaction.hints import may_hold_secret
from podplan.rendering.header import RenderHeader, diagnose_stale_cr, find_source_path, parse_header
from podplan.tools.diff.job_facts import (
    MAX_KEPT_ERRORS,
    BrokenSource,
    JobFacts,
    JobReference,
    LoadedJob,
    StaleFile,
    build_broken,
    build_facts,
    digest,
    get_name,
    iter_documents_with_secrets,
    load_job,
)
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
from podplan.workspace.loader import Loader
from podplan.yaml import SourceFile

MAX_KEPT_PARTS = 60_000  # parts with an origin, in the jobs that were read last
MAX_OPEN_DOCUMENTS = 4  # documents whose jobs are being rebuilt


EnterFolder = Callable[[], AbstractContextManager[object]]


class RevisionFiles(NamedTuple):
    """The files of one revision: their names, by their paths from ``top``, which are the same in both.

    ``top`` is the real path of the repository, or of the compared folder. The files are read inside
    ``enter()``, which changes to the folder that their names are relative to. ``are_built``: the names are
    folders with a kustomization, and the file of each is what kustomize builds.
    """

    names: Mapping[str, str]
    top: str
    enter: EnterFolder
    are_built: bool = False


class _RenderedCR(NamedTuple):
    """A rendered CR whose source exists."""

    ref: JobReference
    header: RenderHeader
    source: str
    name: tuple[str, str, str, str]
    content: bytes


class RepositoryState:
    """The jobs of files, read one after the other, each profile in each environment, or in those of
    ``settings``.

    ``secrets`` are the texts in them that look secret, and ``incomplete`` the paths of the files that contain
    more than jobs: something broken, or CRs that were rendered from a profile. ``denied`` are the names of
    files without permission to read.
    """

    def __init__(self, files: RevisionFiles, settings: PipelineSettings, reader: Loader) -> None:
        self.files = files
        self.jobs: list[JobFacts] = []
        self.broken: list[BrokenSource] = []
        self.environments: set[str] = set()
        self.stale: tuple[StaleFile, ...] = ()
        self.secrets: set[str] = set()
        self.incomplete: set[str] = set()
        self.denied: list[str] = []
        self.settings = settings._replace(environments="each", policies=())
        self._wanted = frozenset(settings.environments) if isinstance(settings.environments, tuple) else None
        self._reader = reader
        self._rendered: list[_RenderedCR] = []
        self._limit_errors: list[str] = []
        self._text_hashes: dict[str, int] = {}
        self._builds: dict[str, SourceFile] = {}
        self._kept: dict[JobReference, LoadedJob] = {}
        self._room = MAX_KEPT_PARTS
        self._replay = Replay(self._iter_loaded_jobs, MAX_OPEN_DOCUMENTS)

    def read(self, path: str) -> list[JobFacts]:
        """Read the jobs of one more file, if this revision has it; a rendered CR whose source exists is
        skipped.

        Raises UsageError: if the file cannot be read. Raises LimitExceeded: if there are too many objects.
        """
        if path not in self.files.names:
            return []
        with self.files.enter():
            try:
                source = self._load(self.files.names[path])
            except LimitExceeded as error:
                self._limit_errors.append(str(error))
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

    def adopt(self, jobs: Sequence[JobFacts]) -> None:
        """Add jobs of the other revision, for a file that is the same in this one."""
        self.jobs += jobs

    def load(self, job: JobFacts) -> LoadedJob:
        """Return a job with all its lowered objects. Raises UsageError: if its file has changed."""
        loaded = self._kept.get(job.ref)
        if loaded is None:
            with self.files.enter():
                loaded = self._replay.element(job.ref._replace(number=0), job.ref.number)
        return loaded

    def read_digest(self, path: str) -> bytes | None:
        """Return a digest of the file at a path from the top; None if it cannot be read."""
        from hashlib import blake2b

        name = self.files.names.get(path, os.path.join(self.files.top, path))
        with self.files.enter():
            try:
                return blake2b(read_inside_root(find_root(name), name), digest_size=16).digest()
            except (OSError, OutsideRoot, LimitExceeded):
                return None

    def read_inventory(self, path: str) -> str | None:
        """Return the text of the inventory for the jobs of a file, None if there is none or several.

        Raises UsageError: if the configured inventory file has none.
        """
        with self.files.enter():
            doc = self._reader.find_unique_inventory(
                TracedDocument(self.files.names[path], {}), self.settings.inventory_path
            )
        return doc.source.text if doc is not None and doc.source is not None else None

    def read_operator_values(self, path: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the lowering options that operators state for the jobs of a file, by apiVersion."""
        with self.files.enter():
            stated = self._reader.find_operator_options(self.files.names[path], self.settings.cluster_paths)
        applied = stated.applied if stated is not None else {}
        return {version: {id_: one.value for id_, one in by_id.items()} for version, by_id in applied.items()}

    def finish(self) -> None:
        """Add what is known once all files are read.

        Raises LimitExceeded: for files that exceeded a limit.
        """
        if self._limit_errors:
            raise LimitExceeded(summarize_limit_errors(self._limit_errors))
        with self.files.enter():
            self.stale = self._find_stale_files()
        self._add_faults_of_bases()
        if self._wanted is not None:
            wanted = self._wanted
            self.broken = [
                source
                for source in self.broken
                if not source.environments or not wanted.isdisjoint(source.environments)
            ]

    def _add(self, path: str, source: SourceFile) -> list[JobFacts]:
        first, first_broken = len(self.jobs), len(self.broken)
        if may_hold(source, ALL_CATEGORIES) and not is_broken_template(
            source, list(classify_documents(source))
        ):
            self.broken += _iter_syntax_errors(source, self.settings, self._reader)
        self._text_hashes[source.file] = hash(source.text)
        for number, item in enumerate(self._reader.classify(source)):
            ref = JobReference(source.file, number)
            if item.category == "cr" and parse_header(item) is not None:
                self.incomplete.add(path)
            if (header := _find_header(item)) is not None:
                profile = os.path.realpath(find_source_path(item, header))
                rendered = _RenderedCR(ref, header, profile, get_name(item.doc), digest(item.doc.data))
                self._rendered.append(rendered)
                continue
            if item.declared_kind is not None:
                self.incomplete.add(path)  # its references are resolved in all files
            broken = list(self._read_item(item, ref, source))
            self.environments.update(*(one.environments or () for one in broken))
            self.broken += broken
            if len(self.jobs) > MAX_OBJECTS:
                message = (
                    f"there are more than {MAX_OBJECTS:,} objects, the last in {source.file}; compare fewer"
                )
                raise LimitExceeded(limit_exceeded("objects", message), source.file)
        self.environments.discard("")
        if len(self.broken) > first_broken:
            self.incomplete.add(path)
        depends_on = self._list_dependencies(source.file)
        self.jobs[first:] = [job._replace(path=path, depends_on=depends_on) for job in self.jobs[first:]]
        return self.jobs[first:]

    def _list_dependencies(self, file: str) -> tuple[str, ...]:
        """Return the paths of the files that a file depends on, directly and indirectly."""
        names: dict[str, None] = {}
        waiting = [file]
        while waiting:
            for name in self._reader.references.get(waiting.pop(), ()):
                if name not in names:
                    names[name] = None
                    waiting.append(name)
        return tuple(intern(path_from_top(self.files.top, name)) for name in names)

    def _read_item(
        self, item: ClassifiedDocument, ref: JobReference, source: SourceFile
    ) -> Iterator[BrokenSource]:
        """Add the jobs of a document; yield what has no CR, with its errors."""
        profile_errors: tuple[Finding, ...] = ()
        number = 0
        has_other_text = self.settings.param_values or "extends" in get_mapping(item.doc.data, "spec")
        may_have_secrets = has_other_text or may_hold_secret(source.text)
        for plan in _iter_plans(item, self.settings, self._reader):
            is_wrong = any(map(_is_error, plan.diagnostics))
            errors = _list_errors([source], [plan], self.settings, self._reader) if is_wrong else ()
            if plan.variant_id is None and not plan.failed_environments:
                profile_errors = errors
            elif plan.cr is None and item.category in SHARED_CATEGORIES and not errors:
                continue
            elif plan.cr is None:
                yield build_broken(item, plan, errors)
            else:
                self.environments.add(plan.environment)
                if self._wanted is None or not plan.environment or plan.environment in self._wanted:
                    loaded, job_ref = load_job(plan), ref._replace(number=number)
                    self.jobs.append(build_facts(item, plan, loaded, job_ref, errors or profile_errors))
                    if may_have_secrets:
                        self.secrets.update(secrets_behind(iter_documents_with_secrets(loaded)))
                    self._keep(job_ref, loaded)
                number += 1

    def _keep(self, ref: JobReference, loaded: LoadedJob) -> None:
        self._kept[ref] = loaded
        self._room -= loaded.weight
        while self._room < 0 and len(self._kept) > 1:
            oldest = next(iter(self._kept))
            self._room += self._kept.pop(oldest).weight

    def _iter_loaded_jobs(self, ref: JobReference) -> Iterator[LoadedJob]:
        """Yield the jobs of a document, rebuilt."""
        source = self._reload(ref.file)
        if hash(source.text) != self._text_hashes[ref.file]:
            raise build_changed_error(ref.file)
        for plan in _iter_plans(list(self._reader.classify(source))[ref.item], self.settings, self._reader):
            if plan.cr is not None:
                yield load_job(plan)

    def _add_faults_of_bases(self) -> None:
        """Add the errors of base profiles to the jobs whose profiles extend them, and remove these base
        profiles."""
        paths = {name: path for path, name in self.files.names.items()}
        bases = {paths.get(one.file): one for one in self.broken if one.kind == "JobProfileBase"}
        extended: set[str] = set()
        for number, job in enumerate(self.jobs if bases else ()):
            own_bases = [path for path in job.depends_on if path in bases]
            if own_bases and not job.findings:
                errors = tuple(finding for path in own_bases for finding in bases[path].findings)
                self.jobs[number] = job._replace(findings=errors[:MAX_KEPT_ERRORS])
                extended.update(own_bases)
        self.broken = [
            one for one in self.broken if one.kind != "JobProfileBase" or paths.get(one.file) not in extended
        ]

    def _find_stale_files(self) -> tuple[StaleFile, ...]:
        """Return the rendered CRs that differ from what their profiles render; unknown for broken profiles.

        Most profiles are in the tree, with the same flags, so their renders are known.
        """
        if not self._rendered:
            return ()
        contents = {
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
        broken = {os.path.realpath(one.file) for one in self.broken}
        stale_files: dict[StaleFile, None] = {}
        for rendered in self._rendered:
            header, flags = rendered.header, (self.settings.gitops_tool, dict(self.settings.param_values))
            has_same_flags = (header.gitops_tool, header.param_values) == flags
            key = rendered.source, header.environment, *rendered.name
            is_equal = has_same_flags and contents.get(key) == rendered.content
            if not is_equal and rendered.source not in broken and self._is_stale(rendered):
                stale_files[StaleFile(rendered.ref.file, header.source_file)] = None
        return tuple(stale_files)

    def _is_stale(self, rendered: _RenderedCR) -> bool:
        item = list(classify_documents(self._reload(rendered.ref.file)))[rendered.ref.item]
        return diagnose_stale_cr(item, rendered.header, self.settings, self._reader) is not None


def path_from_top(top: str, name: str) -> str:
    """Return the path of a file relative to the top, with links in its folders resolved, but not the last
    part."""
    folder, last = os.path.split(name)
    return os.path.normpath(os.path.relpath(os.path.join(os.path.realpath(folder), last), top))


def _iter_plans(item: ClassifiedDocument, settings: PipelineSettings, reader: Loader) -> Iterator[JobPlan]:
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


def _find_header(item: ClassifiedDocument) -> RenderHeader | None:
    """Return the header of a rendered CR; None if it is hand-written, or the source does not exist."""
    header = parse_header(item) if item.category == "cr" else None
    return header if header is not None and os.path.exists(find_source_path(item, header)) else None


def _is_error(diagnostic: Diagnostic) -> bool:
    return BUILTIN_RULES[diagnostic.rule].severity is Severity.ERROR


def _list_errors(
    sources: Sequence[SourceFile], plans: Sequence[JobPlan], settings: PipelineSettings, reader: Loader
) -> tuple[Finding, ...]:
    findings = summarize_plans(sources, plans, settings, reader).findings
    return tuple(finding for finding in findings if finding.severity is Severity.ERROR)


def _iter_syntax_errors(
    source: SourceFile, settings: PipelineSettings, reader: Loader
) -> Iterator[BrokenSource]:
    if any(BUILTIN_RULES[fault.rule].severity is Severity.ERROR for fault in source.diagnostics):
        yield BrokenSource(
            source.file, "", "file", "", None, None, _list_errors([source], [], settings, reader)
        )


def require_environments(settings: PipelineSettings, known: frozenset[str]) -> None:
    """Raise UsageError for a requested environment that no profile has."""
    for name in settings.environments if isinstance(settings.environments, tuple) else ():
        if name not in known:
            others = f"there are {', '.join(sorted(known))}" if known else "no profile has any"
            raise UsageError(f'no profile has the environment "{name}", before or after; {others}')
