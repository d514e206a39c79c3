"""The canonical order of the fields of profiles and inventories: that of their schemas.

User-defined names keep their order, and so do fields that Kubernetes defines.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.typing import Any
from podplan.schema.bundling import load_schema_file
from podplan.yaml.tree import CstEntry, CstNode

Schema = dict[str, Any]

_DEFINITIONS_PREFIX = "#/$defs/"
_MERGE_KEY = "<<"


def order_fields(tree: CstNode, name: str) -> CstNode:
    """Return the root of a document with its fields in the order of the schema ``name``."""
    schema = load_schema_file(name)
    return _order_tree(tree, schema, schema["$defs"])


def _order_tree(tree: CstNode, schema: Any, definitions: Schema) -> CstNode:
    schema_forms = list(_iter_schema_forms(schema, definitions))
    entries = tuple(
        leaf._replace(value=_order_tree(leaf.value, _find_entry_schema(leaf, schema_forms), definitions))
        if leaf.value.entries
        else leaf
        for leaf in tree.entries
    )
    if tree.node_type != "map" or _has_bound_alias(entries):
        return tree._replace(entries=entries)
    names = list(dict.fromkeys(field for form in schema_forms for field in form.get("properties", ())))
    rank = {_MERGE_KEY: -1} | {field: index for index, field in enumerate(names)}
    sorted_entries = (
        sorted(entries, key=lambda leaf: rank.get(_get_key_name(leaf), len(rank))) if names else entries
    )
    return tree._replace(entries=tuple(sorted_entries))


def _iter_schema_forms(schema: Any, definitions: Schema) -> Iterator[Schema]:
    """Yield a schema and its alternatives, with references followed."""
    if not isinstance(schema, dict):
        return
    yield schema
    reference = schema.get("$ref", "")
    if reference.startswith(_DEFINITIONS_PREFIX):
        yield from _iter_schema_forms(definitions[reference.removeprefix(_DEFINITIONS_PREFIX)], definitions)
    for keyword in ("then", "else"):
        yield from _iter_schema_forms(schema.get(keyword), definitions)
    for keyword in ("allOf", "anyOf", "oneOf"):
        for form in schema.get(keyword, ()):
            yield from _iter_schema_forms(form, definitions)


def _find_entry_schema(leaf: CstEntry, schema_forms: list[Schema]) -> Schema:
    """Return the schema of an entry, or {}."""
    if leaf.key is None:
        return {"anyOf": [form["items"] for form in schema_forms if "items" in form]}
    name = _get_key_name(leaf)
    property_schemas = [
        form["properties"][name] for form in schema_forms if name in form.get("properties", ())
    ]
    return {
        "anyOf": property_schemas
        or [form["additionalProperties"] for form in schema_forms if "additionalProperties" in form]
    }


def _get_key_name(leaf: CstEntry) -> str:
    return leaf.key.value if leaf.key is not None else ""


def _has_bound_alias(entries: tuple[CstEntry, ...]) -> bool:
    """Whether an alias in one entry refers to an anchor in another, which must come first."""
    entries_by_anchor: dict[str, set[int]] = {}
    for index, entry in enumerate(entries):
        for name in _iter_anchors(entry.value):
            entries_by_anchor.setdefault(name, set()).add(index)
    return any(
        entries_by_anchor.get(name, set()) - {index}
        for index, entry in enumerate(entries if entries_by_anchor else ())
        for name in _iter_aliases(entry)
    )


def _iter_anchors(tree: CstNode) -> Iterator[str]:
    yield from (word[1:] for word in tree.prefix.split() if word.startswith("&"))
    for leaf in tree.entries:
        if leaf.key is not None:
            yield from _iter_anchors(leaf.key)
        yield from _iter_anchors(leaf.value)


def _iter_aliases(leaf: CstEntry) -> Iterator[str]:
    for tree in (leaf.key, leaf.value):
        if tree is not None and tree.node_type == "alias":
            yield tree.value
    for below in leaf.value.entries:
        yield from _iter_aliases(below)
