"""Where a profile has a value that the declaration of a param says is a number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.typing import Any
from podplan.kubernetes.accessors import mapping

_NUMBERS = frozenset({"number", "integer"})
# Keywords of a declaration that hold a number, and those that hold a value of the param, or several.
_BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_VALUES = frozenset({"default", "const"})
_MANY = frozenset({"enum", "examples"})


def declared_numbers(spec: Mapping[str, Any], params: Mapping[str, Any]) -> Iterator[Path]:
    """The paths in the ``spec`` of a profile to such values; ``params`` are those that it has or inherits."""
    for name, declared in mapping(spec, "params").items():
        yield from _in_declaration(declared, ("params", name))
    yield from _in_overlay(spec, params, ())
    for name, overlay in mapping(spec, "environments").items():
        path: Path = ("environments", name)
        yield from _in_overlay(overlay, params, path)
        yield from _by_param(mapping(overlay, "values"), params, (*path, "values"))


def _in_declaration(declared: Any, path: Path) -> Iterator[Path]:
    """The numbers in a declaration itself."""
    for key, value in declared.items() if isinstance(declared, dict) else ():
        if key in _BOUNDS:
            yield (*path, key)
        elif key in _VALUES:
            yield from _numbers(declared, value, (*path, key))
        elif key in _MANY and isinstance(value, list):
            for index, entry in enumerate(value):
                yield from _numbers(declared, entry, (*path, key, index))
        elif key == "items":
            yield from _in_declaration(value, (*path, key))
        elif key == "properties" and isinstance(value, dict):
            for name, below in value.items():
                yield from _in_declaration(below, (*path, key, name))


def _in_overlay(overlay: Any, params: Mapping[str, Any], path: Path) -> Iterator[Path]:
    """The numbers in the matrix of a spec or of an environment."""
    matrix = mapping(overlay, "matrix")
    for name, values in mapping(matrix, "axes").items():
        for index, value in enumerate(values if isinstance(values, list) else ()):
            yield from _numbers(params.get(name), value, (*path, "matrix", "axes", name, index))
    for key in ("include", "exclude"):
        listed = matrix.get(key)
        for index, entry in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(entry, dict):
                yield from _by_param(entry, params, (*path, "matrix", key, index))


def _by_param(values: Mapping[str, Any], params: Mapping[str, Any], path: Path) -> Iterator[Path]:
    for name, value in values.items():
        yield from _numbers(params.get(name), value, (*path, name))


def _numbers(declared: Any, value: Any, path: Path) -> Iterator[Path]:
    """The numbers in a value of a param, as far as its declaration says that they are numbers."""
    if not isinstance(declared, dict):
        return
    if isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _numbers(declared.get("items"), entry, (*path, index))
    elif isinstance(value, dict):
        for name, entry in value.items():
            yield from _numbers(mapping(declared, "properties").get(name), entry, (*path, name))
    else:
        types = declared.get("type")
        named = {one for one in (types if isinstance(types, list) else [types]) if isinstance(one, str)}
        if named and named <= _NUMBERS | {"null"} and not named.isdisjoint(_NUMBERS):
            yield path
