"""How often the schema of a policy is asked about one value, counted before a document is there.

A kilobyte can have 31 schemas that each refer twice to the next one, and whoever validates goes through
2 ** 30 of them; no signal ends that. So the visits are counted, once for each schema and level of a document.
"""

from __future__ import annotations

from collections.abc import Sequence

from podplan.core.limits import MAX_DEPTH
from podplan.core.typing import Any, NamedTuple
from podplan.schema.custom_schemas import target

_LISTS_HERE = ("allOf", "anyOf", "oneOf")
_ONE_HERE = ("not", "if", "then", "else")
# What looks for values that nothing else has seen asks all that is beside it anew: three times, measured.
_UNEVALUATED = frozenset({"unevaluatedProperties", "unevaluatedItems"})
_ANEW = 4
_MOST_COUNTED = 1_000_000  # schemas, once for each level: some seconds
_LEAF = 0  # the number of all schemas that have no others in them


class _Inside(NamedTuple):
    """Schemas of what is in an object or an array.

    For a part there is one of ``named`` with all of ``besides``, or else ``others``; and ``always``.
    """

    named: tuple[int, ...] = ()
    besides: tuple[int, ...] = ()
    others: tuple[int, ...] = ()
    always: tuple[int, ...] = ()


class _Node(NamedTuple):
    """A schema by the numbers of those in it: ``here`` are asked about the same value."""

    here: tuple[int, ...] = ()
    of_object: _Inside = _Inside()
    of_array: _Inside = _Inside()


def visits(schema: Any, bound: int) -> int:
    """How many schemas are asked, at most, about one value and those on the way to it.

    Where that is more than ``bound``, it is ``bound`` + 1. ``schema`` is one that ``foreign.validator``
    takes, and a document is nested MAX_DEPTH levels deep. What refers to itself without going into a value
    counts as more, and so does what is too big to be counted: 10,000 schemas, if they recur.
    """
    nodes = _nodes(schema)
    root, top = len(nodes) - 1, bound + 1
    order, endless = _ordered(nodes)
    objects, arrays = [1] * len(nodes), [1] * len(nodes)
    for one in endless:
        objects[one] = arrays[one] = top
    inner = [0] * len(nodes)  # below the deepest level there is nothing
    for level in range(MAX_DEPTH + 1):
        if level * len(nodes) > _MOST_COUNTED:
            return top
        for one in order:
            here, of_object, of_array = nodes[one]
            objects[one] = _asked(objects, here, of_object, inner, top)
            arrays[one] = _asked(arrays, here, of_array, inner, top)
        outer = list(map(max, objects, arrays))
        if outer[root] == top or outer == inner:
            break
        inner = outer
    return max(objects[root], arrays[root])


def _asked(counts: list[int], here: tuple[int, ...], inside: _Inside, inner: list[int], top: int) -> int:
    """One, and what that many others are asked; plain loops, since this is all the work."""
    named, besides, others, always = inside
    total = 1
    for one in here:
        total += counts[one]
    for one in always:
        total += inner[one]
    if named or besides or others:
        matched = max([inner[one] for one in named], default=0) + sum([inner[one] for one in besides])
        total += max(matched, sum([inner[one] for one in others]))
    return min(top, total)


def _ordered(nodes: Sequence[_Node]) -> tuple[list[int], list[int]]:
    """The schemas, each after those that it asks about the same value; and those that never end asking."""
    asked_by: list[list[int]] = [[] for _ in nodes]
    for number, node in enumerate(nodes):
        for one in node.here:
            asked_by[one].append(number)
    waits_for = [len(node.here) for node in nodes]
    order = [number for number, count in enumerate(waits_for) if not count]
    for one in order:  # which grows meanwhile
        for number in asked_by[one]:
            waits_for[number] -= 1
            if not waits_for[number]:
                order.append(number)
    return order, [number for number, count in enumerate(waits_for) if count]


def _nodes(root: Any) -> list[_Node]:
    """All schemas that are ever asked, by number; the last one is the root."""
    numbers: dict[int, int] = {}
    schemas: list[dict[str, Any]] = []

    def number(schema: Any) -> int:
        if not isinstance(schema, dict):
            return _LEAF
        if id(schema) not in numbers:
            schemas.append(schema)
            numbers[id(schema)] = len(schemas)
        return numbers[id(schema)]

    last = number(root)
    nodes = [_Node()]
    for schema in schemas:  # which grows meanwhile
        here = [one for key in _LISTS_HERE for one in schema.get(key, ())]
        here += (schema[key] for key in _ONE_HERE if key in schema)
        here += schema.get("dependentSchemas", {}).values()
        if "$ref" in schema:
            here.append(target(root, schema["$ref"]))
        times = 1 if _UNEVALUATED.isdisjoint(schema) else _ANEW

        def each(key: str, schema: dict[str, Any] = schema) -> tuple[int, ...]:
            """The schema below one keyword, if it has one."""
            return (number(schema[key]),) if key in schema else ()

        of_object = _Inside(
            named=tuple({number(one) for one in schema.get("properties", {}).values()}),
            besides=tuple(number(one) for one in schema.get("patternProperties", {}).values()),
            others=each("additionalProperties"),
            always=each("unevaluatedProperties") + each("propertyNames"),
        )
        of_array = _Inside(
            named=tuple({number(one) for one in schema.get("prefixItems", ())}),
            others=each("items"),
            always=each("unevaluatedItems") + each("contains") * times,
        )
        nodes.append(_Node(tuple(map(number, here)) * times, of_object, of_array))
    return [*nodes, nodes[last]]
