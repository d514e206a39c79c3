"""The CEL environment of Kubernetes on top of the evaluator: types, functions, and compiling.

There are two environments. The first checks: it knows Kubernetes' own types and compares numbers across
types. The second runs what the first has checked: there a Quantity is a map (see ``functions``). Needs the
extra ``podplan[cel]``; only ``worker`` imports this module, in a process of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import permutations, product

from cel_expr_python import cel
from cel_expr_python.ext import ext_strings

from podplan.core.typing import Any
from podplan.lint.cel.functions import (
    Overload,
    addresses,
    formats,
    is_tagged,
    lists,
    maps,
    quantities,
    regexes,
    urls,
    versions,
)

CEL_VARIABLES = ("object", "oldObject", "request", "params", "namespaceObject", "variables")
_LIBRARIES = (quantities, addresses, urls, lists, regexes, formats, versions)
_STRINGS_VERSION = 2  # of cel-go's string library, in Kubernetes from 1.29 on
_EXTENDED_FUNCTIONS = frozenset({"indexOf", "lastIndexOf"})  # of texts in CEL, of lists besides in Kubernetes
_CHECKER_TYPES = {
    "any": cel.Type.DYN,
    "optional": cel.Type.DYN,
    "list<string>": cel.Type.List(cel.Type.STRING),
}
# The runtime has no "any": a function is found by the kinds of its arguments.
_RUNTIME_TYPES = {
    "null": cel.Type.NULL,
    "bool": cel.Type.BOOL,
    "int": cel.Type.INT,
    "uint": cel.Type.UINT,
    "double": cel.Type.DOUBLE,
    "string": cel.Type.STRING,
    "bytes": cel.Type.BYTES,
    "list": cel.Type.LIST,
    "map": cel.Type.MAP,
    "duration": cel.Type.DURATION,
    "timestamp": cel.Type.TIMESTAMP,
}
_NUMERIC_TYPES = {"int64": cel.Type.INT, "uint64": cel.Type.UINT, "double": cel.Type.DOUBLE}
_COMPARISON_OPERATORS = {"_<_": "less", "_<=_": "less_equals", "_>_": "greater", "_>=_": "greater_equals"}
_POSITION_PATTERN = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_STATUS_PATTERN = re.compile(r"\A(?:[A-Z_]{4,}: )+|\s*\[[A-Z_]+\]\Z")
_BUDGET_MESSAGE = "Iteration budget exceeded"


class CelError(Exception):
    """An expression that does not compile, or fails; line and column 1-based, 0 where they are not known."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


class BudgetExceeded(Exception):
    """An expression that loops longer than the evaluator allows."""


def check_expression(text: str) -> Any:
    """The expression as the checker understands it; ``return_type().name()`` is its type. Raises CelError."""
    try:
        return _get_checker().compile(text)
    except (RuntimeError, ValueError, TypeError) as error:
        position = _POSITION_PATTERN.search(str(error))
        if position is None:
            raise CelError(simplify_error_message(str(error))) from None
        raise CelError(simplify_error_message(position[3]), int(position[1]), int(position[2])) from None


def compile_expression(text: str) -> Any:
    """Return the expression for ``evaluate_expression``. Raises CelError."""
    try:
        return _get_runner().deserialize(check_expression(text).serialize())
    except RuntimeError as error:
        raise CelError(simplify_error_message(str(error))) from None


def build_activation(bindings: Mapping[str, Any]) -> Any:
    """The values of variables, for any number of expressions."""
    return _get_runner().Activation(dict(bindings))


def evaluate_expression(expression: Any, values: Any) -> Any:
    """What a runnable expression comes to, as plain data. Raises CelError and BudgetExceeded."""
    try:
        value = expression.eval(values)
        if value.type().name() != "ERROR":
            return value.plain_value()
        message = str(value.value())
    except (RuntimeError, ValueError, TypeError) as error:
        message = str(error)
    if _BUDGET_MESSAGE in message:
        raise BudgetExceeded
    raise CelError(simplify_error_message(message))


def simplify_error_message(message: str) -> str:
    """Return the first line of a message of the evaluator, without its status code, for use in a sentence."""
    text = _STATUS_PATTERN.sub("", message.strip().splitlines()[0] if message.strip() else "").strip()
    text = text.replace(" (in container '')", "").replace("mismatched input '<EOF>'", "the expression ends")
    text = re.sub(r" expecting \{.*", "", text)
    unknown = re.match(r"undeclared reference to '([^']+)'", text)
    if unknown and unknown[1] == "authorizer":
        return "authorizer asks a live API server, which podplan does not"
    if unknown:
        return f'"{unknown[1]}" is neither a variable nor a function of policies in Kubernetes'
    if "Unable to convert function return value" in text:
        return "the result is an optional; take its value with orValue()"
    missing = re.match(r'key not found in map : "?([^"]*)"?\Z', text, re.IGNORECASE)
    if missing:
        return f'there is no "{missing[1]}" here; ask with has() or .? first'
    if "SELECT to non-message type" in text:
        return "a field is asked of a value that has no fields"
    if text.startswith("Non-CEL value type"):
        return "podplan cannot hand on a duration or a timestamp in a variable; write it where it is used"
    return text[:1].lower() + text[1:] or "the evaluator gives no reason"


