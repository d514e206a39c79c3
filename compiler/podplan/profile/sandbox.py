"""Expressions that are more than a path, worked out by jinja2 within narrow bounds.

The sandbox of jinja2 alone lets an expression take all memory (dependencies §5). So the parsed tree is held
against an allow-list before anything runs, every filter and operator is one of ours and bounded, and looking
something up never reaches an attribute of a Python object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, Undefined, nodes
from jinja2.environment import TemplateExpression
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from podplan.core.limits import MAX_EXPRESSION_DEPTH, MAX_EXPRESSION_RESULT, MAX_EXPRESSIONS_COMPILED
from podplan.core.suggestions import meant_or_known
from podplan.core.truncation import shortened
from podplan.core.typing import Any
from podplan.profile.filters import FILTERS, fail, is_number
from podplan.profile.values import ROOTS, Expression, Fault, TooMuch, nothing_at, settled, size, too_long

_ALLOWED = frozenset(
    {
        *(nodes.Name, nodes.Getattr, nodes.Getitem, nodes.Const, nodes.List, nodes.Filter),
        *(nodes.Compare, nodes.Operand, nodes.CondExpr, nodes.And, nodes.Or, nodes.Not),
        *(nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Neg, nodes.Pos),
    }
)
_INSTEAD: dict[type[nodes.Node], str] = {
    nodes.Call: "calls are not allowed; use a filter, such as params.x | lower",
    nodes.Concat: "~ is not allowed; write two expressions side by side",
    nodes.Pow: "** is not allowed; write the number",
    nodes.Test: "tests with is are not allowed; compare with ==, or use the filter default",
    nodes.Slice: "slices are not allowed; name one entry",
    nodes.Dict: "maps are not allowed; write the map in the profile",
    nodes.Tuple: "tuples are not allowed; write a list in brackets",
    nodes.TemplateData: "text is not allowed here; put it in quotes",
}
_CLOSED = ("params", "matrix", "metadata", "inventory")


@lru_cache(maxsize=MAX_EXPRESSIONS_COMPILED)
def compiled(source: str) -> Expression:
    """The expression ``source``, parsed, checked and compiled; raises Fault."""
    tree = _parsed(source)
    _check(tree, 0)
    tree.set_environment(_ENVIRONMENT)
    store = nodes.Assign(nodes.Name("result", "store", lineno=1), tree, lineno=1)
    try:
        template = _ENVIRONMENT.from_string(nodes.Template([store], lineno=1))
    except (TemplateError, RecursionError) as error:
        raise Fault(_shown(source, str(error))) from None
    calculate = TemplateExpression(template, undefined_to_none=False)

    def run(values: Mapping[str, Any]) -> Any:
        try:
            result = calculate(values)
        except Fault:
            raise
        except TemplateError as error:
            raise Fault(error.message or "it names something that is not there", "PROF009") from None
        except TypeError:
            raise Fault("the types of the values, or the arguments of a filter, do not fit") from None
        except (ArithmeticError, ValueError, RecursionError) as error:
            raise Fault(str(error) or "it cannot be worked out") from None
        if isinstance(result, Undefined):
            raise Fault(result._undefined_message, "PROF009")
        return result

    return Expression(source, tuple(dict.fromkeys(_reads(tree))), run)


def _shown(source: str, why: str) -> str:
    return f"${{{{ {shortened(source, 60)} }}}} is not an expression: {why.rstrip('.')}"


def _parsed(source: str) -> nodes.Expr:
    if not source:
        raise Fault("an expression is empty; write ${{ params.name }}")
    try:
        parser = Parser(_ENVIRONMENT, source, state="variable")
        tree = parser.parse_expression()
        rest = parser.stream.current
    except TemplateSyntaxError as error:
        raise Fault(_shown(source, error.message or "it cannot be read")) from None
    except (RecursionError, ValueError, OverflowError, MemoryError):
        raise Fault(_shown(source, "it is nested too deeply, or holds a number that is too long")) from None
    if not parser.stream.eos:
        raise Fault(_shown(source, f'it ends before "{rest.value}"'))
    return tree


def _check(node: nodes.Node, depth: int) -> None:
    if depth > MAX_EXPRESSION_DEPTH:
        message = f"an expression may be {MAX_EXPRESSION_DEPTH} levels deep at most"
        raise TooMuch("expression-depth", message)
    kind = type(node)
    if kind not in _ALLOWED:
        raise Fault(_INSTEAD.get(kind, f"{kind.__name__} is not allowed in an expression"))
    if isinstance(node, nodes.Name) and node.name not in ROOTS:
        near = meant_or_known(node.name, ROOTS)
        raise Fault(f'an expression sees nothing called "{node.name}"{near}', "PROF009")
    if isinstance(node, nodes.Const):
        settled(node.value)
    if isinstance(node, nodes.Filter):
        if node.name not in FILTERS:
            raise Fault(f'there is no filter "{node.name}"{meant_or_known(node.name, FILTERS)}')
        if node.kwargs or node.dyn_args is not None or node.dyn_kwargs is not None:
            raise Fault(f'the filter "{node.name}" takes plain arguments only')
    if isinstance(node, nodes.CondExpr) and node.expr2 is None:
        raise Fault("an if needs an else; write A if CONDITION else B")
    if isinstance(node, nodes.Getitem) and not isinstance(node.arg, nodes.Const):
        inner = node.node
        if isinstance(inner, nodes.Name) and inner.name in _CLOSED:
            raise Fault(f'a name in "{inner.name}" must be written out, so that it can be checked')
    for child in node.iter_child_nodes():
        _check(child, depth + 1)


def _reads(node: nodes.Node) -> Iterator[tuple[str, str | None]]:
    """The names of an expression, each with the step that follows it."""
    if isinstance(node, nodes.Name):
        yield node.name, None
    elif isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name):
        yield node.node.name, node.attr
    elif isinstance(node, nodes.Getitem) and isinstance(node.node, nodes.Name):
        step = node.arg.value if isinstance(node.arg, nodes.Const) else None
        yield node.node.name, None if step is None else str(step)
        yield from _reads(node.arg)
    else:
        for child in node.iter_child_nodes():
            yield from _reads(child)


def _operate(operator: str, left: Any, right: Any) -> Any:
    for value in (left, right):
        if isinstance(value, Undefined):
            fail(value)
    if is_number(left) and is_number(right):
        return settled(_arithmetic(operator, left, right))
    if operator == "+" and type(left) is type(right) and type(left) in (str, list):
        if size(left) + size(right) > MAX_EXPRESSION_RESULT:
            raise too_long()
        return left + right
    raise Fault(f"{operator} works on two numbers; turn text into a number with the filter int or float")


def _arithmetic(operator: str, left: Any, right: Any) -> Any:
    if operator in ("/", "//", "%") and right == 0:
        raise Fault("it divides by zero")
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
    exact = isinstance(left, int) and isinstance(right, int) and left % right == 0
    return left // right if exact else left / right


class _Environment(ImmutableSandboxedEnvironment):
    """The sandbox with our look-up and our operators."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%"})
    intercepted_unops = frozenset({"+", "-"})

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(obj, Undefined):
            fail(obj)
        if isinstance(obj, dict) and isinstance(argument, str) and argument in obj:
            return obj[argument]
        if isinstance(obj, list) and type(argument) is int and 0 <= argument < len(obj):
            return obj[argument]
        return self.undefined(nothing_at(obj, argument))

    def getattr(self, obj: Any, attribute: str) -> Any:
        return self.getitem(obj, attribute)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:  # noqa: ARG002
        return _operate(operator, left, right)

    def call_unop(self, context: Context, operator: str, arg: Any) -> Any:  # noqa: ARG002
        return _operate(operator, 0, arg)


def _make() -> _Environment:
    environment = _Environment(undefined=StrictUndefined, optimized=False, cache_size=0)
    environment.globals.clear()
    environment.tests.clear()
    environment.filters = dict(FILTERS)
    return environment


_ENVIRONMENT = _make()
