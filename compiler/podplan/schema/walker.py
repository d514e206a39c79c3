"""Decides about validity by walking value and schema, for the few documents of a short run.

Loading and building a validator costs as much as fifty walks; for more documents the validator is faster. If
the two could differ, the walker leaves the decision to the validator.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache

from podplan.core.typing import Any
from podplan.kubernetes.accessors import PYTHON_TYPES

Schema = Mapping[str, Any]

_MAX_INTEGER = 2**53  # beyond it, JSON parsers differ
_MAX_TEXT_LENGTH = 10_000  # longer texts are matched by an engine that takes linear time
_PATTERN_END = re.compile(r"(?<!\\)\$")
_OTHER_TYPES = (bool, list, type(None))


class _Undecided(Exception):
    """Raised for a keyword or a value that the walker does not support."""


def decide_validity(schema: Schema, data: Any) -> bool | None:
    """Whether ``data`` fits the self-contained ``schema``; None if the validator has to decide."""
    try:
        return _is_valid(schema, data, schema)
    except (_Undecided, RecursionError):
        return None


def _is_valid(schema: Any, value: Any, root: Schema) -> bool:
    if isinstance(schema, bool):
        return schema
    _require_json(value)
    return all(
        _KEYWORDS[keyword](expected, value, schema, root) if keyword in _KEYWORDS else _is_annotation(keyword)
        for keyword, expected in schema.items()
    )


def _require_json(value: Any) -> None:
    """Raise _Undecided for values that JSON does not have, or that its parsers read differently."""
    value_type = type(value)
    if value_type is str:
        is_decidable = len(value) <= _MAX_TEXT_LENGTH and (
            value.isascii() or not any(map(_is_surrogate, value))
        )
    elif value_type is dict:
        is_decidable = all(type(key) is str for key in value)
    elif value_type is int or value_type is float:
        is_decidable = -_MAX_INTEGER <= value <= _MAX_INTEGER
    else:
        is_decidable = value_type in _OTHER_TYPES
    if not is_decidable:
        raise _Undecided


def _is_surrogate(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"


# Keywords without effect on validity.
_ANNOTATION_KEYWORDS = frozenset(
    {
        *("$schema", "$defs", "title", "description", "default", "examples", "deprecated", "format"),
        *("then", "else", "patternErrorMessage", "errorMessage", "x-podplan-kubernetes"),
    }
)


def _is_annotation(keyword: str) -> bool:
    if keyword not in _ANNOTATION_KEYWORDS:
        raise _Undecided
    return True


def _matches_type(expected: Any, value: Any, _schema: Schema, _root: Schema) -> bool:
    value_type = int if type(value) is float and value.is_integer() else type(value)
    return any(
        value_type in PYTHON_TYPES[name] for name in ([expected] if isinstance(expected, str) else expected)
    )


def _is_equal(expected: Any, value: Any) -> bool:
    if isinstance(expected, dict | list) or isinstance(value, float):
        raise _Undecided
    return type(value) is type(expected) and bool(value == expected)


def _matches_properties(expected: Any, value: Any, _schema: Schema, root: Schema) -> bool:
    return not isinstance(value, dict) or all(
        _is_valid(expected[key], below, root) for key, below in value.items() if key in expected
    )


def _matches_additional(expected: Any, value: Any, schema: Schema, root: Schema) -> bool:
    named = schema.get("properties", ())
    return not isinstance(value, dict) or all(
        _is_valid(expected, below, root) for key, below in value.items() if key not in named
    )


def _matches_property_names(expected: Any, value: Any, _schema: Schema, root: Schema) -> bool:
    return not isinstance(value, dict) or all(_is_valid(expected, key, root) for key in value)


def _has_required(expected: Any, value: Any, _schema: Schema, _root: Schema) -> bool:
    return not isinstance(value, dict) or all(key in value for key in expected)


def _matches_dependent(expected: Any, value: Any, _schema: Schema, root: Schema) -> bool:
    return not isinstance(value, dict) or all(
        _is_valid(below, value, root) for key, below in expected.items() if key in value
    )


def _matches_items(expected: Any, value: Any, _schema: Schema, root: Schema) -> bool:
    return not isinstance(value, list) or all(_is_valid(expected, entry, root) for entry in value)


def _matches_pattern(expected: Any, value: Any, _schema: Schema, _root: Schema) -> bool:
    if not isinstance(value, str):
        return True
    if not value.isascii():
        raise _Undecided
    return _compile_pattern(expected).search(value) is not None


@cache
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern as JSON Schema means it: in Python, ``$`` also matches before a last line break."""
    return re.compile(_PATTERN_END.sub(r"\\Z", pattern), re.ASCII)


def _matches_reference(expected: Any, value: Any, _schema: Schema, root: Schema) -> bool:
    return _is_valid(root["$defs"][expected.removeprefix("#/$defs/")], value, root)


def _matches_condition(expected: Any, value: Any, schema: Schema, root: Schema) -> bool:
    return _is_valid(schema.get("then" if _is_valid(expected, value, root) else "else", True), value, root)


def _build_comparison(
    value_types: type | tuple[type, ...], compare: Callable[[Any, Any], bool]
) -> Callable[..., bool]:
    """Build a keyword that compares values of some types, and accepts all others."""
    return lambda wanted, value, _schema, _root: not isinstance(value, value_types) or compare(value, wanted)


_KEYWORDS: dict[str, Callable[[Any, Any, Schema, Schema], bool]] = {
    "type": _matches_type,
    "const": lambda wanted, value, _schema, _root: _is_equal(wanted, value),
    "enum": lambda wanted, value, _schema, _root: any(_is_equal(one, value) for one in wanted),
    "properties": _matches_properties,
    "additionalProperties": _matches_additional,
    "propertyNames": _matches_property_names,
    "required": _has_required,
    "dependentSchemas": _matches_dependent,
    "items": _matches_items,
    "pattern": _matches_pattern,
    "$ref": _matches_reference,
    "if": _matches_condition,
    "not": lambda wanted, value, _schema, root: not _is_valid(wanted, value, root),
    "allOf": lambda wanted, value, _schema, root: all(_is_valid(one, value, root) for one in wanted),
    "anyOf": lambda wanted, value, _schema, root: any(_is_valid(one, value, root) for one in wanted),
    "oneOf": lambda wanted, value, _schema, root: sum(_is_valid(one, value, root) for one in wanted) == 1,
    "minimum": _build_comparison(
        (int, float), lambda value, bound: isinstance(value, bool) or value >= bound
    ),
    "maximum": _build_comparison(
        (int, float), lambda value, bound: isinstance(value, bool) or value <= bound
    ),
    "minLength": _build_comparison(str, lambda value, bound: len(value) >= bound),
    "maxLength": _build_comparison(str, lambda value, bound: len(value) <= bound),
    "minItems": _build_comparison(list, lambda value, bound: len(value) >= bound),
    "maxItems": _build_comparison(list, lambda value, bound: len(value) <= bound),
    "minProperties": _build_comparison(dict, lambda value, bound: len(value) >= bound),
    "maxProperties": _build_comparison(dict, lambda value, bound: len(value) <= bound),
}
