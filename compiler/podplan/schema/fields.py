"""Queries on a JSON Schema along a path: allowed fields, their descriptions, their values.

Conditions are not evaluated: a field of any branch is a field. The conditions themselves are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from podplan.core.typing import Any

Schema = Mapping[str, Any]
_COMBINING = ("allOf", "anyOf", "oneOf", "then", "else")
# The least and the greatest int32 and int64, by which a schema states the type and no limit.
TYPE_LIMITS = (-(2**31), 2**31 - 1, -(2**63), 2**63 - 1)


def find_schemas_at(root_schema: Schema, steps: Iterable[str | int]) -> list[Schema]:
    """Return the schemas of the value at a path, empty if there is no such field; indexes are skipped."""
    schemas: list[Schema] = [root_schema]
    for step in steps:
        if isinstance(step, str):
            schemas = [found for part in schemas for found in _find_child_schemas(part, step, root_schema)]
    return schemas


def collect_fields(schemas: Iterable[Schema], root_schema: Schema) -> dict[str, Schema]:
    """Return the fields of a mapping, or of an entry of a list, by name."""
    fields_by_name: dict[str, Schema] = {}
    for part in schemas:
        for schema_part in _iter_parts(part, root_schema):
            for key, schema in schema_part.get("properties", {}).items():
                if key not in fields_by_name or not find_description([fields_by_name[key]], root_schema):
                    fields_by_name[key] = schema
    return fields_by_name


def find_description(schemas: Iterable[Schema], root_schema: Schema) -> str:
    """Return the description of a field, or ""."""
    descriptions = (
        inner.get("description")
        for part in schemas
        for inner in _iter_parts(part, root_schema, include_entries=False)
    )
    return next((str(text) for text in descriptions if text), "")


def collect_types(schemas: Iterable[Schema], root_schema: Schema) -> list[str]:
    """Return the JSON types of a value, without null."""
    type_names: dict[str, None] = {}
    for part in schemas:
        for inner in _iter_parts(part, root_schema, include_entries=False):
            declared_types = inner.get("type", ())
            type_names |= dict.fromkeys(
                [declared_types] if isinstance(declared_types, str) else declared_types
            )
            type_names |= {"string": None} if "enum" in inner and "type" not in inner else {}
    return [name for name in type_names if name != "null"]


def collect_choices(schemas: Iterable[Schema], root_schema: Schema) -> list[Any]:
    """Return the choices of a scalar, or of the entries of a list; empty if any value is allowed."""
    values: list[Any] = []
    for part in schemas:
        for inner in _iter_parts(part, root_schema):
            values += inner.get("enum", ())
            values += [inner["const"]] if "const" in inner else []
            values += [True, False] if inner.get("type") == "boolean" else []
    return [value for number, value in enumerate(values) if value not in (None, "", *values[:number])]


def collect_extra_words(schemas: Iterable[Schema], root_schema: Schema) -> list[Any]:
    """Return the words that a value may be besides its schema: an ``if`` with only an ``else``."""
    extra_words: list[Any] = []
    for part in schemas:
        for inner in _iter_parts(part, root_schema, include_entries=False):
            if "else" in inner and "then" not in inner and isinstance(inner.get("if"), dict):
                extra_words += inner["if"].get("enum", ())
    return [
        word
        for number, word in enumerate(extra_words)
        if word is not None and word not in extra_words[:number]
    ]


def collect_bounds(schemas: Iterable[Schema], root_schema: Schema) -> dict[str, Any]:
    """Return ``default``, ``minimum`` and ``maximum``, as far as they are stated."""
    bounds_by_key: dict[str, Any] = {}
    for part in schemas:
        for inner in _iter_parts(part, root_schema, include_entries=False):
            for key in ("default", "minimum", "maximum"):
                if key in inner:
                    bounds_by_key.setdefault(key, inner[key])
    return bounds_by_key


def _find_child_schemas(part: Schema, step: str, root_schema: Schema) -> list[Schema]:
    schema_parts = list(_iter_parts(part, root_schema))
    field_schemas = [one["properties"][step] for one in schema_parts if step in one.get("properties", {})]
    return field_schemas or [
        one["additionalProperties"]
        for one in schema_parts
        if isinstance(one.get("additionalProperties"), dict)
    ]


def _iter_parts(
    part: Any, root_schema: Schema, include_entries: bool = True, seen: frozenset[str] = frozenset()
) -> Iterator[Schema]:
    """Yield a schema with the ones that it refers to and combines, and with those of the entries of a
    list."""
    if not isinstance(part, dict):
        return
    yield part
    reference = part.get("$ref")
    if isinstance(reference, str) and reference not in seen:
        yield from _iter_parts(
            _resolve_reference(reference, root_schema), root_schema, include_entries, seen | {reference}
        )
    for key in _COMBINING:
        inner = part.get(key)
        for subschema in inner if isinstance(inner, list) else [inner]:
            yield from _iter_parts(subschema, root_schema, include_entries, seen)
    if include_entries:
        yield from _iter_parts(part.get("items"), root_schema, include_entries, seen)


def _resolve_reference(reference: str, root_schema: Schema) -> Any:
    node: Any = root_schema
    for step in reference.removeprefix("#/").split("/"):
        node = node.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(node, dict) else None
    return node
