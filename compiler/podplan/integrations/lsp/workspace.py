"""Checks the open documents, with their unsaved texts in place of files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping

from podplan.checker.check import CheckResult, check_sources
from podplan.checker.run_state import LimitHit
from podplan.core.errors import UsageError
from podplan.core.findings import Finding
from podplan.core.limits import LimitExceeded
from podplan.core.provenance import TracedDocument
from podplan.core.typing import NamedTuple
from podplan.integrations.lsp.dependents import (
    MAX_DEPENDENTS,
    ExtendingFile,
    find_dependents,
    find_extending_files,
)
from podplan.integrations.lsp.documents import OpenDocument, OpenDocuments
from podplan.integrations.lsp.parse_cache import ParseCache
from podplan.pipeline import JobPlan, PipelineSettings, iter_job_plans
from podplan.workspace.documents import ClassifiedDocument
from podplan.workspace.file_loader import SkippedFile, load_file, load_files
from podplan.workspace.files import OutsideRoot, PathNotFound, find_root, is_in_repository
from podplan.workspace.loader import Loader
from podplan.yaml import SourceFile


class FileSettings(NamedTuple):
    """The settings of the configuration for a file."""

    settings: PipelineSettings
    exclude: tuple[str, ...]


class CheckReport(NamedTuple):
    """The findings by file, the texts that they refer to, and by file the reason why it could not be checked.

    ``skipped`` are the documents that are too long to be checked, or too many.
    """

    findings: dict[str, list[Finding]]
    texts: dict[str, str]
    failures: dict[str, str]
    skipped: dict[str, str]


class Workspace:
    """The open documents and the settings of their files.

    ``resolve_settings`` returns the settings for a path, or raises UsageError.
    """

    def __init__(self, resolve_settings: Callable[[str], FileSettings]) -> None:
        self.documents = OpenDocuments()
        self._resolve_settings = resolve_settings
        self._dependents: dict[str, tuple[str, ...]] = {}
        self._extending_by_root: dict[tuple[str, tuple[str, ...]], dict[str, ExtendingFile]] = {}
        self._up_to_date_roots: set[tuple[str, tuple[str, ...]]] = set()  # valid until something changes
        self._inventories: dict[str, str] = {}
        self._parse_cache = ParseCache()

    def invalidate(self) -> None:
        """Invalidate what is cached about files that are not open, because files have changed."""
        self._dependents.clear()
        self._up_to_date_roots.clear()
        self._inventories.clear()
        self._parse_cache.forget_files()
        if not self.documents.by_path:
            self._parse_cache = ParseCache()

    def check(self) -> CheckReport:
        """Check the open documents, and the profiles that extend them, except for skipped ones."""
        report = CheckReport({}, {}, {}, self.documents.list_skipped())
        paths_by_root: dict[str, list[str]] = {}
        for path in self.documents.by_path:
            if path not in report.skipped:
                paths_by_root.setdefault(find_root(path), []).append(path)
        for paths in paths_by_root.values():
            try:
                self._check_root(paths, report)
            except (UsageError, PathNotFound, OutsideRoot, LimitExceeded) as error:
                report.failures.update(dict.fromkeys(paths, str(error)))
        return report

    def check_files(self, paths: list[str], texts: dict[str, str]) -> CheckResult:
        """Check files, with further unsaved ``texts``. Raises what ``check_sources`` raises.

        The texts in the result are not redacted: only reports redact them.
        """
        file_settings = self.find_settings(paths[0])
        unsaved_texts = self.documents.unsaved_texts() | texts
        reader = self._parse_cache.create_reader(file_settings.exclude, unsaved_texts)
        files = [*dict.fromkeys((*paths, *self._list_dependents(paths, file_settings)))]
        opened_files, limit_hits = _open_files(files, unsaved_texts)
        full_texts = {one.file: one.text for one in opened_files if isinstance(one, SourceFile)}
        result = check_sources(opened_files, file_settings.settings, reader)
        full_texts |= reader.collect_texts(result.redacted_texts.keys())
        return result._replace(redacted_texts=full_texts, limit_hits=(*result.limit_hits, *limit_hits))

    def _check_root(self, paths: list[str], report: CheckReport) -> None:
        result = self.check_files(paths, {})
        for finding in result.findings:
            report.findings.setdefault(finding.location.file, []).append(finding)
        report.texts.update(result.redacted_texts)
        for file, sentence in result.limit_hits:
            report.failures.update(dict.fromkeys([file] if file in paths else paths, sentence))

    def find_settings(self, path: str) -> FileSettings:
        """Return the settings for a file, with paths that do not depend on the current folder.

        The inventory of a root is searched for once, not at every keystroke.
        """
        file_settings = self._resolve_settings(path)
        settings = file_settings.settings
        if settings.inventory_path:
            return file_settings._replace(
                settings=settings._replace(inventory_path=os.path.abspath(settings.inventory_path))
            )
        root = find_root(path)
        if root not in self._inventories:
            self._inventories[root] = self._find_inventory_path(path, file_settings)
        return file_settings._replace(settings=settings._replace(inventory_path=self._inventories[root]))

    def _find_inventory_path(self, path: str, file_settings: FileSettings) -> str:
        reader = self._parse_cache.create_reader(file_settings.exclude, self.documents.unsaved_texts())
        inventory_doc = reader.find_unique_inventory(TracedDocument(path, {}))
        return inventory_doc.name if inventory_doc is not None else ""

    def find_inventory(self, path: str) -> TracedDocument | None:
        """Return the ClusterInventory for a file, None if there is none, or several."""
        try:
            return self.create_reader(path).find_unique_inventory(
                TracedDocument(path, {}), self.find_settings(path).settings.inventory_path
            )
        except UsageError:
            return None

    def create_reader(self, path: str) -> Loader:
        """Return a Loader that uses the unsaved texts of the open documents."""
        return self._parse_cache.create_reader(
            self.find_settings(path).exclude, self.documents.unsaved_texts()
        )

    def iter_plans(self, document: OpenDocument) -> Iterator[JobPlan]:
        """Yield a plan for every CR from a document: its own, or those of the profiles that extend it."""
        file_settings = self.find_settings(document.path)
        reader = self.create_reader(document.path)
        for path in (document.path, *self._list_dependents([document.path], file_settings)):
            for source in load_files([path], self.documents.unsaved_texts()):
                if isinstance(source, SourceFile):
                    for item in reader.classify(source):
                        yield from _iter_item_plans(item, file_settings.settings, reader)

    def _list_dependents(self, paths: list[str], file_settings: FileSettings) -> tuple[str, ...]:
        """Return the profiles below the root that extend one of the files, open or not."""
        dependents_found: dict[str, None] = {}
        for path in paths:
            if path not in self._dependents:
                self._dependents[path] = self._find_dependents(path, file_settings)
            dependents_found |= dict.fromkeys(self._dependents[path])
        return tuple(self.documents.resolve_open_path(path) for path in dependents_found)

    def _find_dependents(self, path: str, file_settings: FileSettings) -> tuple[str, ...]:
        """Return the profiles that extend one file; outside of a repository there are none."""
        text = self.documents.by_path[path].text if path in self.documents.by_path else ""
        if not is_in_repository(path):
            return ()
        referrers = self._find_referrers(path, text)
        if "podplan/" not in text:
            return referrers
        root_key = find_root(path), file_settings.exclude
        if root_key not in self._up_to_date_roots:
            self._extending_by_root[root_key] = find_extending_files(
                *root_key, self._extending_by_root.get(root_key, {})
            )
            self._up_to_date_roots.add(root_key)
        return (*find_dependents(path, self._extending_by_root[root_key]), *referrers)

    def _find_referrers(self, path: str, text: str) -> tuple[str, ...]:
        """Return the files with CRs whose Pods depend on documents of a file: at most ``MAX_DEPENDENTS``."""
        if "kind" not in text:
            return ()
        try:
            return tuple(self.create_reader(path).find_referrers(path)[:MAX_DEPENDENTS])
        except (OSError, OutsideRoot, LimitExceeded):
            return ()


def _iter_item_plans(
    item: ClassifiedDocument, settings: PipelineSettings, reader: Loader
) -> Iterator[JobPlan]:
    if item.category in ("profile", "cr"):
        yield from iter_job_plans(item, settings, reader)


def _open_files(
    files: Iterable[str], unsaved_texts: Mapping[str, str]
) -> tuple[list[SourceFile | SkippedFile], list[LimitHit]]:
    """Load the files, and return those with an apiVersion of podplan that exceed a limit."""
    opened_files: list[SourceFile | SkippedFile] = []
    limit_hits: list[LimitHit] = []
    for file in files:
        try:
            opened_files.append(load_file(file, unsaved_texts))
        except LimitExceeded as error:
            limit_hits.append(LimitHit(file, str(error.with_file(file))))
    return opened_files, limit_hits
