"""Evaluates expressions that are more than a path with jinja2, within strict limits.

The sandbox of jinja2 does not limit the memory of an expression. So the parsed tree is checked against an
allow-list before it is evaluated, every filter and operator has a limit, and lookups never reach an attribute
of a Python object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, Undefined, nodes
from jinja2.environment import TemplateExpression
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from podplan.core.limits import MAX_EXPRESSION_DEPTH, MAX_EXPRESSION_RESULT, MAX_EXPRESSIONS
from podplan.core.suggestions import suggest_or_list
from podplan.core.truncation import truncate
from podplan.core.typing import Any
from podplan.profile.filters import FILTERS, is_number, raise_undefined
from podplan.profile.values import (
    ROOTS,
    Expression,
    ExpressionLimitExceeded,
    ProfileExpressionError,
    build_length_error,
    explain_missing_step,
    measure_size,
    require_plain_value,
)

_ALLOWED_NODES = frozenset(
    {
        *(nodes.Name, nodes.Getattr, nodes.Getitem, nodes.Const, nodes.List, nodes.Filter),
        *(nodes.Compare, nodes.Operand, nodes.CondExpr, nodes.And, nodes.Or, nodes.Not),
        *(nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Neg, nodes.Pos),
    }
)
_REJECTION_MESSAGES: dict[type[nodes.Node], str] = {
    nodes.Call: "calls are not allowed; use a filter, such as params.x | lower",
    nodes.Concat: "~ is not allowed; write two expressions side by side",
    nodes.Pow: "** is not allowed; write the number",
    nodes.Test: "tests with is are not allowed; compare with ==, or use the filter default",
    nodes.Slice: "slices are not allowed; name one entry",
    nodes.Dict: "maps are not allowed; write the map in the profile",
    nodes.Tuple: "tuples are not allowed; write a list in brackets",
    nodes.TemplateData: "text is not allowed here; put it in quotes",
}
_CLOSED_ROOTS = ("params", "matrix", "metadata", "inventory")


@lru_cache(maxsize=MAX_EXPRESSIONS)
def compile_expression(source: str) -> Expression:
    """Parse, check and compile the expression ``source``.

    Raises ProfileExpressionError: if it is not allowed.
    """
    tree = _parse_source(source)
    _validate_node(tree, 0)
    tree.set_environment(_ENVIRONMENT)
    assignment = nodes.Assign(nodes.Name("result", "store", lineno=1), tree, lineno=1)
    try:
        template = _ENVIRONMENT.from_string(nodes.Template([assignment], lineno=1))
    except (TemplateError, RecursionError) as error:
        raise ProfileExpressionError(_explain_invalid(source, str(error))) from None
    calculate = TemplateExpression(template, undefined_to_none=False)

    def run(values: Mapping[str, Any]) -> Any:
        try:
            result = calculate(values)
        except ProfileExpressionError:
            raise
        except TemplateError as error:
            raise ProfileExpressionError(
                error.message or "it names something that is not there", "PROF009"
            ) from None
        except TypeError:
            raise ProfileExpressionError(
                "the types of the values, or the arguments of a filter, do not fit"
            ) from None
        except (ArithmeticError, ValueError, RecursionError) as error:
            raise ProfileExpressionError(str(error) or "it cannot be worked out") from None
        if isinstance(result, Undefined):
            raise ProfileExpressionError(result._undefined_message, "PROF009")
        return result

    return Expression(source, tuple(dict.fromkeys(_iter_reads(tree))), run)


def _explain_invalid(source: str, reason: str) -> str:
    return f"${{{{ {truncate(source, 60)} }}}} is not an expression: {reason.rstrip('.')}"


def _parse_source(source: str) -> nodes.Expr:
    if not source:
        raise ProfileExpressionError("an expression is empty; write ${{ params.name }}")
    try:
        parser = Parser(_ENVIRONMENT, source, state="variable")
        tree = parser.parse_expression()
        rest = parser.stream.current
    except TemplateSyntaxError as error:
        raise ProfileExpressionError(_explain_invalid(source, error.message or "it cannot be read")) from None
    except (RecursionError, ValueError, OverflowError, MemoryError):
        raise ProfileExpressionError(
            _explain_invalid(source, "it is nested too deeply, or holds a number that is too long")
        ) from None
    if not parser.stream.eos:
        raise ProfileExpressionError(_explain_invalid(source, f'it ends before "{rest.value}"'))
    return tree


def _validate_node(node: nodes.Node, depth: int) -> None:
    if depth > MAX_EXPRESSION_DEPTH:
        message = f"an expression may be {MAX_EXPRESSION_DEPTH} levels deep at most"
        raise ExpressionLimitExceeded("expression-depth", message)
    node_type = type(node)
    if node_type not in _ALLOWED_NODES:
        raise ProfileExpressionError(
            _REJECTION_MESSAGES.get(node_type, f"{node_type.__name__} is not allowed in an expression")
        )
    if isinstance(node, nodes.Name) and node.name not in ROOTS:
        hint = suggest_or_list(node.name, ROOTS)
        raise ProfileExpressionError(f'an expression sees nothing called "{node.name}"{hint}', "PROF009")
    if isinstance(node, nodes.Const):
        require_plain_value(node.value)
    if isinstance(node, nodes.Filter):
        if node.name not in FILTERS:
            raise ProfileExpressionError(
                f'there is no filter "{node.name}"{suggest_or_list(node.name, FILTERS)}'
            )
        if node.kwargs or node.dyn_args is not None or node.dyn_kwargs is not None:
            raise ProfileExpressionError(f'the filter "{node.name}" takes plain arguments only')
    if isinstance(node, nodes.CondExpr) and node.expr2 is None:
        raise ProfileExpressionError("an if needs an else; write A if CONDITION else B")
    if isinstance(node, nodes.Getitem) and not isinstance(node.arg, nodes.Const):
        inner = node.node
        if isinstance(inner, nodes.Name) and inner.name in _CLOSED_ROOTS:
            raise ProfileExpressionError(
                f'a name in "{inner.name}" must be written out, so that it can be checked'
            )
    for child in node.iter_child_nodes():
        _validate_node(child, depth + 1)


def _iter_reads(node: nodes.Node) -> Iterator[tuple[str, str | None]]:
    """Yield the names of an expression, each with the step that follows it."""
    if isinstance(node, nodes.Name):
        yield node.name, None
    elif isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name):
        yield node.node.name, node.attr
    elif isinstance(node, nodes.Getitem) and isinstance(node.node, nodes.Name):
        step = node.arg.value if isinstance(node.arg, nodes.Const) else None
        yield node.node.name, None if step is None else str(step)
        yield from _iter_reads(node.arg)
    else:
        for child in node.iter_child_nodes():
            yield from _iter_reads(child)


def _apply_operator(operator: str, left: Any, right: Any) -> Any:
    for value in (left, right):
        if isinstance(value, Undefined):
            raise_undefined(value)
    if is_number(left) and is_number(right):
        return require_plain_value(_calculate(operator, left, right))
    if operator == "+" and type(left) is type(right) and type(left) in (str, list):
        if measure_size(left) + measure_size(right) > MAX_EXPRESSION_RESULT:
            raise build_length_error()
        return left + right
    raise ProfileExpressionError(
        f"{operator} works on two numbers; turn text into a number with the filter int or float"
    )


def _calculate(operator: str, left: Any, right: Any) -> Any:
    if operator in ("/", "//", "%") and right == 0:
        raise ProfileExpressionError("it divides by zero")
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "//":
            return left // right
        case "%":
            return left % right
    is_exact = isinstance(left, int) and isinstance(right, int) and left % right == 0
    return left // right if is_exact else left / right


class _ExpressionEnvironment(ImmutableSandboxedEnvironment):
    """The jinja2 sandbox with the lookup and the operators of podplan."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%"})
    intercepted_unops = frozenset({"+", "-"})

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(obj, Undefined):
            raise_undefined(obj)
        if isinstance(obj, dict) and isinstance(argument, str) and argument in obj:
            return obj[argument]
        if isinstance(obj, list) and type(argument) is int and 0 <= argument < len(obj):
            return obj[argument]
        return self.undefined(explain_missing_step(obj, argument))

    def getattr(self, obj: Any, attribute: str) -> Any:
        return self.getitem(obj, attribute)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:  # noqa: ARG002
        return _apply_operator(operator, left, right)

    def call_unop(self, context: Context, operator: str, arg: Any) -> Any:  # noqa: ARG002
        return _apply_operator(operator, 0, arg)


def _create_environment() -> _ExpressionEnvironment:
    environment = _ExpressionEnvironment(undefined=StrictUndefined, optimized=False, cache_size=0)
    environment.globals.clear()
    environment.tests.clear()
    environment.filters = dict(FILTERS)
    return environment


_ENVIRONMENT = _create_environment()