@cache
def _get_checker() -> Any:
    return build_checker(dict.fromkeys(CEL_VARIABLES, cel.Type.DYN))


def build_checker(types: Mapping[str, Any], descriptor_pool: Any = None) -> Any:
    """The environment that checks: each function takes and gives the types that it has in Kubernetes.

    ``types`` are those of the variables; messages among them are found in ``descriptor_pool``.
    """
    overloads = [overload for library in _LIBRARIES for overload in library.OVERLOADS]
    extended_functions = _build_declarations(
        overload for overload in overloads if overload.name in _EXTENDED_FUNCTIONS
    )
    functions = _build_declarations(
        overload for overload in overloads if overload.name not in _EXTENDED_FUNCTIONS
    )
    extensions = ("two-var-comprehensions", "optional", "sets")
    return _build_environment(
        extensions, functions, [*extended_functions, *_build_comparisons()], types, descriptor_pool
    )


@cache
def _get_runner() -> Any:
    """The environment that runs, where values of Kubernetes' own types are maps."""
    functions = _build_declarations(
        Overload(name, kinds, _to_runtime_type(found[0].result_type), _build_dispatcher(found), member)
        for (name, member, kinds), found in _group_overloads_by_kinds().items()
    )
    return _build_environment(("optional", "sets"), [], functions, dict.fromkeys(CEL_VARIABLES, cel.Type.DYN))


def _group_overloads_by_kinds() -> dict[tuple[str, bool, tuple[str, ...]], list[Overload]]:
    """The overloads by name and by the kinds that their arguments have when they run."""
    groups: dict[tuple[str, bool, tuple[str, ...]], list[Overload]] = {}
    for library in (*_LIBRARIES, maps):
        for overload in library.OVERLOADS:
            for kinds in product(*(_find_runtime_kinds(name) for name in overload.parameter_types)):
                groups.setdefault((overload.name, overload.is_member, kinds), []).append(overload)
    return groups


def _build_environment(
    extensions: Iterable[str],
    functions: list[Any],
    extended_functions: list[Any],
    types: Mapping[str, Any],
    descriptor_pool: Any = None,
) -> Any:
    """Return an environment with further functions.

    ``extended_functions`` are overloads of functions that CEL has already.
    """
    extension_list = ", ".join(f"{{name: {name}, version: latest}}" for name in extensions)
    return cel.NewEnv(
        descriptor_pool=descriptor_pool,
        config=cel.NewEnvConfigFromYaml(f"extensions: [{extension_list}]"),
        variables=dict(types),
        extensions=[
            ext_strings.ExtStrings(_STRINGS_VERSION),
            cel.CelExtension("kubernetes", extended_functions),
        ],
        functions=functions,
    )


def _build_declarations(overloads: Iterable[Overload]) -> list[Any]:
    """The functions as the evaluator wants them."""
    overloads_by_name: dict[str, list[Any]] = {}
    for name, parameter_types, result_type, implementation, is_member in overloads:
        id_ = "_".join((name, *parameter_types, *(["member"] if is_member else [])))
        types = [_resolve_type(taken) for taken in parameter_types]
        overload = cel.Overload(
            id_, _resolve_type(result_type), types, is_member=is_member, impl=implementation
        )
        overloads_by_name.setdefault(name, []).append(overload)
    return [cel.FunctionDecl(name, listed) for name, listed in overloads_by_name.items()]


def _build_comparisons() -> list[Any]:
    """Return declarations for comparing numbers of two types, which only the checker needs."""
    return [
        cel.FunctionDecl(
            operator,
            [
                cel.Overload(
                    f"{name}_{left}_{right}", cel.Type.BOOL, [_NUMERIC_TYPES[left], _NUMERIC_TYPES[right]]
                )
                for left, right in permutations(_NUMERIC_TYPES, 2)
            ],
        )
        for operator, name in _COMPARISON_OPERATORS.items()
    ]


def _resolve_type(name: str) -> Any:
    return _RUNTIME_TYPES.get(name) or _CHECKER_TYPES.get(name) or cel.Type.AbstractType(f"kubernetes.{name}")


def _find_runtime_kinds(name: str) -> tuple[str, ...]:
    if name == "any":
        return tuple(_RUNTIME_TYPES)
    return (name,) if name in _RUNTIME_TYPES else ("map",)


def _to_runtime_type(name: str) -> str:
    return name if name in _RUNTIME_TYPES else "any"


def _build_dispatcher(overloads: list[Overload]) -> Callable[..., Any]:
    """The function that calls the overload whose types the arguments are tagged with."""

    def dispatch(*arguments: Any) -> Any:
        for overload in overloads:
            typed_arguments = zip(overload.parameter_types, arguments, strict=True)
            if all(
                name in _CHECKER_TYPES or name in _RUNTIME_TYPES or is_tagged(name, argument)
                for name, argument in typed_arguments
            ):
                return overload.implementation(*arguments)
        raise ValueError(f"{overloads[0].name}() is not made for values of this type")

    return dispatch
