"""The files that a run reads, each once, and what depends on which of them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress

from podplan.core.limits import LimitExceeded
from podplan.core.provenance import TracedDocument
from podplan.workspace.dependencies import FileReferences
from podplan.workspace.documents import classify_documents
from podplan.workspace.file_loader import build_changed_error, read_content
from podplan.workspace.files import OutsideRoot, find_root
from podplan.yaml import SourceFile, parse_yaml

# Cached referenced files: base profiles serve many profiles, the source of a rendered CR serves one.
MAX_CACHED_SOURCES = 1_000


class SourceReader:
    """Reads files below the roots of a run, caches the last ones, and records what refers to them.

    ``unsaved_texts`` replace the content of files, by their paths as the run calls them.
    """

    def __init__(self, unsaved_texts: Mapping[str, str] = {}) -> None:
        self.unsaved_texts = unsaved_texts
        self._sources: dict[str, SourceFile] = {}
        self._references = FileReferences({}, set(), set(), {}, {}, set())
        self._first_files: dict[str, str] = {}
        self._files: Iterator[str] = iter(())
        self._roots_by_folder: dict[str, str] = {}
        self._stream: SourceFile | None = None

    def start_run(self, files: Iterable[str]) -> None:
        """Register the files of a run: paths above them are shown relative to the first one."""
        self._first_files, self._files = {}, iter(files)

    def add_stream(self, source: SourceFile) -> None:
        """Register a text that is no file, such as standard input, so that its documents may refer to each
        other."""
        self._stream = source

    @property
    def references(self) -> Mapping[str, Collection[str]]:
        """The files that each file refers to, whether they exist or not."""
        return self._references.references

    @property
    def extended_files(self) -> set[str]:
        """The files that profiles and base profiles extend."""
        return self._references.extended_files

    @property
    def inventory_files(self) -> set[str]:
        """The files with the inventories that are used."""
        return self._references.inventory_files

    @property
    def referenced_files(self) -> set[str]:
        """The files with documents that CRs refer to, or that declare their kinds."""
        return self._references.referenced_files

    def take_references(self) -> FileReferences:
        """Return the references recorded since the last call, to be merged into another Loader."""
        references, self._references = self._references, FileReferences({}, set(), set(), {}, {}, set())
        return references

    def merge_references(self, references: FileReferences) -> None:
        """Merge the references that another Loader recorded.

        Raises UsageError: if that read a different text.
        """
        for file, referenced in references.references.items():
            self._references.add_references(file, referenced)
        self._references.extended_files.update(references.extended_files)
        self._references.inventory_files.update(references.inventory_files)
        self._references.roots.update(references.roots)
        self._references.referenced_files.update(references.referenced_files)
        for file, text_hash in references.text_hashes.items():
            self._require_same_text(file, text_hash)

    def record_reference(self, file: str, referenced: str) -> None:
        """Record that ``file`` refers to another file, and so depends on it."""
        self._references.add_references(file, (referenced,))

    def _record_shared(self, file: str, referenced: str) -> None:
        """Record that a document in ``file`` depends on one that others may depend on, too."""
        self._references.referenced_files.add(referenced)
        if referenced != file:
            self.record_reference(file, referenced)

    def load_source(self, root: str, path: str) -> SourceFile:
        """Load the file at ``path``.

        Raises OutsideRoot, OSError: if it cannot be read. Raises UsageError: if it changed during the run.
        """
        source = self._sources.pop(path, None) or parse_yaml(
            read_content(root, path, self.unsaved_texts), path
        )
        self._sources[path] = source  # moved to the end: the least recently used is first
        if len(self._sources) > MAX_CACHED_SOURCES:
            del self._sources[next(iter(self._sources))]
        self._references.roots[path] = root
        self._require_same_text(path, hash(source.text))
        return source

    def _require_same_text(self, file: str, text_hash: int) -> None:
        """Raise UsageError if the text of a file changed: findings and redaction of one text do not fit
        another."""
        if self._references.text_hashes.setdefault(file, text_hash) != text_hash:
            raise build_changed_error(file)

    def find_source(self, file: str) -> SourceFile | None:
        """Return the file if it was read, here or by another Loader of the run."""
        root = self._references.roots.get(file)
        if root is not None and file not in self._sources:
            with suppress(OSError, OutsideRoot, LimitExceeded):
                return self.load_source(root, file)
        return self._sources.get(file)

    def collect_texts(self, files: Iterable[str]) -> dict[str, str]:
        """Return the texts of those of ``files`` that were read."""
        sources = ((file, self.find_source(file)) for file in files)
        return {file: source.text for file, source in sources if source is not None}

    def _try_load(self, root: str, path: str) -> SourceFile | None:
        """Load a file that was found below the root; None if it cannot be read."""
        try:
            return self.load_source(root, path)
        except (OSError, OutsideRoot, LimitExceeded):
            return None

    def _load_documents(self, root: str, path: str) -> list[TracedDocument]:
        source = self._try_load(root, path)
        return [item.doc for item in classify_documents(source)] if source is not None else []

    def _find_root(self, file: str) -> str:
        """Return the root of a file; cached, because every document needs it."""
        folder = os.path.dirname(file)
        if folder not in self._roots_by_folder:
            self._roots_by_folder[folder] = find_root(file)
        return self._roots_by_folder[folder]

    def _find_first_below(self, root: str) -> str:
        """Return the first file of the run below a root, or ""; the same in every worker process."""
        while root not in self._first_files and (file := next(self._files, "")):
            self._first_files.setdefault(find_root(file), file)
        return self._first_files.get(root, "")
