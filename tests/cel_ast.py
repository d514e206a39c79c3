"""The syntax tree of a CEL expression with the types that the checker inferred, and those that it only
guessed.

The checker infers an undeclared type from its first use: in ``m.orValue({}).all(k, x[k] ...)`` the key is an
int, because a list comes first among the types that can be indexed. It then binds a conversion such as
``string(k)`` to the overload for ints, and the API server fails with "no such overload: string(string)". The
evaluator of podplan always chooses the overload by the value; the API server does so only for values of type
dyn.

The messages are those of cel.expr.CheckedExpr: https://github.com/google/cel-spec/tree/master/proto/cel/expr.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from podplan.lint.cel.environment import check_expression

Message = dict[int, list[int | bytes]]  # the values of each field, by its number

_CONVERSIONS = frozenset({"bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"})
_IDENT, _SELECT, _CALL, _LIST, _STRUCT, _COMPREHENSION = 4, 5, 6, 7, 8, 9  # kinds of Expr
_PRIMITIVE, _LIST_TYPE, _MAP_TYPE = 3, 6, 7  # kinds of Type
_STRING = {_PRIMITIVE: [5]}


class _Checked(NamedTuple):
    types: Mapping[int, Message]
    overloads: Mapping[int, list[str]]


def guessed_conversions(expression: str) -> list[str]:
    """Return the conversions in an expression that work for one type of argument, which the checker has
    guessed."""
    parsed = _message(_bytes(_message(check_expression(expression).serialize()), 2))
    checked_expression = _Checked(
        {_int(entry, 1): _part(entry, 2) for entry in _parts(parsed, 3)},
        {_int(entry, 1): [_text(name) for name in _part(entry, 2).get(3, [])] for entry in _parts(parsed, 2)},
    )
    return list(_conversions(_part(parsed, 4), checked_expression, {}))


def _conversions(expr: Message, types: _Checked, loops: Mapping[str, Message]) -> Iterator[str]:
    """Yield the conversions; ``loops`` has the types of the ranges of the loops around ``expr``, by
    variable."""
    if _CALL in expr:
        call = _part(expr, _CALL)
        function, arguments = _text(call[2][0]), _parts(call, 3)
        overloads = types.overloads.get(_int(expr, 2), [])
        if (
            function in _CONVERSIONS
            and len(overloads) == 1
            and (_is_identity(overloads[0]) or _is_guessed_key(arguments[0], loops, types))
        ):
            yield f"{function}() is bound to {overloads[0]}"
    if _COMPREHENSION in expr:
        comprehension = _part(expr, _COMPREHENSION)
        looped = _part(comprehension, 2)
        yield from _conversions(looped, types, loops)
        loops = {**loops, _text(comprehension[1][0]): types.types.get(_int(looped, 2), {})}
        for number in (4, 5, 6, 7):
            yield from _conversions(_part(comprehension, number), types, loops)
        return
    for child in _children(expr):
        yield from _conversions(child, types, loops)


def _is_identity(overload: str) -> bool:
    """Whether a conversion returns its argument, so that it was chosen only by a guess."""
    taken, _, given = overload.partition("_to_")
    return taken == given


def _is_guessed_key(argument: Message, loops: Mapping[str, Message], types: _Checked) -> bool:
    """Whether an argument is the key of a mapping, which is always text, and is not known as text."""
    if _IDENT not in argument:
        return False
    name = _text(_part(argument, _IDENT)[1][0])
    return _MAP_TYPE in loops.get(name, {}) and types.types.get(_int(argument, 2)) != _STRING


def _children(expr: Message) -> Iterator[Message]:
    for kind, numbers in ((_SELECT, (1,)), (_CALL, (1, 3)), (_LIST, (1,))):
        for part in _parts(expr, kind):
            yield from (child for number in numbers for child in _parts(part, number))
    for struct in _parts(expr, _STRUCT):
        for entry in _parts(struct, 2):
            yield from (*_parts(entry, 3), *_parts(entry, 4))


def _message(data: bytes) -> Message:
    """Parse the fields of a protobuf message; the only fields of fixed width in CheckedExpr are doubles."""
    found: Message = {}
    offset = 0
    while offset < len(data):
        tag, offset = _varint(data, offset)
        number, wire_type = tag >> 3, tag & 7
        value: int | bytes
        if wire_type == 0:
            value, offset = _varint(data, offset)
        else:
            size, offset = (8, offset) if wire_type == 1 else _varint(data, offset)
            value, offset = data[offset : offset + size], offset + size
        found.setdefault(number, []).append(value)
    return found


def _varint(data: bytes, offset: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[offset]
        value |= (byte & 0x7F) << shift
        offset, shift = offset + 1, shift + 7
        if byte < 0x80:
            return value, offset


def _bytes(message: Message, number: int) -> bytes:
    value = message[number][0]
    assert isinstance(value, bytes)
    return value


def _parts(message: Message, number: int) -> list[Message]:
    return [_message(value) for value in message.get(number, ()) if isinstance(value, bytes)]


def _part(message: Message, number: int) -> Message:
    return _message(_bytes(message, number))


def _int(message: Message, number: int) -> int:
    value = message.get(number, [0])[0]
    assert isinstance(value, int)
    return value


def _text(value: int | bytes) -> str:
    assert isinstance(value, bytes)
    return value.decode()
