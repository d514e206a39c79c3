"""Rules over one object, as the API server goes about it.

Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/. A match
condition that is false ends the matter, even where another one fails. Variables are worked out in order, and
may fail as long as nothing uses them. Needs the extra ``podplan[cel]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from podplan.core.limits import MAX_CEL_LENGTH, MAX_CEL_MESSAGE, LimitExceeded, limit_exceeded
from podplan.core.typing import Any, NamedTuple
from podplan.lint.cel.environment import (
    BudgetExceeded,
    CelError,
    build_activation,
    check_expression,
    compile_expression,
    evaluate_expression,
)
from podplan.lint.cel.rules import (
    CelRules,
    CelVerdict,
    ExpressionError,
    NamedExpression,
    Path,
    ValidationFailure,
)
from podplan.lint.cel.text import find_line_and_column, iter_variables, rewrite_for_runtime

_LIVE_REQUEST_FIELDS = ("userInfo", "options")
_TYPE_LABELS = {"BOOL": "true or false", "STRING": "a text"}


class CompiledRules(NamedTuple):
    """Rules ready to run; if there are errors, none of them runs."""

    validations: tuple[tuple[Any, Any], ...]
    variables: tuple[tuple[str, bool, Any], ...]
    conditions: tuple[Any, ...]
    errors: tuple[ExpressionError, ...]


def find_compile_errors(rules: CelRules) -> tuple[ExpressionError, ...]:
    """The expressions that do not compile. Raises LimitExceeded for one that is too long."""
    return _compile_rules(rules).errors


def evaluate(rules: CelRules, bindings: Mapping[str, Any]) -> CelVerdict:
    """Return the verdict of the rules about ``bindings``, which ``values.copy_within_limits`` has copied.

    Raises LimitExceeded.
    """
    compiled = _compile_rules(rules)
    if compiled.errors:
        return CelVerdict(errors=compiled.errors)
    try:
        return _evaluate_compiled(rules, compiled, bindings)
    except BudgetExceeded:
        raise LimitExceeded(
            "an expression of the policy goes through more than 10000 elements; nest fewer loops"
        ) from None


def _evaluate_compiled(rules: CelRules, compiled: CompiledRules, bindings: Mapping[str, Any]) -> CelVerdict:
    values, failed_variables = _evaluate_variables(compiled, bindings)

    def build_error(path: Path, text: str, error: CelError) -> ExpressionError:
        for name, _ in iter_variables(text):
            if name in failed_variables and f'"{name}"' in error.message:
                return failed_variables[name]
        for name in _LIVE_REQUEST_FIELDS:
            if f'"{name}"' in error.message and re.search(rf"request\s*\.\s*{name}\b", text):
                return ExpressionError(path, f"request.{name} is known only to a live API server")
        return ExpressionError(path, error.message, error.line, error.column)

    errors: list[ExpressionError] = []
    for index, (condition, expression) in enumerate(zip(rules.conditions, compiled.conditions, strict=True)):
        try:
            if not _evaluate_condition(expression, values):
                return CelVerdict()
        except CelError as error:
            errors.append(build_error(("matchConditions", index, "expression"), condition.expression, error))
    if errors:
        return CelVerdict(errors=tuple(errors))
    failures = []
    for index, (validation, (expression, message)) in enumerate(
        zip(rules.validations, compiled.validations, strict=True)
    ):
        try:
            if not _evaluate_condition(expression, values):
                failures.append(ValidationFailure(index, _evaluate_message(message, values)))
        except CelError as error:
            errors.append(build_error(("validations", index, "expression"), validation.expression, error))
    return CelVerdict(tuple(failures), tuple(errors))


def _evaluate_variables(
    compiled: CompiledRules, bindings: Mapping[str, Any]
) -> tuple[Any, dict[str, ExpressionError]]:
    """The values for the expressions, and the variables that failed; those are left out of the values."""
    variable_values: dict[str, Any] = {}
    failed_variables: dict[str, ExpressionError] = {}
    for index, (name, _, expression) in enumerate(compiled.variables):
        try:
            variable_values[name] = evaluate_expression(
                expression, build_activation({**bindings, "variables": variable_values})
            )
        except CelError as error:
            cause = next(
                (failed_variables[other] for other in failed_variables if f'"{other}"' in error.message), None
            )
            failed_variables[name] = cause or ExpressionError(
                ("variables", index, "expression"), error.message
            )
    return build_activation({**bindings, "variables": variable_values}), failed_variables


def _evaluate_condition(expression: Any, values: Any) -> bool:
    value = evaluate_expression(expression, values)
    if not isinstance(value, bool):
        raise CelError("the expression must come to true or false")
    return value


def _evaluate_message(expression: Any, values: Any) -> str:
    """The sentence of a messageExpression; "" where the API server too falls back to the message."""
    if expression is None:
        return ""
    try:
        text = evaluate_expression(expression, values)
    except CelError:
        return ""
    usable = isinstance(text, str) and len(text) <= MAX_CEL_MESSAGE and "\n" not in text
    return text.strip() if usable else ""


@lru_cache(maxsize=512)
def _compile_rules(rules: CelRules) -> CompiledRules:
    errors: list[ExpressionError] = []
    optional_variables: dict[str, bool] = {}
    variables = []
    for index, variable in enumerate(rules.variables):
        path: Path = ("variables", index, "expression")
        variables.append((variable.name, *_compile_variable(path, variable, optional_variables, errors)))
    conditions = tuple(
        _compile_expression(
            ("matchConditions", index, "expression"), condition.expression, "BOOL", optional_variables, errors
        )
        for index, condition in enumerate(rules.conditions)
    )
    validations = tuple(
        (
            _compile_expression(
                ("validations", index, "expression"),
                validation.expression,
                "BOOL",
                optional_variables,
                errors,
            ),
            _compile_expression(
                ("validations", index, "messageExpression"),
                validation.message_expression,
                "STRING",
                optional_variables,
                errors,
            )
            if validation.message_expression
            else None,
        )
        for index, validation in enumerate(rules.validations)
    )
    return CompiledRules(validations, tuple(variables), conditions, tuple(errors))


def _compile_variable(
    path: Path, variable: NamedExpression, optional_variables: dict[str, bool], errors: list[ExpressionError]
) -> tuple[bool, Any]:
    """Return whether a variable is an optional, and its expression; add it to ``optional_variables``."""
    try:
        _require_valid_expression(variable.expression, optional_variables)
        is_optional = check_expression(variable.expression).return_type().name().startswith("optional_type")
        text = rewrite_for_runtime(variable.expression, _find_optional_names(optional_variables))
        expression = compile_expression(f"[?({text}\n)]" if is_optional else text)
    except CelError as error:
        errors.append(ExpressionError(path, error.message, error.line, error.column))
        is_optional, expression = False, None
    optional_variables[variable.name] = is_optional
    return is_optional, expression


def _compile_expression(
    path: Path, text: str, type_: str, optional_variables: dict[str, bool], errors: list[ExpressionError]
) -> Any:
    try:
        _require_valid_expression(text, optional_variables)
        result_type = check_expression(text).return_type().name()
        if result_type not in (type_, "DYN"):
            raise CelError(
                f"the expression must come to {_TYPE_LABELS[type_]}, and is of type {result_type.lower()}"
            )
        return compile_expression(rewrite_for_runtime(text, _find_optional_names(optional_variables)))
    except CelError as error:
        errors.append(ExpressionError(path, error.message, error.line, error.column))
        return None


def _require_valid_expression(text: str, defined_variables: Mapping[str, bool]) -> None:
    """Raises what the checker does not see: too long, a variable that is not there (yet)."""
    if len(text) > MAX_CEL_LENGTH:
        message = f"a CEL expression has more than {MAX_CEL_LENGTH} characters; split it"
        raise LimitExceeded(limit_exceeded("cel-length", message))
    for error in _iter_unknown_variables(text, defined_variables):
        raise error


def _iter_unknown_variables(text: str, defined_variables: Mapping[str, bool]) -> Iterator[CelError]:
    for name, offset in iter_variables(text):
        if name not in defined_variables:
            yield CelError(
                f'no variable "{name}" is defined before this expression', *find_line_and_column(text, offset)
            )


def _find_optional_names(optional_variables: Mapping[str, bool]) -> frozenset[str]:
    return frozenset(name for name, is_optional in optional_variables.items() if is_optional)
