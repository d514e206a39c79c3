"""What the documents of a file are: profiles, bases, inventories, CRs, Kubernetes objects, or not ours."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from podplan.core.provenance import Cursor, Doc, at, copied, root, split
from podplan.core.suggestions import nearest
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.registry import FAMILIES, KIND_NAMES, Family, find_family
from podplan.yaml import Source

PROFILE_GROUP = "podplan"
PROFILE_KINDS = {"JobProfile": "profile", "JobProfileBase": "base", "ClusterInventory": "inventory"}
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
# What a profile is made of, with kinds of ours that do not exist, which are probably misspelt.
OF_PROFILES = frozenset({*PROFILE_KINDS.values(), "podplan"})
ALL_SORTS = OF_PROFILES | {"cr", "object"}
# What a file must mention before a fault in its YAML is our concern.
OURS = (*(f"{family.group}/" for family in FAMILIES), *KIND_NAMES, f"{PROFILE_GROUP}/v")


class Item(NamedTuple):
    """One document, or one entry of a List.

    ``what`` is profile, base, inventory, cr, object, podplan (a kind of ours that does not exist) or other;
    for other, ``reason`` says in a few words what it is.
    """

    what: str
    doc: Doc
    reason: str = ""


def items(source: Source) -> Iterator[Item]:
    """The documents of a file in order, Lists taken apart."""
    for document in source.documents:
        yield from _unpacked(Doc(document.file, document.data, source=document))


def may_hold(source: Source, sorts: Collection[str]) -> bool:
    """Whether a file holds a document of some ``sorts``, or may hold one in a part that is not YAML."""
    if any(item.what in sorts for item in items(source)):
        return True
    unread = {fault.document for fault in source.faults} - {one.index for one in source.documents}
    if not unread:
        return False
    names = OURS if "cr" in sorts else (f"{PROFILE_GROUP}/v",)
    lines = (line for line in source.text.splitlines() if not line.lstrip().startswith("#"))
    return any(name in line for line in lines for name in names)


def mentions_ours(text: str) -> bool:
    """Whether a text names an apiVersion of ours, so that a fault in it is worth a finding."""
    return any(name in text for name in OURS)


def is_helm_template(text: str) -> bool:
    """Whether a text that is not YAML looks like a template of Helm."""
    return "{{" in text and any(
        mark in text for mark in (".Values", ".Release", ".Chart", "{{-", "{{ include")
    )


def _unpacked(doc: Doc) -> Iterator[Item]:
    data = doc.data
    if isinstance(data, dict) and isinstance(data.get("items"), list) and _is_list(data):
        for index, entry in enumerate(data["items"]):
            inner = split(_entry(root(doc), Cursor(doc, ("items", index), entry)), doc.name)
            yield from _unpacked(inner) if _is_list(entry) else (classified(inner),)
    else:
        yield classified(doc)


def _entry(listed: Cursor, entry: Cursor) -> Any:
    """An entry of a List; what it lacks of apiVersion and kind is that of a ``…List`` of one kind."""
    kind = str(listed["kind"].value).removesuffix("List")
    lacks = isinstance(entry.value, dict) and not (
        entry.get("apiVersion").exists and entry.get("kind").exists
    )
    if not kind or not lacks:
        return copied(entry)
    given = {
        "apiVersion": at(listed["apiVersion"], listed["apiVersion"].value),
        "kind": at(listed["kind"], kind),
    }
    return at(entry, {**given, **entry.fields()})


def _is_list(data: Any) -> bool:
    if not isinstance(data, dict):
        return False
    kind = data.get("kind")
    return isinstance(kind, str) and kind.endswith("List") and isinstance(data.get("apiVersion"), str)


def classified(doc: Doc) -> Item:
    """The document with what it is."""
    data = doc.data
    if not isinstance(data, dict):
        return Item("other", doc, "not a mapping")
    version, kind = data.get("apiVersion"), data.get("kind")
    if kind in KIND_NAMES and _lacks_group(version):
        return Item("cr", doc)
    if not isinstance(version, str):
        return Item("other", doc, "no apiVersion")
    group = version.partition("/")[0]  # a group without a version is a mistake that the schemas name
    if group == PROFILE_GROUP:
        return Item(PROFILE_KINDS.get(kind if isinstance(kind, str) else "", "podplan"), doc)
    family = find_family(version)
    if family is not None and not _is_unchecked(family, kind):
        return Item("cr", doc)
    if isinstance(kind, str) and (version, kind) in OBJECT_KINDS:
        return Item("object", doc)
    return Item("other", doc, f"{kind} ({version})" if isinstance(kind, str) else "no kind")


def _lacks_group(api_version: object) -> bool:
    """Whether an apiVersion is missing, or has a group that is probably a misspelt one of ours."""
    if not isinstance(api_version, str):
        return api_version is None
    group = api_version.partition("/")[0]
    groups = [family.group for family in FAMILIES]
    return group not in groups and nearest(group, groups) != ""


def _is_unchecked(family: Family, kind: object) -> bool:
    """Whether ``kind``, or the kind in its List, belongs to the group and is no job."""
    return isinstance(kind, str) and kind.removesuffix("List") in family.unchecked


def identity(data: Mapping[str, Any]) -> dict[str, Any]:
    """apiVersion, kind, name and namespace of an object, None for what it lacks."""
    metadata = data.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return {
        "apiVersion": data.get("apiVersion"),
        "kind": data.get("kind"),
        "name": metadata.get("name"),
        "namespace": metadata.get("namespace"),
    }
