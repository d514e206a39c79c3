"""The verdict of a JSON Schema by walking value and schema, for the few documents of a short run.

Loading and building a validator costs as much as fifty walks; beyond some documents the validator is the
faster. Where the two could differ, the walk leaves the verdict to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache

from podplan.core.typing import Any
from podplan.kubernetes.accessors import TYPES

Schema = Mapping[str, Any]

_LARGEST = 2**53  # beyond it, readers of JSON differ
_LONGEST = 10_000  # beyond it, patterns are for an engine that is linear in time
_END = re.compile(r"(?<!\\)\$")
_OTHERS = (bool, list, type(None))


class _Undecided(Exception):
    """A keyword or a value that the walk does not know."""


def verdict(schema: Schema, data: Any) -> bool | None:
    """Whether ``data`` satisfies the self-contained ``schema``; None where the validator has to be asked."""
    try:
        return _is_valid(schema, data, schema)
    except (_Undecided, RecursionError):
        return None


def _is_valid(schema: Any, value: Any, root: Schema) -> bool:
    if isinstance(schema, bool):
        return schema
    _demand_json(value)
    return all(
        _KEYWORDS[keyword](wanted, value, schema, root) if keyword in _KEYWORDS else _is_idle(keyword)
        for keyword, wanted in schema.items()
    )


def _demand_json(value: Any) -> None:
    """Raises _Undecided for what JSON does not hold, and for what its readers differ in."""
    kind = type(value)
    if kind is str:
        known = len(value) <= _LONGEST and (value.isascii() or not any(map(_is_surrogate, value)))
    elif kind is dict:
        known = all(type(key) is str for key in value)
    elif kind is int or kind is float:
        known = -_LARGEST <= value <= _LARGEST
    else:
        known = kind in _OTHERS
    if not known:
        raise _Undecided


def _is_surrogate(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"


# What says nothing by itself.
_IDLE = frozenset(
    {
        *("$schema", "$defs", "title", "description", "default", "examples", "deprecated", "format"),
        *("then", "else", "patternErrorMessage", "errorMessage", "x-podplan-kubernetes"),
    }
)


def _is_idle(keyword: str) -> bool:
    if keyword not in _IDLE:
        raise _Undecided
    return True


def _type(wanted: Any, value: Any, _schema: Schema, _root: Schema) -> bool:
    kind = int if type(value) is float and value.is_integer() else type(value)
    return any(kind in TYPES[name] for name in ([wanted] if isinstance(wanted, str) else wanted))


def _equal(wanted: Any, value: Any) -> bool:
    if isinstance(wanted, dict | list) or isinstance(value, float):
        raise _Undecided
    return type(value) is type(wanted) and bool(value == wanted)


def _properties(wanted: Any, value: Any, _schema: Schema, root: Schema) -> bool:
    return not isinstance(value, dict) or all(
        _is_valid(wanted[key], below, root) for key, below in value.items() if key in wanted
    )


def _additional(wanted: Any, value: Any, schema: Schema, root: Schema) -> bool:
    named = schema.get("properties", ())
    return not isinstance(value, dict) or all(
        _is_valid(wanted, below, root) for key, below in value.items() if key not in named
    )


def _names(wanted: Any, value: Any, _schema: Schema, root: Schema) -> bool:
    return not isinstance(value, dict) or all(_is_valid(wanted, key, root) for key in value)


def _required(wanted: Any, value: Any, _schema: Schema, _root: Schema) -> bool:
    return not isinstance(value, dict) or all(key in value for key in wanted)


def _dependent(wanted: Any, value: Any, _schema: Schema, root: Schema) -> bool:
    return not isinstance(value, dict) or all(
        _is_valid(below, value, root) for key, below in wanted.items() if key in value
    )


def _items(wanted: Any, value: Any, _schema: Schema, root: Schema) -> bool:
    return not isinstance(value, list) or all(_is_valid(wanted, entry, root) for entry in value)


def _pattern(wanted: Any, value: Any, _schema: Schema, _root: Schema) -> bool:
    if not isinstance(value, str):
        return True
    if not value.isascii():
        raise _Undecided
    return _compiled(wanted).search(value) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern as JSON Schema means it: in Python, ``$`` is also the place before a last line break."""
    return re.compile(_END.sub(r"\\Z", pattern), re.ASCII)


def _referred(wanted: Any, value: Any, _schema: Schema, root: Schema) -> bool:
    return _is_valid(root["$defs"][wanted.removeprefix("#/$defs/")], value, root)


def _if(wanted: Any, value: Any, schema: Schema, root: Schema) -> bool:
    return _is_valid(schema.get("then" if _is_valid(wanted, value, root) else "else", True), value, root)


def _bound(kinds: type | tuple[type, ...], holds: Callable[[Any, Any], bool]) -> Callable[..., bool]:
    """A keyword that compares values of some types, and lets all others be."""
    return lambda wanted, value, _schema, _root: not isinstance(value, kinds) or holds(value, wanted)


_KEYWORDS: dict[str, Callable[[Any, Any, Schema, Schema], bool]] = {
    "type": _type,
    "const": lambda wanted, value, _schema, _root: _equal(wanted, value),
    "enum": lambda wanted, value, _schema, _root: any(_equal(one, value) for one in wanted),
    "properties": _properties,
    "additionalProperties": _additional,
    "propertyNames": _names,
    "required": _required,
    "dependentSchemas": _dependent,
    "items": _items,
    "pattern": _pattern,
    "$ref": _referred,
    "if": _if,
    "not": lambda wanted, value, _schema, root: not _is_valid(wanted, value, root),
    "allOf": lambda wanted, value, _schema, root: all(_is_valid(one, value, root) for one in wanted),
    "anyOf": lambda wanted, value, _schema, root: any(_is_valid(one, value, root) for one in wanted),
    "oneOf": lambda wanted, value, _schema, root: sum(_is_valid(one, value, root) for one in wanted) == 1,
    "minimum": _bound((int, float), lambda value, bound: isinstance(value, bool) or value >= bound),
    "maximum": _bound((int, float), lambda value, bound: isinstance(value, bool) or value <= bound),
    "minLength": _bound(str, lambda value, bound: len(value) >= bound),
    "maxLength": _bound(str, lambda value, bound: len(value) <= bound),
    "minItems": _bound(list, lambda value, bound: len(value) >= bound),
    "maxItems": _bound(list, lambda value, bound: len(value) <= bound),
    "minProperties": _bound(dict, lambda value, bound: len(value) >= bound),
    "maxProperties": _bound(dict, lambda value, bound: len(value) <= bound),
}
