"""Finds the values of a profile that must be numbers because a param declares them so, and versions that are
numbers by mistake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Diagnostic, Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_mapping
from podplan.yaml.document import Document

_NUMBER_TYPES = frozenset({"number", "integer"})
# Keywords of a declaration whose value is a number, and those with one or several values of the param.
_BOUND_KEYWORDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_VALUE_KEYWORDS = frozenset({"default", "const"})
_VALUE_LIST_KEYWORDS = frozenset({"enum", "examples"})

_TRAILING_ZERO = compile_lazily(r"\d+\.\d*0")
# Variables whose zeros count: in other numbers the last ones say nothing.
_VERSION_NAME = compile_lazily(
    r"(?:.*_)?(?:VERSION|VER|RELEASE|REVISION|REV|TAG|PYTHON|CUDA|TORCH|PYTORCH)(?:_.*)?"
)


def iter_shortened_versions(source: Document) -> Iterator[Diagnostic]:
    """Yield the versions among the variables of a profile that lose their last zero as numbers: 3.10 is 3.1.

    A variable is text, and a plain 3.10 is a number before that.
    """
    if not _TRAILING_ZERO.search(source.text):
        return
    for node in source.iter_nodes():
        is_variable = len(node.path) > 1 and node.path[-2] == "env" and isinstance(node.value, int | float)
        written = source.text[slice(*node.span)] if is_variable else ""
        if _TRAILING_ZERO.fullmatch(written) and _VERSION_NAME.fullmatch(str(node.path[-1]).upper()):
            number = f"{written} is read as the number {node.value}"
            message = f'{number}; write "{written}" for the string, else {node.value}'
            span = source.span(node.path)
            yield Diagnostic("YAML010", message, span=span, document_index=source.index)


def iter_declared_numbers(spec: Mapping[str, Any], params: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the paths of such values in the ``spec`` of a profile; ``params`` are its own and inherited
    ones."""
    for name, declaration in get_mapping(spec, "params").items():
        yield from _iter_declaration_numbers(declaration, ("params", name))
    yield from _iter_matrix_numbers(spec, params, ())
    for name, overlay in get_mapping(spec, "environments").items():
        path: Path = ("environments", name)
        yield from _iter_matrix_numbers(overlay, params, path)
        yield from _iter_param_numbers(get_mapping(overlay, "values"), params, (*path, "values"))


def _iter_declaration_numbers(declaration: Any, path: Path) -> Iterator[Path]:
    """Yield the paths of numbers in a declaration itself."""
    for key, value in declaration.items() if isinstance(declaration, dict) else ():
        if key in _BOUND_KEYWORDS:
            yield (*path, key)
        elif key in _VALUE_KEYWORDS:
            yield from _iter_value_numbers(declaration, value, (*path, key))
        elif key in _VALUE_LIST_KEYWORDS and isinstance(value, list):
            for index, entry in enumerate(value):
                yield from _iter_value_numbers(declaration, entry, (*path, key, index))
        elif key == "items":
            yield from _iter_declaration_numbers(value, (*path, key))
        elif key == "properties" and isinstance(value, dict):
            for name, below in value.items():
                yield from _iter_declaration_numbers(below, (*path, key, name))


def _iter_matrix_numbers(overlay: Any, params: Mapping[str, Any], path: Path) -> Iterator[Path]:
    """Yield the paths of numbers in the matrix of a spec or of an environment."""
    matrix = get_mapping(overlay, "matrix")
    for name, values in get_mapping(matrix, "axes").items():
        for index, value in enumerate(values if isinstance(values, list) else ()):
            value_path: Path = (*path, "matrix", "axes", name, index)
            if name in params:
                yield from _iter_value_numbers(params[name], value, value_path)
            elif not isinstance(value, str):
                yield value_path  # an expression writes it as the number that it is
    for key in ("include", "exclude"):
        rows = matrix.get(key)
        for index, entry in enumerate(rows if isinstance(rows, list) else ()):
            if isinstance(entry, dict):
                yield from _iter_param_numbers(entry, params, (*path, "matrix", key, index))


def _iter_param_numbers(values: Mapping[str, Any], params: Mapping[str, Any], path: Path) -> Iterator[Path]:
    for name, value in values.items():
        yield from _iter_value_numbers(params.get(name), value, (*path, name))


def _iter_value_numbers(declaration: Any, value: Any, path: Path) -> Iterator[Path]:
    """Yield the paths in a value of a param that its declaration says are numbers."""
    if not isinstance(declaration, dict):
        return
    if isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _iter_value_numbers(declaration.get("items"), entry, (*path, index))
    elif isinstance(value, dict):
        for name, entry in value.items():
            yield from _iter_value_numbers(
                get_mapping(declaration, "properties").get(name), entry, (*path, name)
            )
    else:
        types = declaration.get("type")
        type_names = {one for one in (types if isinstance(types, list) else [types]) if isinstance(one, str)}
        if type_names and type_names <= _NUMBER_TYPES | {"null"} and not type_names.isdisjoint(_NUMBER_TYPES):
            yield path
