"""The canonical order of the fields of profiles and inventories: that of their schemas.

Names that somebody chose keep the order in which they are written, and so does what Kubernetes defines.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.typing import Any
from podplan.schema.bundling import file
from podplan.yaml.tree import Leaf, Tree

Schema = dict[str, Any]

_HERE = "#/$defs/"
_MERGE_KEY = "<<"


def ordered(tree: Tree, name: str) -> Tree:
    """The root of a document with its fields in the order of the schema ``name``."""
    schema = file(name)
    return _ordered(tree, schema, schema["$defs"])


def _ordered(tree: Tree, schema: Any, definitions: Schema) -> Tree:
    forms = list(_forms(schema, definitions))
    entries = tuple(
        leaf._replace(value=_ordered(leaf.value, _below(leaf, forms), definitions))
        if leaf.value.entries
        else leaf
        for leaf in tree.entries
    )
    if tree.what != "map" or _is_bound(entries):
        return tree._replace(entries=entries)
    names = list(dict.fromkeys(field for form in forms for field in form.get("properties", ())))
    rank = {_MERGE_KEY: -1} | {field: index for index, field in enumerate(names)}
    known = sorted(entries, key=lambda leaf: rank.get(_name(leaf), len(rank))) if names else entries
    return tree._replace(entries=tuple(known))


def _forms(schema: Any, definitions: Schema) -> Iterator[Schema]:
    """A schema and all that it may stand for."""
    if not isinstance(schema, dict):
        return
    yield schema
    reference = schema.get("$ref", "")
    if reference.startswith(_HERE):
        yield from _forms(definitions[reference.removeprefix(_HERE)], definitions)
    for keyword in ("then", "else"):
        yield from _forms(schema.get(keyword), definitions)
    for keyword in ("allOf", "anyOf", "oneOf"):
        for form in schema.get(keyword, ()):
            yield from _forms(form, definitions)


def _below(leaf: Leaf, forms: list[Schema]) -> Schema:
    """The schema of an entry, {} where there is none."""
    if leaf.key is None:
        return {"anyOf": [form["items"] for form in forms if "items" in form]}
    name = _name(leaf)
    named = [form["properties"][name] for form in forms if name in form.get("properties", ())]
    return {
        "anyOf": named or [form["additionalProperties"] for form in forms if "additionalProperties" in form]
    }


def _name(leaf: Leaf) -> str:
    return leaf.key.value if leaf.key is not None else ""


def _is_bound(entries: tuple[Leaf, ...]) -> bool:
    """Whether an alias in one entry stands for an anchor in another, which has to come first."""
    homes: dict[str, set[int]] = {}
    for index, entry in enumerate(entries):
        for name in _anchors(entry.value):
            homes.setdefault(name, set()).add(index)
    return any(
        homes.get(name, set()) - {index}
        for index, entry in enumerate(entries if homes else ())
        for name in _aliases(entry)
    )


def _anchors(tree: Tree) -> Iterator[str]:
    yield from (word[1:] for word in tree.prefix.split() if word.startswith("&"))
    for leaf in tree.entries:
        if leaf.key is not None:
            yield from _anchors(leaf.key)
        yield from _anchors(leaf.value)


def _aliases(leaf: Leaf) -> Iterator[str]:
    for tree in (leaf.key, leaf.value):
        if tree is not None and tree.what == "alias":
            yield tree.value
    for below in leaf.value.entries:
        yield from _aliases(below)
