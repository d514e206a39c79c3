"""JSON Schemas from a repository, as in its policies: nothing is fetched, and unknown keywords are errors."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote

from podplan.core.findings import Path
from podplan.core.suggestions import suggest_phrase
from podplan.core.typing import Any, NoReturn

_SCHEMA_KEYWORDS = frozenset(
    {
        *("items", "additionalProperties", "not", "propertyNames", "contains", "if", "then", "else"),
        *("unevaluatedItems", "unevaluatedProperties"),
    }
)
_SCHEMA_LIST_KEYWORDS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SCHEMA_MAP_KEYWORDS = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})
_PLAIN_KEYWORDS = frozenset(
    {
        *("type", "enum", "const", "default", "title", "description", "examples", "deprecated", "required"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "dependentRequired"),
        *("pattern", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "minProperties"),
        *("maxProperties", "minContains", "maxContains", "$ref", "$comment"),
    }
)
KEYWORDS = _SCHEMA_KEYWORDS | _SCHEMA_LIST_KEYWORDS | _SCHEMA_MAP_KEYWORDS | _PLAIN_KEYWORDS


class UnusableSchema(Exception):
    """An invalid schema; ``path`` leads to the place in it."""

    def __init__(self, message: str, path: Path) -> None:
        super().__init__(message)
        self.message, self.path = message, path


def build_validator(schema: Any) -> Any:
    """Return a jsonschema_rs validator (2020-12) of a schema. Raises UnusableSchema: if the schema is
    invalid.

    References may only lead into the schema itself, and patterns take linear time.
    """
    import jsonschema_rs

    def refuse(uri: str) -> NoReturn:
        raise ValueError(uri)

    for path, keyword in _iter_unknown_keywords(schema, ()):
        raise UnusableSchema(f'unknown keyword "{keyword}"{suggest_phrase(keyword, KEYWORDS)}', path)
    for path, reference in _iter_references(schema, ()):
        if not reference.startswith("#"):
            raise UnusableSchema(f'"{reference}" is not in this schema; define it below $defs', path)
    try:
        compiled = jsonschema_rs.Draft202012Validator(
            schema, pattern_options=jsonschema_rs.RegexOptions(), retriever=refuse
        )
    except jsonschema_rs.ValidationError as error:
        raise UnusableSchema(error.message.splitlines()[0], tuple(error.instance_path)) from None
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise UnusableSchema(str(error).splitlines()[0], ()) from None
    schema_ids = {id(one) for one in _iter_subschemas(schema)}
    for path, reference in _iter_references(schema, ()):
        if id(find_reference_target(schema, reference)) not in schema_ids:
            raise UnusableSchema(f'"{reference}" does not refer to a schema; define it below $defs', path)
    return compiled


def find_reference_target(schema: Any, reference: str) -> Any:
    """Return the target of ``#`` or ``#/$defs/name`` in a schema (RFC 6901), None if it does not exist."""
    fragment, *parts = unquote(reference).split("/")
    node = schema if fragment == "#" else None
    for part in parts:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict):
            node = node.get(name)
        elif isinstance(node, list) and name.isascii() and name.isdigit() and len(name) < 8:
            node = node[int(name)] if int(name) < len(node) else None
        else:
            return None
    return node


def _iter_subschemas(schema: Any) -> Iterator[Any]:
    """Yield a schema and all schemas below it."""
    yield schema
    if isinstance(schema, dict):
        for _, subschema in _iter_children(schema, ()):
            yield from _iter_subschemas(subschema)


def _iter_children(schema: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield the schemas directly below one."""
    for key, value in schema.items():
        if key in _SCHEMA_KEYWORDS:
            yield (*path, key), value
        elif key in _SCHEMA_LIST_KEYWORDS and isinstance(value, list):
            yield from (((*path, key, index), one) for index, one in enumerate(value))
        elif key in _SCHEMA_MAP_KEYWORDS and isinstance(value, dict):
            yield from (((*path, key, name), one) for name, one in value.items())


def _iter_unknown_keywords(schema: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the unknown keywords: a validator would ignore them, and accept everything."""
    if isinstance(schema, dict):
        yield from (((*path, key), key) for key in schema if key not in KEYWORDS)
        for child_path, child in _iter_children(schema, path):
            yield from _iter_unknown_keywords(child, child_path)


def _iter_references(schema: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield (*path, "$ref"), schema["$ref"]
        for child_path, child in _iter_children(schema, path):
            yield from _iter_references(child, child_path)
