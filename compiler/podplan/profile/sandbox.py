"""Expressions that are more than a path, worked out by jinja2 within narrow bounds.

The sandbox of jinja2 alone lets an expression take all memory (dependencies §5). So the parsed tree is held
against an allow-list before anything runs, every filter and operator is one of ours and bounded, and looking
something up never reaches an attribute of a Python object.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NoReturn

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, Undefined, nodes
from jinja2.environment import TemplateExpression
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from podplan.limits import MAX_EXPRESSION_DEPTH, MAX_EXPRESSION_RESULT, MAX_EXPRESSIONS_COMPILED
from podplan.profile.expressions import ROOTS, Expression, Fault, as_text, nothing_at, settled, size
from podplan.profile.nearest import did_you_mean

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
    shown = source if len(source) <= 60 else f"{source[:59]}…"
    return f"${{{{ {shown} }}}} is not an expression: {why.rstrip('.')}"


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
        raise Fault(f"an expression may be {MAX_EXPRESSION_DEPTH} levels deep at most")
    kind = type(node)
    if kind not in _ALLOWED:
        raise Fault(_INSTEAD.get(kind, f"{kind.__name__} is not allowed in an expression"))
    if isinstance(node, nodes.Name) and node.name not in ROOTS:
        near = did_you_mean(node.name, ROOTS)
        raise Fault(f'an expression sees nothing called "{node.name}"{near}', "PROF009")
    if isinstance(node, nodes.Const):
        settled(node.value)
    if isinstance(node, nodes.Filter):
        if node.name not in _FILTERS:
            raise Fault(f'there is no filter "{node.name}"{did_you_mean(node.name, _FILTERS)}')
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


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _fail(value: Undefined) -> NoReturn:
    raise Fault(value._undefined_message, "PROF009")


def _operate(operator: str, left: Any, right: Any) -> Any:
    for value in (left, right):
        if isinstance(value, Undefined):
            _fail(value)
    if _is_number(left) and _is_number(right):
        return settled(_arithmetic(operator, left, right))
    if operator == "+" and type(left) is type(right) and type(left) in (str, list):
        if size(left) + size(right) > MAX_EXPRESSION_RESULT:
            raise Fault(f"the result has more than {MAX_EXPRESSION_RESULT} characters")
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
            _fail(obj)
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


def _default(value: Any, fallback: Any) -> Any:
    return fallback if isinstance(value, Undefined) or value is None else value


def _int(value: Any) -> int:
    if isinstance(value, str):
        if len(value) > 64:
            raise Fault("the text is too long for a number")
        try:
            return int(value)
        except ValueError:
            raise Fault(f'"{value}" is not a whole number') from None
    if not _is_number(value):
        raise Fault("int takes text or a number")
    return int(value)


def _float(value: Any) -> float:
    if isinstance(value, str) and len(value) <= 64:
        try:
            return float(value)
        except ValueError:
            raise Fault(f'"{value}" is not a number') from None
    if not _is_number(value):
        raise Fault("float takes text or a number")
    return float(value)


def _replace(value: Any, old: Any, new: Any) -> str:
    text, old, new = as_text(value), as_text(old), as_text(new)
    if not old:
        raise Fault("replace needs the text that it replaces")
    if len(text) + text.count(old) * (len(new) - len(old)) > MAX_EXPRESSION_RESULT:
        raise Fault(f"the result has more than {MAX_EXPRESSION_RESULT} characters")
    return text.replace(old, new)


def _join(value: Any, separator: Any = "") -> str:
    if not isinstance(value, list):
        raise Fault("join takes a list")
    parts, between = [as_text(entry) for entry in value], as_text(separator)
    if sum(map(len, parts)) + len(between) * len(parts) > MAX_EXPRESSION_RESULT:
        raise Fault(f"the result has more than {MAX_EXPRESSION_RESULT} characters")
    return between.join(parts)


def _round(value: Any, digits: Any = 0) -> Any:
    if not _is_number(value) or type(digits) is not int or not 0 <= digits <= 15:
        raise Fault("round takes a number, and how many digits stay (0 to 15)")
    return round(value, digits) if digits else round(value)


def _tojson(value: Any) -> str:
    size(value)
    return json.dumps(settled(value), sort_keys=True, ensure_ascii=False, separators=(", ", ": "))


def _extreme(choose: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def filtered(value: Any) -> Any:
        if not isinstance(value, list) or not value:
            raise Fault(f"{choose.__name__} takes a list that is not empty")
        return choose(value)

    return filtered


def _length(value: Any) -> int:
    if not isinstance(value, str | list | dict):
        raise Fault("length takes text, a list or a map")
    return len(value)


def _abs(value: Any) -> Any:
    if not _is_number(value):
        raise Fault("abs takes a number")
    return abs(value)


def _strict(function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that refuses what is not there."""

    def filtered(*arguments: Any) -> Any:
        for argument in arguments:
            if isinstance(argument, Undefined):
                _fail(argument)
        return function(*arguments)

    return filtered


_NEEDS_VALUES: dict[str, Callable[..., Any]] = {
    "int": _int,
    "float": _float,
    "string": as_text,
    "lower": lambda value: as_text(value).lower(),
    "upper": lambda value: as_text(value).upper(),
    "replace": _replace,
    "join": _join,
    "round": _round,
    "tojson": _tojson,
    "min": _extreme(min),
    "max": _extreme(max),
    "length": _length,
    "abs": _abs,
}
_FILTERS: dict[str, Callable[..., Any]] = {
    "default": _default,
    **{name: _strict(function) for name, function in _NEEDS_VALUES.items()},
}


def _make() -> _Environment:
    environment = _Environment(undefined=StrictUndefined, optimized=False, cache_size=0)
    environment.globals.clear()
    environment.tests.clear()
    environment.filters = dict(_FILTERS)
    return environment


_ENVIRONMENT = _make()
