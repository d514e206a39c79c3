"""Rules over one object, as the API server goes about it.

Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/. A match
condition that is false ends the matter, even where another one fails. Variables are worked out in order, and
may fail as long as nothing uses them. Needs the extra ``podplan[cel]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from podplan.core.limits import MAX_CEL_LENGTH, MAX_CEL_MESSAGE, BoundExceeded, beyond
from podplan.core.typing import Any, NamedTuple
from podplan.lint.cel.environment import BudgetExceeded, CelError, activation, checked, runnable, value_of
from podplan.lint.cel.rules import Failure, Fault, Named, Path, Rules, Verdict
from podplan.lint.cel.text import line_and_column, runtime_text, variables_in

_LIVE_ONLY = ("userInfo", "options")
_TYPES = {"BOOL": "true or false", "STRING": "a text"}


class Compiled(NamedTuple):
    """Rules ready to run; where there are faults, nothing of them runs."""

    validations: tuple[tuple[Any, Any], ...]
    variables: tuple[tuple[str, bool, Any], ...]
    conditions: tuple[Any, ...]
    faults: tuple[Fault, ...]


def faults(rules: Rules) -> tuple[Fault, ...]:
    """The expressions that do not compile. Raises BoundExceeded for one that is too long."""
    return _compiled(rules).faults


def evaluate(rules: Rules, bindings: Mapping[str, Any]) -> Verdict:
    """What the rules say about the object in bindings that ``values.bounded`` made. Raises BoundExceeded."""
    compiled = _compiled(rules)
    if compiled.faults:
        return Verdict(faults=compiled.faults)
    try:
        return _run(rules, compiled, bindings)
    except BudgetExceeded:
        raise BoundExceeded(
            "an expression of the policy goes through more than 10000 elements; nest fewer loops"
        ) from None


def _run(rules: Rules, compiled: Compiled, bindings: Mapping[str, Any]) -> Verdict:
    values, broken = _with_variables(compiled, bindings)

    def fault(path: Path, text: str, error: CelError) -> Fault:
        for name, _ in variables_in(text):
            if name in broken and f'"{name}"' in error.message:
                return broken[name]
        for name in _LIVE_ONLY:
            if f'"{name}"' in error.message and re.search(rf"request\s*\.\s*{name}\b", text):
                return Fault(path, f"request.{name} is known only to a live API server")
        return Fault(path, error.message, error.line, error.column)

    found: list[Fault] = []
    for index, (condition, expression) in enumerate(zip(rules.conditions, compiled.conditions, strict=True)):
        try:
            if not _truth(expression, values):
                return Verdict()
        except CelError as error:
            found.append(fault(("matchConditions", index, "expression"), condition.expression, error))
    if found:
        return Verdict(faults=tuple(found))
    failures = []
    for index, (validation, (expression, message)) in enumerate(
        zip(rules.validations, compiled.validations, strict=True)
    ):
        try:
            if not _truth(expression, values):
                failures.append(Failure(index, _message(message, values)))
        except CelError as error:
            found.append(fault(("validations", index, "expression"), validation.expression, error))
    return Verdict(tuple(failures), tuple(found))


def _with_variables(compiled: Compiled, bindings: Mapping[str, Any]) -> tuple[Any, dict[str, Fault]]:
    """The values for the expressions, and the variables that failed; those are left out of the values."""
    known: dict[str, Any] = {}
    broken: dict[str, Fault] = {}
    for index, (name, _, expression) in enumerate(compiled.variables):
        try:
            known[name] = value_of(expression, activation({**bindings, "variables": known}))
        except CelError as error:
            used = next((broken[other] for other in broken if f'"{other}"' in error.message), None)
            broken[name] = used or Fault(("variables", index, "expression"), error.message)
    return activation({**bindings, "variables": known}), broken


def _truth(expression: Any, values: Any) -> bool:
    value = value_of(expression, values)
    if not isinstance(value, bool):
        raise CelError("the expression must come to true or false")
    return value


def _message(expression: Any, values: Any) -> str:
    """The sentence of a messageExpression; "" where the API server too falls back to the message."""
    if expression is None:
        return ""
    try:
        text = value_of(expression, values)
    except CelError:
        return ""
    usable = isinstance(text, str) and len(text) <= MAX_CEL_MESSAGE and "\n" not in text
    return text.strip() if usable else ""


@lru_cache(maxsize=512)
def _compiled(rules: Rules) -> Compiled:
    found: list[Fault] = []
    optional: dict[str, bool] = {}
    variables = []
    for index, variable in enumerate(rules.variables):
        path: Path = ("variables", index, "expression")
        variables.append((variable.name, *_variable(path, variable, optional, found)))
    conditions = tuple(
        _expression(("matchConditions", index, "expression"), condition.expression, "BOOL", optional, found)
        for index, condition in enumerate(rules.conditions)
    )
    validations = tuple(
        (
            _expression(("validations", index, "expression"), validation.expression, "BOOL", optional, found),
            _expression(
                ("validations", index, "messageExpression"),
                validation.message_expression,
                "STRING",
                optional,
                found,
            )
            if validation.message_expression
            else None,
        )
        for index, validation in enumerate(rules.validations)
    )
    return Compiled(validations, tuple(variables), conditions, tuple(found))


def _variable(path: Path, variable: Named, optional: dict[str, bool], found: list[Fault]) -> tuple[bool, Any]:
    """Whether a variable is an optional, and its expression; enters it in ``optional``."""
    try:
        _demand_sound(variable.expression, optional)
        is_optional = checked(variable.expression).return_type().name().startswith("optional_type")
        text = runtime_text(variable.expression, _names(optional))
        expression = runnable(f"[?({text}\n)]" if is_optional else text)
    except CelError as error:
        found.append(Fault(path, error.message, error.line, error.column))
        is_optional, expression = False, None
    optional[variable.name] = is_optional
    return is_optional, expression


def _expression(path: Path, text: str, type_: str, optional: dict[str, bool], found: list[Fault]) -> Any:
    try:
        _demand_sound(text, optional)
        got = checked(text).return_type().name()
        if got not in (type_, "DYN"):
            raise CelError(f"the expression must come to {_TYPES[type_]}, and is of type {got.lower()}")
        return runnable(runtime_text(text, _names(optional)))
    except CelError as error:
        found.append(Fault(path, error.message, error.line, error.column))
        return None


def _demand_sound(text: str, known: Mapping[str, bool]) -> None:
    """Raises what the checker does not see: too long, a variable that is not there (yet)."""
    if len(text) > MAX_CEL_LENGTH:
        message = f"a CEL expression has more than {MAX_CEL_LENGTH} characters; split it"
        raise BoundExceeded(beyond("cel-length", message))
    for fault in _unknown_variables(text, known):
        raise fault


def _unknown_variables(text: str, known: Mapping[str, bool]) -> Iterator[CelError]:
    for name, offset in variables_in(text):
        if name not in known:
            yield CelError(
                f'no variable "{name}" is defined before this expression', *line_and_column(text, offset)
            )


def _names(optional: Mapping[str, bool]) -> frozenset[str]:
    return frozenset(name for name, is_optional in optional.items() if is_optional)
