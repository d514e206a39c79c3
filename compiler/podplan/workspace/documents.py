"""Classification of documents: profile, base profile, inventory, CR, Kubernetes object, or other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import (
    Cursor,
    TracedDocument,
    attribute_to,
    build_traced_document,
    copy_traced,
    root_cursor,
)
from podplan.core.suggestions import suggest_name
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple
from podplan.kinds.registry import (
    FAMILIES,
    Family,
    GroupVersionKind,
    find_family,
    is_kind_name,
    list_families_with,
)
from podplan.yaml import SourceFile

if TYPE_CHECKING:
    from podplan.kinds.spec import KindSpec

PROFILE_GROUP = "podplan"
QUEUE_GROUP = "kueue.x-k8s.io"
PROFILE_KINDS = {
    "JobProfile": "profile",
    "JobProfileBase": "base",
    "ClusterInventory": "inventory",
    "WorkloadMapping": "mapping",
}
# Documents that others depend on, and whose own form is all that is checked of them.
SHARED_CATEGORIES = ("base", "inventory", "mapping")
OBJECT_KINDS = frozenset(
    {
        ("v1", "Pod"),
        ("v1", "Service"),
        ("v1", "ConfigMap"),
        ("v1", "Secret"),
        ("scheduler.tensorstack.dev/v1beta1", "PodGroup"),
        ("tensorstack.dev/v1beta1", "TensorBoard"),
    }
)
# The categories of profiles, and documents of an unknown kind of podplan, whose kind is probably misspelt.
PROFILE_CATEGORIES = frozenset({*PROFILE_KINDS.values(), "podplan"})
ALL_CATEGORIES = PROFILE_CATEGORIES | {"cr", "object"}
UNCHECKED_CATEGORIES = frozenset({"foreign", "other"})
# The comment at the top of a rendered CR begins so.
RENDER_HEADER_PREFIX = "# podplan: rendered from "
HELM_TEMPLATE = "Helm template"  # why a document is not checked
# API groups that a file must mention for its syntax errors to be reported.
OWN_API_PREFIXES = (
    *(f"{family.group}/" for family in FAMILIES if family.owns_group),
    *(kind for family in FAMILIES if family.owns_group for kind in family.packages),
    *(
        f"kind: {kind}"
        for family in FAMILIES
        if not family.owns_group and not family.is_common
        for kind in family.packages
    ),
    f"{PROFILE_GROUP}/v",
)
# The same for kinds such as Job, whose name also begins the names of others.
_COMMON_KIND_PATTERNS = {
    family.group: compile_lazily(rf"(?m)^[ \t-]*kind:[ \t]+[\"']?(?:{'|'.join(family.packages)})\b")
    for family in FAMILIES
    if family.is_common
}


class ClassifiedDocument(NamedTuple):
    """One document, or one entry of a List, with its category.

    ``category`` is profile, base, inventory, mapping, cr, object, podplan (an unknown kind in the API group
    of podplan), foreign (a CR or an object that another tool completes or applies to others) or other; for
    the last two, ``reason`` says in a few words what it is. ``declared_kind`` is the kind of a CR that a
    WorkloadMapping declares.
    """

    category: str
    doc: TracedDocument
    reason: str = ""
    declared_kind: KindSpec | None = None


def classify_documents(source: SourceFile) -> Iterator[ClassifiedDocument]:
    """Yield the documents of a file in order; a List is split into its entries."""
    for document in source.documents:
        yield from _unpack_list(TracedDocument(document.file, document.data, source=document))


def may_hold(source: SourceFile, categories: Collection[str]) -> bool:
    """Whether a file has a document of one of the categories, or may have one in a part that is not valid
    YAML."""
    if any(item.category in categories for item in classify_documents(source)):
        return True
    unread = {fault.document_index for fault in source.diagnostics} - {one.index for one in source.documents}
    if not unread:
        return False
    text = "\n".join(line for line in source.text.splitlines() if not line.lstrip().startswith("#"))
    return mentions_own_api(text) if "cr" in categories else f"{PROFILE_GROUP}/v" in text


def mentions_own_api(text: str) -> bool:
    """Whether a text mentions an apiVersion that podplan knows, so that its syntax errors are worth a
    finding."""
    return any(name in text for name in OWN_API_PREFIXES) or any(
        f"{group}/" in text and pattern.search(text) is not None
        for group, pattern in _COMMON_KIND_PATTERNS.items()
    )


def is_helm_template(text: str) -> bool:
    """Whether a text that is not valid YAML looks like a Helm template."""
    return "{{" in text and any(
        mark in text for mark in (".Values", ".Release", ".Chart", "{{-", "{{ include")
    )


def _unpack_list(doc: TracedDocument) -> Iterator[ClassifiedDocument]:
    data = doc.data
    if isinstance(data, dict) and isinstance(data.get("items"), list) and _is_list(data):
        for index, entry in enumerate(data["items"]):
            entry_document = build_traced_document(
                _build_list_entry(root_cursor(doc), Cursor(doc, ("items", index), entry)), doc.name
            )
            yield from (
                _unpack_list(entry_document) if _is_list(entry) else (classify_document(entry_document),)
            )
    else:
        yield classify_document(doc)


def _build_list_entry(list_cursor: Cursor, entry: Cursor) -> Any:
    """Return an entry of a List; a missing apiVersion or kind is derived from a ``…List`` of one kind."""
    kind = str(list_cursor["kind"].value).removesuffix("List")
    is_incomplete = isinstance(entry.value, dict) and not (
        entry.get("apiVersion").exists and entry.get("kind").exists
    )
    if not kind or not is_incomplete:
        return copy_traced(entry)
    inherited = {
        "apiVersion": attribute_to(list_cursor["apiVersion"], list_cursor["apiVersion"].value),
        "kind": attribute_to(list_cursor["kind"], kind),
    }
    return attribute_to(entry, {**inherited, **entry.fields()})


def _is_list(data: Any) -> bool:
    if not isinstance(data, dict):
        return False
    kind = data.get("kind")
    return isinstance(kind, str) and kind.endswith("List") and isinstance(data.get("apiVersion"), str)


def classify_document(doc: TracedDocument) -> ClassifiedDocument:
    """Return the document with its category."""
    data = doc.data
    if not isinstance(data, dict):
        return ClassifiedDocument("other", doc, "not a mapping")
    version, kind = data.get("apiVersion"), data.get("kind")
    if is_kind_name(kind) and _lacks_group(version, kind):
        return ClassifiedDocument("cr", doc)
    if _is_own(version, kind):
        return ClassifiedDocument(PROFILE_KINDS.get(kind if isinstance(kind, str) else "", "podplan"), doc)
    if not isinstance(version, str):
        return ClassifiedDocument("other", doc, "no apiVersion")
    family = find_family(version, kind)
    if family is not None and _may_be_job(family, kind):
        return ClassifiedDocument("cr", doc)
    if isinstance(kind, str) and (version, kind) in OBJECT_KINDS:
        return ClassifiedDocument("object", doc)
    return ClassifiedDocument("other", doc, f"{kind} ({version})" if isinstance(kind, str) else "no kind")


def _is_own(version: object, kind: object) -> bool:
    """Whether a document is one of podplan's.

    Kinds that only podplan has may have a wrong apiVersion, which the schemas report.
    """
    group, slash, _ = version.partition("/") if isinstance(version, str) else ("", "", "")
    if group == PROFILE_GROUP:
        return True
    is_own_kind = isinstance(kind, str) and kind in PROFILE_KINDS
    return is_own_kind and (not slash or group.startswith(f"{PROFILE_GROUP}."))


def may_be_rendered(item: ClassifiedDocument) -> bool:
    """Whether a CR may have the comment of a rendered one."""
    source = item.doc.source
    return item.category == "cr" and source is not None and RENDER_HEADER_PREFIX in source.text


def is_queue_object(item: ClassifiedDocument) -> bool:
    """Whether a document is an object of Kueue."""
    data = item.doc.data
    api_version = data.get("apiVersion") if item.category == "other" and isinstance(data, dict) else None
    return isinstance(api_version, str) and api_version.startswith(f"{QUEUE_GROUP}/")


def is_resource_quota(item: ClassifiedDocument) -> bool:
    """Whether a document is a ResourceQuota."""
    data = item.doc.data
    return isinstance(data, dict) and (data.get("apiVersion"), data.get("kind")) == ("v1", "ResourceQuota")


def find_declarable_kind(item: ClassifiedDocument) -> GroupVersionKind | None:
    """Return the kind of a document that podplan does not know and a WorkloadMapping may declare.

    None for the built-in kinds of Kubernetes: their groups have no dot, or end in .k8s.io.
    """
    if item.category != "other" or not isinstance(item.doc.data, dict):
        return None
    api_version, kind = item.doc.data.get("apiVersion"), item.doc.data.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return None
    group, _, version = api_version.rpartition("/")
    if "." not in group or group.endswith(".k8s.io") or not kind:
        return None
    return GroupVersionKind(group, version, kind)


def has_pod_template(data: Any) -> bool:
    """Whether there is a Pod template anywhere below the top level of a document."""
    waiting = list(data.values()) if isinstance(data, dict) else []
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            spec = value.get("spec")
            containers = spec.get("containers") if isinstance(spec, dict) else None
            if isinstance(containers, list) and containers and isinstance(containers[0], dict):
                return True
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return False


def _lacks_group(api_version: object, kind: object) -> bool:
    """Whether an apiVersion is missing, or its group is probably misspelt for this kind."""
    if not isinstance(api_version, str):
        return api_version is None
    group = api_version.partition("/")[0]
    groups = [family.group for family in list_families_with(kind)]
    return find_family(api_version) is None and suggest_name(group, groups) != ""


def _may_be_job(family: Family, kind: object) -> bool:
    """Whether ``kind``, or the kind in its List, is a job kind of the family, or probably a misspelt one."""
    if not isinstance(kind, str):
        return family.owns_group
    name = kind.removesuffix("List")
    if family.owns_group:
        return name not in family.unchecked
    if family.is_common:
        return name in family.job_kinds
    is_of_other_group = any(not other.is_common for other in list_families_with(name))
    return name in family.job_kinds or is_of_other_group or suggest_name(name, family.job_kinds) != ""


def identify_object(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return apiVersion, kind, name and namespace of an object, None for a missing one."""
    metadata = data.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return {
        "apiVersion": data.get("apiVersion"),
        "kind": data.get("kind"),
        "name": metadata.get("name"),
        "namespace": metadata.get("namespace"),
    }
