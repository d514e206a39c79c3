"""The documents of a repository: which are CRs, of which declared kind, and what references resolve to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from podplan.core.findings import Diagnostic
from podplan.core.provenance import TracedDocument
from podplan.core.typing import TYPE_CHECKING
from podplan.kinds.registry import find_kind, load_spec
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.workspace.content_search import MAPPING, MENTIONS, QUEUES, SearchedFolder, iter_contents
from podplan.workspace.documents import (
    HELM_TEMPLATE,
    ClassifiedDocument,
    classify_document,
    classify_documents,
    find_declarable_kind,
    identify_object,
    is_queue_object,
    is_resource_quota,
)
from podplan.workspace.embedded_jobs import creates_jobs
from podplan.workspace.files import to_user_path
from podplan.workspace.kustomizations import KustomizationIndex, find_directive
from podplan.workspace.source_reader import MAX_CACHED_SOURCES, SourceReader
from podplan.workspace.templates import has_template_marks, is_chart_template
from podplan.yaml import SourceFile

if TYPE_CHECKING:
    from podplan.kinds.registry import GroupVersionKind
    from podplan.kinds.spec import KindSpec, Reference
    from podplan.workspace.references import DocumentIndex, NamedDocument


class RepositoryReader(SourceReader):
    """Classifies and finds documents below the roots of a run, except in ``exclude``, shell patterns as for
    ``files.expand_paths``.

    ``named_files`` are the paths that the user names: a template of a chart that is a plain manifest is
    checked if it is one of them.
    """

    def __init__(
        self,
        exclude: Sequence[str] = (),
        unsaved_texts: Mapping[str, str] = {},
        named_files: Iterable[str] = (),
    ) -> None:
        super().__init__(unsaved_texts)
        self._exclude = exclude
        self._named_files = frozenset(map(os.path.realpath, named_files))
        self._mentions: dict[str, dict[str, list[str]]] = {}
        self._indexes: dict[tuple[str, tuple[str, ...]], DocumentIndex] = {}
        self._declared_kinds: dict[str, dict[tuple[str, str], list[KindSpec]]] = {}
        self._referenced: dict[tuple[str, int], TracedDocument] = {}
        self._built_documents: dict[str, list[TracedDocument]] = {}
        self.kustomizations = KustomizationIndex()

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
        to others, such as templates of Helm and patches of kustomize, are of the category ``foreign``.
        """
        if source.file in self._built_documents:
            yield from map(classify_document, self._built_documents[source.file])
            return
        items = [self._apply_declaration(source.file, item) for item in classify_documents(source)]
        are_own = [
            item.category in ("cr", "object")
            or creates_jobs(item)
            or is_queue_object(item)
            or is_resource_quota(item)
            for item in items
        ]
        foreign = self._explain_unchecked_file(source) if any(are_own) else ""
        for item, is_own in zip(items, are_own, strict=True):
            if is_own and (reason := foreign or find_directive(item.doc.data)):
                yield item._replace(category="foreign", reason=reason, declared_kind=None)
            else:
                yield item

    def _apply_declaration(self, file: str, item: ClassifiedDocument) -> ClassifiedDocument:
        """Return the document as a CR if a WorkloadMapping declares its kind, else as it is."""
        kind = find_declarable_kind(item)
        declared = self.find_declared_kind(file, kind) if kind is not None else None
        return item if declared is None else item._replace(category="cr", reason="", declared_kind=declared)

    def _explain_unchecked_file(self, source: SourceFile) -> str:
        """Return what a file is if its CRs and objects are not checked, else "".

        Templates of a chart are not checked, even plain ones: which of them Helm installs is up to the chart.
        """
        is_named = bool(self._named_files) and os.path.realpath(source.file) in self._named_files
        if not is_named and is_chart_template(source.file, self._find_root(source.file)):
            return HELM_TEMPLATE
        return self.explain_foreign_file(source)

    def explain_foreign_file(self, source: SourceFile) -> str:
        """Return what a file is if its CRs and objects are not for the API server as they are, else ""."""
        root = self._find_root(source.file)
        if has_template_marks(source.text) and is_chart_template(source.file, root):
            return HELM_TEMPLATE
        return self.kustomizations.explain_foreign_file(source.file, root)

    def is_unused_below_kustomization(self, file: str) -> bool:
        """Whether a file is below a kustomization that does not have it as a resource."""
        return self.kustomizations.is_unused_below(file, self._find_root(file))

    def find_declared_kind(self, file: str, kind: GroupVersionKind) -> KindSpec | None:
        """Return the spec of a declared kind from its first WorkloadMapping, by order of paths, else from
        that of podplan; None without one."""
        from podplan.kinds.workload_mapping.known_controllers import load_bundled_mapping
        from podplan.kinds.workload_mapping.mapping import build_kind_spec, declares

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
        from podplan.kinds.workload_mapping.mapping import list_template_kinds

        specs = (spec for specs in self._load_declared_kinds(doc.file).values() for spec in specs)
        return any((kind.group, kind.kind) in list_template_kinds(spec) for spec in specs)

    def find_same_declaration(self, mapping: TracedDocument) -> TracedDocument | None:
        """Return the WorkloadMapping that takes precedence over this one: an earlier one for the same
        kind."""
        from podplan.kinds.workload_mapping.mapping import list_declared_kinds

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

    def find_config_map(self, referrer: TracedDocument, name: str) -> TracedDocument | None:
        """Return the ConfigMap whose name a document states.

        It is the only one in the file or build of the document, else in its folder, else below the root; None
        if there are several, or if another tool completes it.
        """
        file = referrer.file
        for documents in self._built_documents.values():
            if any(one is referrer for one in documents):
                return _find_only_config_map(documents, name)
        if self._stream is not None and self._stream.file == file:
            return _find_only_config_map((item.doc for item in classify_documents(self._stream)), name)
        root, namespace = self._find_root(file), get_text(get_mapping(referrer.data, "metadata"), "namespace")
        beside = [one for one in self._load_documents(root, file) if _is_config_map(one, name)]
        if beside:
            return beside[0] if len(beside) == 1 else None
        found = self._get_index(file).find_config_maps(name, namespace)
        found = [one for one in found if os.path.dirname(one.file) == os.path.dirname(file)] or found
        source = self._try_load(root, found[0].file) if len(found) == 1 else None
        if source is None or self.explain_foreign_file(source):
            return None
        self._record_shared(file, source.file)
        return self._load_documents(root, source.file)[found[0].number]

    def find_documents(
        self, path: str, kinds: Iterable[str], folders: tuple[str, ...] = ()
    ) -> list[TracedDocument]:
        """Return the documents below the root of a path, or in ``folders``, of all files that mention one of
        the kinds, without templates and patches."""
        index, root = self._get_index(path, folders), self._find_root(path)
        return self._load_whole_documents(
            root, sorted({file for kind in kinds for file in index.find_files(kind)})
        )

    def find_queued_documents(self, path: str) -> list[TracedDocument]:
        """Return the documents below the root of a path that are no training jobs, and of a kind that Kueue
        queues or in a file with the label of a queue."""
        from podplan.cluster.queued_objects import KINDS

        index, root = self._get_index(path), self._find_root(path)
        files = {file for kind in KINDS for file in index.find_files(kind)}
        files.update(self._find_mentions(root, path)[QUEUES])
        sources = (self._try_load(root, file) for file in sorted(files))
        return [
            item.doc
            for source in sources
            if source is not None and not self.explain_foreign_file(source)
            for item in self.classify(source)
            if item.category in ("object", "other") and not find_directive(item.doc.data)
        ]

    def find_referrers(self, file: str) -> list[str]:
        """Return the files below the root with CRs that refer to documents of a file, or whose kind it
        declares."""
        from podplan.kinds.registry import REFERRED_KINDS
        from podplan.kinds.workload_mapping.mapping import find_referring_kinds
        from podplan.workspace.references import has_kind

        root, index = self._find_root(file), self._get_index(file)
        specs = [spec for specs in self._load_declared_kinds(file).values() for spec in specs]
        is_referred = bool(specs) or any(file in index.find_files(kind) for kind in REFERRED_KINDS)
        documents = self._load_documents(root, file) if is_referred else []
        names = (*find_referring_kinds(documents, specs), *_list_referring_kinds(documents))
        referrers = [other for name in dict.fromkeys(names) for other in index.find_files(name)]
        if file in index.find_files("ConfigMap"):
            for document in self._load_documents(root, file):
                if has_kind(document.data, "", "ConfigMap"):
                    name = get_text(get_mapping(document.data, "metadata"), "name")
                    referrers += index.find_mentions_of_config_map(name)
        own = os.path.realpath(file)
        return [other for other in dict.fromkeys(referrers) if os.path.realpath(other) != own]

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

    def _load_declared_kinds(self, file: str) -> dict[tuple[str, str], list[KindSpec]]:
        root = self._find_root(file)
        if root not in self._declared_kinds:
            from podplan.kinds.workload_mapping.mapping import build_kind_spec

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

    def _find_described(self, file: str, paths: tuple[str, ...], subject: str) -> list[str]:
        root = self._find_root(file)
        if not paths:
            return self._find_mentions(root, file)[subject]
        shown = self._find_first_below(root) or file
        folders = [to_user_path(os.path.realpath(one), shown) for one in paths]
        contents = (one for folder in folders for one in iter_contents(root, folder, (), self.unsaved_texts))
        return [path for path, content in contents if MENTIONS[subject](content)]

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


def _place_of(doc: TracedDocument) -> tuple[str, int]:
    """Return the file that a document is in, and the number of the document in it."""
    return os.path.realpath(doc.file), doc.source.index if doc.source is not None else 0


def _is_config_map(doc: TracedDocument, name: str) -> bool:
    is_named = isinstance(doc.data, dict) and get_text(get_mapping(doc.data, "metadata"), "name") == name
    return is_named and doc.data.get("kind") == "ConfigMap"


def _find_only_config_map(documents: Iterable[TracedDocument], name: str) -> TracedDocument | None:
    found = [one for one in documents if _is_config_map(one, name)]
    return found[0] if len(found) == 1 else None


def _list_referring_kinds(documents: list[TracedDocument]) -> Iterator[str]:
    """Yield the kinds of the registry whose CRs may refer to some documents."""
    for document in documents:
        data = document.data if isinstance(document.data, dict) else {}
        kind = find_kind(data.get("apiVersion"), data.get("kind"))
        if kind is not None:
            yield from load_spec(kind).referring_kinds
