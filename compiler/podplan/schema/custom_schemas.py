"""JSON Schemas that come with a repository, as in its policies: nothing is fetched, nothing ignored."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote

from podplan.core.findings import Path
from podplan.core.suggestions import did_you_mean
from podplan.core.typing import Any, NoReturn

_ONE_BELOW = frozenset(
    {
        *("items", "additionalProperties", "not", "propertyNames", "contains", "if", "then", "else"),
        *("unevaluatedItems", "unevaluatedProperties"),
    }
)
_LIST_BELOW = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_MAP_BELOW = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})
_PLAIN = frozenset(
    {
        *("type", "enum", "const", "default", "title", "description", "examples", "deprecated", "required"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "dependentRequired"),
        *("pattern", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "minProperties"),
        *("maxProperties", "minContains", "maxContains", "$ref", "$comment"),
    }
)
KEYWORDS = _ONE_BELOW | _LIST_BELOW | _MAP_BELOW | _PLAIN


class Unusable(Exception):
    """A schema that says nothing, or what cannot be asked; ``path`` leads to the place in it."""

    def __init__(self, message: str, path: Path) -> None:
        super().__init__(message)
        self.message, self.path = message, path


def validator(schema: Any) -> Any:
    """A jsonschema_rs validator (2020-12) of a schema. Raises Unusable.

    Its references lead nowhere but into itself, and its patterns take linear time.
    """
    import jsonschema_rs

    def refuse(uri: str) -> NoReturn:
        raise ValueError(uri)

    for path, keyword in _strange(schema, ()):
        raise Unusable(f'unknown keyword "{keyword}"{did_you_mean(keyword, KEYWORDS)}', path)
    for path, reference in _references(schema, ()):
        if not reference.startswith("#"):
            raise Unusable(f'"{reference}" is not in this schema; write what it says below $defs', path)
    try:
        made = jsonschema_rs.Draft202012Validator(
            schema, pattern_options=jsonschema_rs.RegexOptions(), retriever=refuse
        )
    except jsonschema_rs.ValidationError as error:
        raise Unusable(error.message.splitlines()[0], tuple(error.instance_path)) from None
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise Unusable(str(error).splitlines()[0], ()) from None
    known = {id(one) for one in _schemas(schema)}
    for path, reference in _references(schema, ()):
        if id(target(schema, reference)) not in known:
            raise Unusable(f'"{reference}" leads to no schema; write what it says below $defs', path)
    return made


def target(schema: Any, reference: str) -> Any:
    """What ``#`` or ``#/$defs/name`` leads to in a schema, None where that is nothing (RFC 6901)."""
    before, *parts = unquote(reference).split("/")
    found = schema if before == "#" else None
    for part in parts:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(name)
        elif isinstance(found, list) and name.isascii() and name.isdigit() and len(name) < 8:
            found = found[int(name)] if int(name) < len(found) else None
        else:
            return None
    return found


def _schemas(schema: Any) -> Iterator[Any]:
    """A schema and all below it."""
    yield schema
    if isinstance(schema, dict):
        for _, one in _below(schema, ()):
            yield from _schemas(one)


def _below(schema: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """The schemas right below one."""
    for key, value in schema.items():
        if key in _ONE_BELOW:
            yield (*path, key), value
        elif key in _LIST_BELOW and isinstance(value, list):
            yield from (((*path, key, index), one) for index, one in enumerate(value))
        elif key in _MAP_BELOW and isinstance(value, dict):
            yield from (((*path, key, name), one) for name, one in value.items())


def _strange(schema: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """The keywords that nothing knows: they would be ignored, and so pass everything."""
    if isinstance(schema, dict):
        yield from (((*path, key), key) for key in schema if key not in KEYWORDS)
        for where, one in _below(schema, path):
            yield from _strange(one, where)


def _references(schema: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield (*path, "$ref"), schema["$ref"]
        for where, one in _below(schema, path):
            yield from _references(one, where)
