"""Documents that others refer to by kind and name, searched for in the files below a root.

Each file is read once, and the kinds that it mentions are kept; only files that mention a requested kind are
parsed. Nothing outside of the root is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.core.findings import Diagnostic, Severity
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.suggestions import suggest_name
from podplan.core.typing import Any, NamedTuple
from podplan.core.wording import add_article
from podplan.kinds.spec import Reference
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.kubernetes.names import format_value

# A kind as written in block YAML, flow YAML or JSON.
_KIND_PATTERN = compile_lazily(r"(?m)(?:^|[\s{,\-])[\"']?kind[\"']?[ \t]*:[ \t]*[\"']?([A-Za-z][A-Za-z0-9]*)")
# What a ConfigMap is called, in itself and where it is mounted.
_NAME_PATTERN = compile_lazily(r"(?m)(?:^|[\s{,\-])[\"']?name[\"']?[ \t]*:[ \t]*[\"']?([a-z0-9][a-z0-9.-]*)")
MAX_NAMED_CANDIDATES = 3  # in the message about an ambiguous name


class NamedDocument(NamedTuple):
    """Where a document is: its file, and its number in the file; ``namespace`` may be ""."""

    file: str
    number: int
    namespace: str


class DocumentIndex:
    """Index of the documents below one root, by kind and name; ``load_documents`` loads those of a file.

    It keeps names and positions, not documents.
    """

    def __init__(
        self,
        contents: Iterator[tuple[str, bytes]],
        load_documents: Callable[[str], list[TracedDocument]],
    ) -> None:
        self._load_documents = load_documents
        self._files_by_kind: dict[str, list[str]] = {}
        self._by_kind: dict[tuple[str, str], dict[str, list[NamedDocument]]] = {}
        self._files_by_config_map: dict[str, list[str]] = {}
        for file, content in contents:
            text = content.decode("utf-8", "replace")
            for name in dict.fromkeys(_NAME_PATTERN.findall(text)) if "onfigMap" in text else ():
                self._files_by_config_map.setdefault(name, []).append(file)
            for kind in dict.fromkeys(_KIND_PATTERN.findall(text)):
                self._files_by_kind.setdefault(kind, []).append(file)

    def find_files(self, kind: str) -> list[str]:
        """Return the files that mention a kind, or a List of it."""
        named, in_list = (self._files_by_kind.get(name, []) for name in (kind, f"{kind}List"))
        return list(dict.fromkeys((*named, *in_list))) if in_list else named

    def find(self, reference: Reference) -> list[NamedDocument]:
        """Return the documents that a reference may mean; if there are several, those in its namespace."""
        named = self._find_named(reference.group, reference.kind).get(reference.name, [])
        return _select_by_namespace(named, reference.namespace)

    def find_config_maps(self, name: str, namespace: str) -> list[NamedDocument]:
        """Return the ConfigMaps that a Pod in a namespace may mean, as ``find`` does.

        Only files that mention the name are parsed: there may be many large ConfigMaps.
        """
        mentioned, of_kind = self.find_mentions_of_config_map(name), set(self.find_files("ConfigMap"))
        named = [
            NamedDocument(file, number, get_text(get_mapping(doc.data, "metadata"), "namespace"))
            for file in mentioned
            if file in of_kind
            for number, doc in enumerate(self._load_documents(file))
            if has_kind(doc.data, "", "ConfigMap")
            and get_text(get_mapping(doc.data, "metadata"), "name") == name
        ]
        return _select_by_namespace(named, namespace)

    def find_mentions_of_config_map(self, name: str) -> list[str]:
        """Return the files with ConfigMaps or mounts of them that state a name."""
        return self._files_by_config_map.get(name, [])

    def list_names(self, group: str, kind: str) -> list[str]:
        """Return the names of the documents of a kind, in the order of their files."""
        return [name for name in self._find_named(group, kind) if name]

    def _find_named(self, group: str, kind: str) -> Mapping[str, list[NamedDocument]]:
        if (group, kind) not in self._by_kind:
            named: dict[str, list[NamedDocument]] = {}
            for file in self.find_files(kind):
                for number, doc in enumerate(self._load_documents(file)):
                    if has_kind(doc.data, group, kind):
                        metadata = get_mapping(doc.data, "metadata")
                        place = NamedDocument(file, number, get_text(metadata, "namespace"))
                        named.setdefault(get_text(metadata, "name"), []).append(place)
            self._by_kind[group, kind] = named
        return self._by_kind[group, kind]


def _select_by_namespace(named: list[NamedDocument], wanted: str) -> list[NamedDocument]:
    fitting = [one for one in named if not (one.namespace and wanted and one.namespace != wanted)]
    exact = [one for one in fitting if one.namespace == wanted]
    return exact or fitting


def has_kind(data: Any, group: str, kind: str) -> bool:
    """Whether a document is of a kind, in any version."""
    if not isinstance(data, dict) or data.get("kind") != kind:
        return False
    declared_group, separator, _ = get_text(data, "apiVersion").rpartition("/")
    return (declared_group if separator else "") == group


def describe_missing(
    reference: Reference,
    referrer_kind: str,
    other_documents: Mapping[str, list[NamedDocument]] = {},
    known_names: Sequence[str] = (),
    folders: Sequence[str] = (),
) -> Diagnostic:
    """Build the diagnostic for a reference to a document that does not exist below the root.

    ``other_documents`` of the name, by kind, are what the author may have meant, and so is one of
    ``known_names``, those of the kind. ``folders`` are those that hold all runtimes of the platform: what is
    missing there does not exist, and is an error, unless it is a document of one namespace.
    """
    diagnostic = _describe_missing(reference, referrer_kind, other_documents, known_names)
    if not folders or not reference.is_runtime or reference.namespace or not reference.name:
        return diagnostic
    rule = BUILTIN_RULES[diagnostic.rule]._replace(severity=Severity.ERROR)
    message = (
        f"{reference.kind} {format_value(reference.name)} is neither in the folders of [runtimes], which hold"
        f" those of the platform, nor elsewhere in this repository: the {referrer_kind} is refused, and its"
        " Pods are not known and not checked"
    )
    return diagnostic._replace(message=message, graded_rule=rule)


def _describe_missing(
    reference: Reference,
    referrer_kind: str,
    other_documents: Mapping[str, list[NamedDocument]],
    known_names: Sequence[str],
) -> Diagnostic:
    if not reference.name:
        message = f"{referrer_kind} names no {reference.kind}, so its Pods are not known and not checked"
        return Diagnostic("CR901", message, reference.path)
    namespace = f" in the namespace {format_value(reference.namespace)}" if reference.namespace else ""
    message = (
        f"{reference.kind} {format_value(reference.name)}{namespace} is not in this repository,"
        f" so the Pods of this {referrer_kind} are not known and not checked"
    )
    if reference.help_if_missing and not any(other_documents.values()):
        return Diagnostic("CR901", message, reference.path, help=reference.help_if_missing)
    if suggestion := suggest_name(reference.name, (one for one in known_names if one != reference.name)):
        return Diagnostic("CR901", message, reference.path, help=f"write name: {suggestion}")
    help_text = f"correct the name, or add the {reference.kind} below the root of the repository"
    for kind, documents in other_documents.items():
        if documents:
            help_text = f"{documents[0].file} has {add_article(kind)} of this name: write kind: {kind}"
    return Diagnostic("CR901", message, reference.path, help=help_text)


def describe_ambiguous(reference: Reference, found: list[NamedDocument], referrer_kind: str) -> Diagnostic:
    """Build the diagnostic for a reference that several documents match."""
    files = [one.file for one in found[:MAX_NAMED_CANDIDATES]]
    more = f" and {len(found) - len(files)} more" if len(found) > len(files) else ""
    message = (
        f"{reference.kind} {format_value(reference.name)} is in {', '.join(files)}{more}, so it is unclear"
        f" which one applies, and the Pods of this {referrer_kind} are not known and not checked"
    )
    return Diagnostic(
        "CR902", message, reference.path, help="give them different names or namespaces, or exclude a file"
    )
