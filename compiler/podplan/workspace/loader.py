"""What profiles and CRs need from other files: base profiles, inventories, objects of the cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.core.errors import UsageError
from podplan.core.findings import Diagnostic, Severity
from podplan.core.limits import LimitExceeded
from podplan.core.provenance import TracedDocument
from podplan.core.typing import TYPE_CHECKING
from podplan.workspace.content_search import CLUSTER_OBJECTS, INVENTORY, MENTIONS, OPERATORS
from podplan.workspace.documents import classify_documents
from podplan.workspace.file_loader import describe_os_error, read_content
from podplan.workspace.files import (
    OutsideRoot,
    explain_invalid_path,
    find_root,
    require_inside_repository,
    resolve_reference,
)
from podplan.workspace.repository_reader import RepositoryReader
from podplan.yaml import parse_yaml

if TYPE_CHECKING:
    from podplan.cluster.model import Cluster
    from podplan.cluster.operators import OperatorOptions


class Loader(RepositoryReader):
    """Finds what profiles and CRs need from other files: base profiles, inventories, the cluster.

    If an ``inventory`` is given, all profiles and CRs use it; otherwise it is searched for below the root.
    """

    def __init__(
        self,
        inventory: TracedDocument | None = None,
        exclude: Sequence[str] = (),
        unsaved_texts: Mapping[str, str] = {},
        named_files: Iterable[str] = (),
    ) -> None:
        super().__init__(exclude, unsaved_texts, named_files)
        self._given_inventory = inventory
        self._inventories: dict[str, TracedDocument | None] = {}
        self.clusters: dict[tuple[str, tuple[str, ...]], Cluster | None] = {}
        self._operators: dict[tuple[str, tuple[str, ...]], OperatorOptions | None] = {}

    def load_base(self, reference: str, referrer: TracedDocument) -> TracedDocument | Diagnostic:
        """Load the profile or base profile that ``extends`` of ``referrer`` names, relative to that file."""
        file = referrer.file
        if os.path.isabs(reference):
            return Diagnostic("PROF002", f'"{reference}" is an absolute path; write it relative to this file')
        if reason := explain_invalid_path(reference):
            return Diagnostic("PROF002", f'cannot extend "{reference}": {reason}')
        path = resolve_reference(file, reference)
        self.record_reference(file, path)
        self._references.extended_files.add(path)
        try:
            source = self.load_source(find_root(file), path)
        except OutsideRoot as error:
            return Diagnostic("PROF002", f"cannot extend {error}")
        except OSError as error:
            return Diagnostic("PROF002", f'cannot read "{reference}": {describe_os_error(error)}')
        errors = [
            fault for fault in source.diagnostics if BUILTIN_RULES[fault.rule].severity is Severity.ERROR
        ]
        if errors:
            line, message = errors[0].span.line, errors[0].message
            return Diagnostic("PROF002", f'cannot extend "{reference}": line {line}: {message}')
        documents = [item.doc for item in classify_documents(source) if item.category in ("profile", "base")]
        if len(documents) != 1:
            count = len(documents) or "no"
            return Diagnostic("PROF002", f'"{reference}" holds {count} profiles or bases, and one is wanted')
        return documents[0]

    def find_inventory(self, doc: TracedDocument, inventory_file: str = "") -> TracedDocument | None:
        """Return the ClusterInventory for a profile: from ``inventory_file``, else the one below the root of
        the profile.

        Raises UsageError: if ``inventory_file`` has no inventory, or if there are several to choose from.
        """
        if self._given_inventory is not None:
            return self._given_inventory
        if inventory_file:
            return self._load_inventory(find_root(inventory_file), inventory_file)
        file = doc.file
        root = find_root(file)
        if root not in self._inventories:
            inventory_files = [
                path
                for path in self._find_mentions(root, file)[INVENTORY]
                if self._holds_inventory(root, path)
            ]
            if len(inventory_files) > 1:
                first = " and ".join(inventory_files[:2])
                raise UsageError(
                    f"there are {len(inventory_files)} ClusterInventory files ({first}); say which one with"
                    " --inventory or with inventory = in podplan.toml"
                )
            self._inventories[root] = (
                self._load_inventory(root, inventory_files[0]) if inventory_files else None
            )
        return self._inventories[root]

    def find_cluster(self, file: str, paths: tuple[str, ...] = ()) -> Cluster | None:
        """Return the cluster that objects describe, those below the root of a file or in ``paths``; None if
        there are none.

        It is read once; files of templates and patches describe nothing by themselves.
        """
        root = self._find_root(file)
        if (root, paths) not in self.clusters:
            documents = self.find_cluster_documents(file, paths)
            cluster = None
            if documents:
                from podplan.cluster.reading import read_cluster

                cluster = read_cluster(documents)
            self.clusters[root, paths] = cluster
        return self.clusters[root, paths]

    def find_cluster_documents(self, file: str, paths: tuple[str, ...] = ()) -> list[TracedDocument]:
        """Return the documents of the files with objects that describe the cluster."""
        root, files = self._find_root(file), self.find_cluster_files(file, paths)
        self._references.inventory_files.update(files)
        return self._load_whole_documents(root, files)

    def find_operator_options(self, file: str, paths: tuple[str, ...] = ()) -> OperatorOptions | None:
        """Return the lowering options that Deployments of operators state, those below the root of a file or
        in ``paths``; None if there are none, or if the text is in no file and so in no repository."""
        if file not in self.unsaved_texts and self._stream is None and not os.path.exists(file):
            return None
        root = self._find_root(file)
        if (root, paths) not in self._operators:
            files = self._find_described(file, paths, OPERATORS)
            self._references.inventory_files.update(files)
            options = None
            is_in_stream = self._stream is not None and MENTIONS[OPERATORS](self._stream.text.encode())
            if files or is_in_stream:
                from podplan.cluster.operators import read_operators

                loaded = [source for one in files if (source := self._try_load(root, one)) is not None]
                changing = {one.file: one.text for one in loaded if self.explain_foreign_file(one)}
                options = read_operators(self._load_whole_documents(root, files), changing)
            self._operators[root, paths] = options
        return self._operators[root, paths]

    def find_cluster_files(self, file: str, paths: tuple[str, ...] = ()) -> list[str]:
        """Return the files with objects that describe the cluster, below the root of a file or in
        ``paths``."""
        return self._find_described(file, paths, CLUSTER_OBJECTS)

    def _holds_inventory(self, root: str, path: str) -> bool:
        with suppress(OSError, OutsideRoot, LimitExceeded):
            content = read_content(root, path, self.unsaved_texts)
            return any(item.category == "inventory" for item in classify_documents(parse_yaml(content, path)))
        return False

    def find_unique_inventory(self, doc: TracedDocument, inventory_file: str = "") -> TracedDocument | None:
        """Return the inventory as ``find_inventory`` does, but None if there are several to choose from."""
        try:
            return self.find_inventory(doc, inventory_file)
        except UsageError:
            if inventory_file:
                raise
            return None

    def _load_inventory(self, root: str, path: str) -> TracedDocument:
        self._references.inventory_files.add(path)
        try:
            require_inside_repository(path)
            source = self.load_source(root, path)
        except (OSError, OutsideRoot) as error:
            reason = describe_os_error(error) if isinstance(error, OSError) else str(error)
            raise UsageError(f"cannot read the inventory {path}: {reason}") from None
        docs = [item.doc for item in classify_documents(source) if item.category == "inventory"]
        if len(docs) != 1:
            raise UsageError(f"{path}: wants one ClusterInventory, and has {len(docs) or 'none'}")
        return docs[0]
