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

VARIABLES = ("object", "oldObject", "request", "params", "namespaceObject", "variables")
_LIBRARIES = (quantities, addresses, urls, lists, regexes, formats, versions)
_STRINGS_VERSION = 2  # of cel-go's string library, in Kubernetes from 1.29 on
_WIDENED = frozenset({"indexOf", "lastIndexOf"})  # of texts in CEL, of lists besides in Kubernetes
_PLAIN = {"any": cel.Type.DYN, "optional": cel.Type.DYN, "list<string>": cel.Type.List(cel.Type.STRING)}
# The runtime has no "any": a function is found by the kinds of its arguments.
_KINDS = {
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
_NUMBERS = {"int64": cel.Type.INT, "uint64": cel.Type.UINT, "double": cel.Type.DOUBLE}
_COMPARISONS = {"_<_": "less", "_<=_": "less_equals", "_>_": "greater", "_>=_": "greater_equals"}
_POSITION = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_STATUS = re.compile(r"\A(?:[A-Z_]{4,}: )+|\s*\[[A-Z_]+\]\Z")
_BUDGET = "Iteration budget exceeded"


class CelError(Exception):
    """An expression that does not compile, or fails; line and column 1-based, 0 where they are not known."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


class BudgetExceeded(Exception):
    """An expression that loops longer than the evaluator allows."""


def checked(text: str) -> Any:
    """The expression as the checker understands it; ``return_type().name()`` is its type. Raises CelError."""
    try:
        return _checker().compile(text)
    except (RuntimeError, ValueError, TypeError) as error:
        found = _POSITION.search(str(error))
        if found is None:
            raise CelError(plain_words(str(error))) from None
        raise CelError(plain_words(found[3]), int(found[1]), int(found[2])) from None


def runnable(text: str) -> Any:
    """The expression to evaluate with ``value_of``. Raises CelError."""
    try:
        return _runner().deserialize(checked(text).serialize())
    except RuntimeError as error:
        raise CelError(plain_words(str(error))) from None


def activation(bindings: Mapping[str, Any]) -> Any:
    """The values of variables, for any number of expressions."""
    return _runner().Activation(dict(bindings))


def value_of(expression: Any, values: Any) -> Any:
    """What a runnable expression comes to, as plain data. Raises CelError and BudgetExceeded."""
    try:
        value = expression.eval(values)
        if value.type().name() != "ERROR":
            return value.plain_value()
        message = str(value.value())
    except (RuntimeError, ValueError, TypeError) as error:
        message = str(error)
    if _BUDGET in message:
        raise BudgetExceeded
    raise CelError(plain_words(message))


def plain_words(message: str) -> str:
    """The first line of a message of the evaluator, without its status code, ready to stand in a sentence."""
    text = _STATUS.sub("", message.strip().splitlines()[0] if message.strip() else "").strip()
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
def _checker() -> Any:
    return checker(dict.fromkeys(VARIABLES, cel.Type.DYN))


def checker(types: Mapping[str, Any], descriptor_pool: Any = None) -> Any:
    """The environment that checks: each function takes and gives the types that it has in Kubernetes.

    ``types`` are those of the variables; messages among them are found in ``descriptor_pool``.
    """
    declared = [overload for library in _LIBRARIES for overload in library.OVERLOADS]
    more = _declarations(overload for overload in declared if overload.name in _WIDENED)
    functions = _declarations(overload for overload in declared if overload.name not in _WIDENED)
    extensions = ("two-var-comprehensions", "optional", "sets")
    return _environment(extensions, functions, [*more, *_comparisons()], types, descriptor_pool)


@cache
def _runner() -> Any:
    """The environment that runs, where values of Kubernetes' own types are maps."""
    functions = _declarations(
        Overload(name, kinds, _runtime_type(found[0].gives), _one_of(found), member)
        for (name, member, kinds), found in _by_kinds().items()
    )
    return _environment(("optional", "sets"), [], functions, dict.fromkeys(VARIABLES, cel.Type.DYN))


def _by_kinds() -> dict[tuple[str, bool, tuple[str, ...]], list[Overload]]:
    """The overloads by name and by the kinds that their arguments have when they run."""
    same: dict[tuple[str, bool, tuple[str, ...]], list[Overload]] = {}
    for library in (*_LIBRARIES, maps):
        for overload in library.OVERLOADS:
            for kinds in product(*(_runtime_kinds(name) for name in overload.takes)):
                same.setdefault((overload.name, overload.member, kinds), []).append(overload)
    return same


def _environment(
    extensions: Iterable[str],
    functions: list[Any],
    more: list[Any],
    types: Mapping[str, Any],
    descriptor_pool: Any = None,
) -> Any:
    """An environment with functions of ours; ``more`` are overloads of functions that it has already."""
    listed = ", ".join(f"{{name: {name}, version: latest}}" for name in extensions)
    return cel.NewEnv(
        descriptor_pool=descriptor_pool,
        config=cel.NewEnvConfigFromYaml(f"extensions: [{listed}]"),
        variables=dict(types),
        extensions=[ext_strings.ExtStrings(_STRINGS_VERSION), cel.CelExtension("kubernetes", more)],
        functions=functions,
    )


def _declarations(overloads: Iterable[Overload]) -> list[Any]:
    """The functions as the evaluator wants them."""
    declared: dict[str, list[Any]] = {}
    for name, takes, gives, does, member in overloads:
        id_ = "_".join((name, *takes, *(["member"] if member else [])))
        types = [_type(taken) for taken in takes]
        overload = cel.Overload(id_, _type(gives), types, is_member=member, impl=does)
        declared.setdefault(name, []).append(overload)
    return [cel.FunctionDecl(name, listed) for name, listed in declared.items()]


def _comparisons() -> list[Any]:
    """Comparing numbers of two types: the runtime can, the checker has to be told."""
    return [
        cel.FunctionDecl(
            operator,
            [
                cel.Overload(f"{name}_{left}_{right}", cel.Type.BOOL, [_NUMBERS[left], _NUMBERS[right]])
                for left, right in permutations(_NUMBERS, 2)
            ],
        )
        for operator, name in _COMPARISONS.items()
    ]


def _type(name: str) -> Any:
    return _KINDS.get(name) or _PLAIN.get(name) or cel.Type.AbstractType(f"kubernetes.{name}")


def _runtime_kinds(name: str) -> tuple[str, ...]:
    if name == "any":
        return tuple(_KINDS)
    return (name,) if name in _KINDS else ("map",)


def _runtime_type(name: str) -> str:
    return name if name in _KINDS else "any"


def _one_of(overloads: list[Overload]) -> Callable[..., Any]:
    """The function that calls the overload whose types the arguments are tagged with."""

    def call(*arguments: Any) -> Any:
        for overload in overloads:
            own = zip(overload.takes, arguments, strict=True)
            if all(name in _PLAIN or name in _KINDS or is_tagged(name, argument) for name, argument in own):
                return overload.does(*arguments)
        raise ValueError(f"{overloads[0].name}() is not made for values of this type")

    return call
