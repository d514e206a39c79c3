"""What to evaluate, and what came of it; all plain data, so that it can cross to another process as JSON."""

from __future__ import annotations

from podplan.core.typing import Any, NamedTuple

Path = tuple[str | int, ...]


class NamedExpression(NamedTuple):
    """An expression with a name: a variable, or a match condition."""

    name: str
    expression: str


class Validation(NamedTuple):
    """An expression that must be true, and an expression for the sentence when it is not ("" for none)."""

    expression: str
    message_expression: str = ""


class CelRules(NamedTuple):
    """The CEL part of a policy; the fields mean what they mean in a ValidatingAdmissionPolicy."""

    validations: tuple[Validation, ...]
    variables: tuple[NamedExpression, ...] = ()
    conditions: tuple[NamedExpression, ...] = ()


class ExpressionError(NamedTuple):
    """An expression that could not be evaluated.

    ``path`` leads to it from the rules: ("validations", 0, "expression"). ``line`` and ``column`` are 1-based
    in the text of the expression, columns in code points; 0 where only the expression as a whole is known.
    """

    path: Path
    message: str
    line: int = 0
    column: int = 0


class ValidationFailure(NamedTuple):
    """A validation, by its index, that was false; ``message`` is what its own expression says, or ""."""

    validation: int
    message: str = ""


class CelVerdict(NamedTuple):
    """What the rules say about one object. Where a match condition is false, nothing."""

    failures: tuple[ValidationFailure, ...] = ()
    errors: tuple[ExpressionError, ...] = ()


def parse_rules(data: list[list[list[str]]]) -> CelRules:
    """The rules that were written as JSON."""
    validations, variables, conditions = data
    return CelRules(
        tuple(Validation(*row) for row in validations),
        tuple(NamedExpression(*row) for row in variables),
        tuple(NamedExpression(*row) for row in conditions),
    )


def parse_verdict(data: list[list[list[Any]]]) -> CelVerdict:
    """The verdict that was written as JSON."""
    failures, errors = data
    return CelVerdict(
        tuple(ValidationFailure(*row) for row in failures),
        tuple(ExpressionError(tuple(path), *rest) for path, *rest in errors),
    )
