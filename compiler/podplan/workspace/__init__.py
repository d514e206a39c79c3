"""Loading the files that documents refer to: only inside the root of the referring file, and unchanged in
a run."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.core.errors import UsageError
from podplan.core.findings import Diagnostic, Severity
from podplan.core.limits import LimitExceeded
from podplan.core.provenance import TracedDocument
from podplan.core.typing import TYPE_CHECKING
from podplan.kinds.registry import find_kind, load_spec
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.workspace.content_search import (
    CLUSTER_OBJECTS,
    INVENTORY,
    MAPPING,
    MENTIONS,
    OPERATORS,
    SearchedFolder,
    iter_contents,
)
from podplan.workspace.dependencies import FileReferences
from podplan.workspace.documents import (
    HELM_TEMPLATE,
    ClassifiedDocument,
    classify_document,
    classify_documents,
    creates_jobs,
    find_declarable_kind,
    identify_object,
)
from podplan.workspace.file_loader import build_changed_error, describe_os_error, read_content
from podplan.workspace.files import (
    OutsideRoot,
    explain_invalid_path,
    find_root,
    require_inside_repository,
    resolve_reference,
    to_user_path,
)
from podplan.workspace.kustomizations import KustomizationIndex, find_directive
from podplan.workspace.templates import is_chart_template
from podplan.yaml import SourceFile, parse_yaml

if TYPE_CHECKING:
    from podplan.cluster.model import Cluster
    from podplan.cluster.operators import OperatorOptions
    from podplan.kinds.registry import GroupVersionKind
    from podplan.kinds.spec import KindSpec, Reference
    from podplan.workspace.references import DocumentIndex, NamedDocument

# Cached referenced files: base profiles serve many profiles, the source of a rendered CR serves one.
MAX_CACHED_SOURCES = 1_000


class Loader:
    """Reads the files that others refer to, and caches the last ones: base profiles, inventories, sources of
    CRs.

    If an ``inventory`` is given, all profiles and CRs use it; otherwise it is searched for below the root,
    except in ``exclude``, shell patterns as for ``files.expand_paths``. ``unsaved_texts`` replace the content
    of files, by their paths as the run calls them.
    """

    def __init__(
        self,
        inventory: TracedDocument | None = None,
        exclude: Sequence[str] = (),
        unsaved_texts: Mapping[str, str] = {},
    ) -> None:
        self._given_inventory = inventory
        self._exclude = exclude
        self.unsaved_texts = unsaved_texts
        self._sources: dict[str, SourceFile] = {}
        self._inventories: dict[str, TracedDocument | None] = {}
        self.clusters: dict[tuple[str, tuple[str, ...]], Cluster | None] = {}
        self._operators: dict[tuple[str, tuple[str, ...]], OperatorOptions | None] = {}
        self._references = FileReferences({}, set(), set(), {}, {}, set())
        self._first_files: dict[str, str] = {}
        self._files: Iterator[str] = iter(())
        self._mentions: dict[str, dict[str, list[str]]] = {}
        self._roots_by_folder: dict[str, str] = {}
        self._indexes: dict[tuple[str, tuple[str, ...]], DocumentIndex] = {}
        self._declared_kinds: dict[str, dict[tuple[str, str], list[KindSpec]]] = {}
        self._referenced: dict[tuple[str, int], TracedDocument] = {}
        self._stream: SourceFile | None = None
        self._built_documents: dict[str, list[TracedDocument]] = {}
        self.kustomizations = KustomizationIndex()

    def start_run(self, files: Iterable[str]) -> None:
        """Register the files of a run: paths above them are shown relative to the first one."""
        self._first_files, self._files = {}, iter(files)

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

    def add_stream(self, source: SourceFile) -> None:
        """Register a text that is no file, such as standard input, so that its documents may refer to each
        other."""
        self._stream = source

    def load_build(self, folder: str) -> SourceFile:
        """Return what kustomize builds from a folder, as a file whose documents trace to their origins.

        Raises UsageError: if that fails.
        """
        from podplan.workspace.kustomize_build import build_kustomization

        build = build_kustomization(folder, self)
        self._built_documents[build.source.file] = build.documents
        return build.source

    def classify(self, source: SourceFile) -> Iterator[ClassifiedDocument]:
        """Yield the classified documents of a file in order.

        Those of a kind that a WorkloadMapping declares are CRs. Those that another tool completes or applies
        to others, such as templates of Helm and patches of kustomize, are of the category ``other``.
        """
        if source.file in self._built_documents:
            yield from map(classify_document, self._built_documents[source.file])
            return
        items = list(classify_documents(source))
        are_own = [item.category in ("cr", "object") or creates_jobs(item) for item in items]
        foreign = self.explain_foreign_file(source) if any(are_own) else ""
        for item, is_own in zip(items, are_own, strict=True):
            if is_own and (reason := foreign or find_directive(item.doc.data)):
                yield item._replace(category="other", reason=reason)
                continue
            kind = find_declarable_kind(item)
            declared = self.find_declared_kind(source.file, kind) if kind is not None else None
            yield (
                item if declared is None else item._replace(category="cr", reason="", declared_kind=declared)
            )

    def explain_foreign_file(self, source: SourceFile) -> str:
        """Return what a file is if its CRs and objects are not for the API server as they are, else ""."""
        root = self._find_root(source.file)
        if is_chart_template(source.file, source.text, root):
            return HELM_TEMPLATE
        return self.kustomizations.explain_foreign_file(source.file, root)

    def is_unused_below_kustomization(self, file: str) -> bool:
        """Whether a file is below a kustomization that does not have it as a resource."""
        return self.kustomizations.is_unused_below(file, self._find_root(file))

    def find_declared_kind(self, file: str, kind: GroupVersionKind) -> KindSpec | None:
        """Return the spec of a declared kind from its first WorkloadMapping, by order of paths, else from
        that of podplan; None without one."""
        from podplan.kinds.declared.bundled import load_bundled_mapping
        from podplan.kinds.declared.mapping import build_kind_spec, declares

        specs = self._load_declared_kinds(file).get((kind.group, kind.kind), ())
        for spec in specs:
            if spec.declaration is not None and declares(spec.declaration, kind):
                self._record_shared(file, spec.declaration.file)
                return spec
        bundled = load_bundled_mapping(kind.group, kind.kind)
        return build_kind_spec(bundled) if bundled is not None and declares(bundled, kind) else None

    def is_template_kind(self, doc: TracedDocument, kind: GroupVersionKind) -> bool:
        """Whether documents of a kind have the templates of a declared kind, and so are checked with its
        jobs."""
        from podplan.kinds.declared.mapping import list_template_kinds

        specs = (spec for specs in self._load_declared_kinds(doc.file).values() for spec in specs)
        return any((kind.group, kind.kind) in list_template_kinds(spec) for spec in specs)

    def find_same_declaration(self, mapping: TracedDocument) -> TracedDocument | None:
        """Return the WorkloadMapping that takes precedence over this one: an earlier one for the same
        kind."""
        from podplan.kinds.declared.mapping import list_declared_kinds

        for kind in list_declared_kinds(mapping):
            spec = self.find_declared_kind(mapping.file, kind)
            first = spec.declaration if spec is not None else None
            if first is not None and _place_of(first) != _place_of(mapping):
                return first
        return None

    def list_referable(self, file: str, group: str, kind: str, folders: tuple[str, ...] = ()) -> list[str]:
        """Return the names of a kind that a reference in ``file`` finds, those in ``folders`` first."""
        names = self._get_index(file, folders).list_names(group, kind) if folders else []
        return list(dict.fromkeys((*names, *self._get_index(file).list_names(group, kind))))

    def find_referenced(
        self, reference: Reference, referrer: TracedDocument, first_folders: tuple[str, ...] = ()
    ) -> TracedDocument | Diagnostic:
        """Return the document below the root that a reference of ``referrer`` resolves to, or a diagnostic.

        Documents in ``first_folders`` take precedence over the others, also those that are excluded.
        """
        from podplan.workspace.references import describe_ambiguous, describe_missing, has_kind

        file, kind = referrer.file, str(referrer.data.get("kind"))
        if self._stream is not None and self._stream.file == file:
            for item in classify_documents(self._stream):
                identity = identify_object(item.doc.data) if isinstance(item.doc.data, dict) else {}
                if (
                    has_kind(item.doc.data, reference.group, reference.kind)
                    and identity["name"] == reference.name
                    and (identity["namespace"] or reference.namespace) == reference.namespace
                ):
                    return item.doc
        found: list[NamedDocument] = []
        if reference.name:
            found = self._get_index(file, first_folders).find(reference) if first_folders else []
            found = found or self._get_index(file).find(reference)
        if not found:
            others = {
                other: self._get_index(file).find(reference._replace(kind=other, namespace=""))
                for other in (reference.other_kinds if reference.name else ())
            }
            names = self.list_referable(file, reference.group, reference.kind, first_folders)
            return describe_missing(reference, kind, others, names, first_folders)
        if len(found) > 1:
            return describe_ambiguous(reference, found, kind)
        key = found[0].file, found[0].number
        if key not in self._referenced:
            self._referenced[key] = self._load_documents(self._find_root(file), key[0])[key[1]]
            if len(self._referenced) > MAX_CACHED_SOURCES:
                del self._referenced[next(iter(self._referenced))]
        self._record_shared(file, key[0])
        return self._referenced[key]

    def _record_shared(self, file: str, referenced: str) -> None:
        """Record that a document in ``file`` depends on one that others may depend on, too."""
        self._references.referenced_files.add(referenced)
        if referenced != file:
            self.record_reference(file, referenced)

    def find_documents(
        self, path: str, kinds: Iterable[str], folders: tuple[str, ...] = ()
    ) -> list[TracedDocument]:
        """Return the documents below the root of a path, or in ``folders``, of all files that mention one of
        the kinds, without templates and patches."""
        index, root = self._get_index(path, folders), self._find_root(path)
        return self._load_whole_documents(
            root, sorted({file for kind in kinds for file in index.find_files(kind)})
        )

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

    def _load_whole_documents(self, root: str, files: Iterable[str]) -> list[TracedDocument]:
        """Return the documents of files, and of the text that is no file, without templates and patches."""
        sources = [self._stream, *(self._try_load(root, one) for one in files)]
        return [
            item.doc
            for source in sources
            if source is not None and not self.explain_foreign_file(source)
            for item in classify_documents(source)
            if not find_directive(item.doc.data)
        ]

    def find_cluster_files(self, file: str, paths: tuple[str, ...] = ()) -> list[str]:
        """Return the files with objects that describe the cluster, below the root of a file or in
        ``paths``."""
        return self._find_described(file, paths, CLUSTER_OBJECTS)

    def _find_described(self, file: str, paths: tuple[str, ...], subject: str) -> list[str]:
        root = self._find_root(file)
        if not paths:
            return self._find_mentions(root, file)[subject]
        shown = self._find_first_below(root) or file
        folders = [to_user_path(os.path.realpath(one), shown) for one in paths]
        contents = (one for folder in folders for one in iter_contents(root, folder, (), self.unsaved_texts))
        return [path for path, content in contents if MENTIONS[subject](content)]

    def find_referrers(self, file: str) -> list[str]:
        """Return the files below the root with CRs that refer to documents of a file, or whose kind it
        declares."""
        from podplan.kinds.declared.mapping import find_referring_kinds
        from podplan.kinds.registry import REFERRED_KINDS

        root, index = self._find_root(file), self._get_index(file)
        specs = [spec for specs in self._load_declared_kinds(file).values() for spec in specs]
        is_referred = bool(specs) or any(file in index.find_files(kind) for kind in REFERRED_KINDS)
        documents = self._load_documents(root, file) if is_referred else []
        names = (*find_referring_kinds(documents, specs), *_list_referring_kinds(documents))
        referrers = (
            other
            for name in dict.fromkeys(names)
            for other in index.find_files(name)
            if os.path.realpath(other) != os.path.realpath(file)
        )
        return list(dict.fromkeys(referrers))

    def _load_declared_kinds(self, file: str) -> dict[tuple[str, str], list[KindSpec]]:
        root = self._find_root(file)
        if root not in self._declared_kinds:
            from podplan.kinds.declared.mapping import build_kind_spec

            sources = (self._try_load(root, path) for path in self._find_mentions(root, file)[MAPPING])
            specs: dict[tuple[str, str], list[KindSpec]] = {}
            for source in (*((self._stream,) if self._stream is not None else ()), *sources):
                for item in classify_documents(source) if source is not None else ():
                    if item.category == "mapping":
                        named = get_mapping(item.doc.data, "spec")
                        key = get_text(named, "group"), get_text(named, "kind")
                        specs.setdefault(key, []).append(build_kind_spec(item.doc))
            self._declared_kinds[root] = specs
        return self._declared_kinds[root]

    def _find_mentions(self, root: str, file: str) -> dict[str, list[str]]:
        """Return the files below a root that mention what others depend on, by subject.

        One search covers all subjects, so that each file is read once.
        """
        if root not in self._mentions:
            shown = to_user_path(root, self._find_first_below(root) or file)
            mentions: dict[str, list[str]] = {subject: [] for subject in MENTIONS}
            for path, content in iter_contents(root, shown, self._exclude, self.unsaved_texts):
                for subject, is_mentioned in MENTIONS.items():
                    if is_mentioned(content):
                        mentions[subject].append(path)
            self._mentions[root] = mentions
        return self._mentions[root]

    def _holds_inventory(self, root: str, path: str) -> bool:
        with suppress(OSError, OutsideRoot, LimitExceeded):
            content = read_content(root, path, self.unsaved_texts)
            return any(item.category == "inventory" for item in classify_documents(parse_yaml(content, path)))
        return False

    def _find_root(self, file: str) -> str:
        """Return the root of a file; cached, because every document needs it."""
        folder = os.path.dirname(file)
        if folder not in self._roots_by_folder:
            self._roots_by_folder[folder] = find_root(file)
        return self._roots_by_folder[folder]

    def _get_index(self, file: str, folders: tuple[str, ...] = ()) -> DocumentIndex:
        """Return the index of the documents below the root of a file, or of those in ``folders`` of it."""
        root = self._find_root(file)
        if (root, folders) not in self._indexes:
            shown_like = self._find_first_below(root) or file
            exclude = () if folders else tuple(self._exclude)
            places = [
                SearchedFolder(to_user_path(os.path.realpath(folder), shown_like), exclude)
                for folder in folders or (root,)
            ]
            self._indexes[root, folders] = self._build_index(root, places)
        return self._indexes[root, folders]

    def _build_index(self, root: str, places: Sequence[SearchedFolder]) -> DocumentIndex:
        """Return the index of the documents in folders below a root."""
        from podplan.workspace.references import DocumentIndex

        contents = (
            one
            for folder, exclude in places
            for one in iter_contents(root, folder, exclude, self.unsaved_texts)
        )
        return DocumentIndex(contents, lambda path: self._load_documents(root, path))

    def _load_documents(self, root: str, path: str) -> list[TracedDocument]:
        source = self._try_load(root, path)
        return [item.doc for item in classify_documents(source)] if source is not None else []

    def _try_load(self, root: str, path: str) -> SourceFile | None:
        """Load a file that was found below the root; None if it cannot be read."""
        try:
            return self.load_source(root, path)
        except (OSError, OutsideRoot, LimitExceeded):
            return None

    def _find_first_below(self, root: str) -> str:
        """Return the first file of the run below a root, or ""; the same in every worker process."""
        while root not in self._first_files and (file := next(self._files, "")):
            self._first_files.setdefault(find_root(file), file)
        return self._first_files.get(root, "")

    def find_unique_inventory(self, doc: TracedDocument, inventory_file: str = "") -> TracedDocument | None:
        """Return the inventory as ``find_inventory`` does, but None if there are several to choose from."""
        try:
            return self.find_inventory(doc, inventory_file)
        except UsageError:
            if inventory_file:
                raise
            return None

    def record_reference(self, file: str, referenced: str) -> None:
        """Record that ``file`` refers to another file, and so depends on it."""
        self._references.add_references(file, (referenced,))

    def collect_texts(self, files: Iterable[str]) -> dict[str, str]:
        """Return the texts of those of ``files`` that were read."""
        sources = ((file, self.find_source(file)) for file in files)
        return {file: source.text for file, source in sources if source is not None}

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


def _place_of(doc: TracedDocument) -> tuple[str, int]:
    """Return the file that a document is in, and the number of the document in it."""
    return os.path.realpath(doc.file), doc.source.index if doc.source is not None else 0


def _list_referring_kinds(documents: list[TracedDocument]) -> Iterator[str]:
    """Yield the kinds of the registry whose CRs may refer to some documents."""
    for document in documents:
        data = document.data if isinstance(document.data, dict) else {}
        kind = find_kind(data.get("apiVersion"), data.get("kind"))
        if kind is not None:
            yield from load_spec(kind).referring_kinds
