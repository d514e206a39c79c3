"""Counts how often a validator visits the schemas of a policy for one value, before it validates a document.

A kilobyte can contain 31 schemas that each refer twice to the next one, and a validator visits 2 ** 30 of
them; no signal interrupts it. So the visits are counted, once for each schema and level of a document.
"""

from __future__ import annotations

from collections.abc import Sequence

from podplan.core.limits import MAX_DEPTH
from podplan.core.typing import Any, NamedTuple
from podplan.schema.custom_schemas import find_reference_target

_SAME_VALUE_LISTS = ("allOf", "anyOf", "oneOf")
_SAME_VALUE_SCHEMAS = ("not", "if", "then", "else")
# Keywords that evaluate the adjacent schemas again: three times, as measured.
_UNEVALUATED_KEYWORDS = frozenset({"unevaluatedProperties", "unevaluatedItems"})
_REEVALUATIONS = 4
_MAX_COUNTED = 1_000_000  # schemas, once for each level: takes some seconds
_LEAF = 0  # the number of all schemas without subschemas


class _ChildSchemas(NamedTuple):
    """Schemas of the values in an object or an array.

    A value is visited by one of ``by_name`` with all of ``by_pattern``, or else by ``fallback``; and by
    ``always``.
    """

    by_name: tuple[int, ...] = ()
    by_pattern: tuple[int, ...] = ()
    fallback: tuple[int, ...] = ()
    always: tuple[int, ...] = ()


class _SchemaNode(NamedTuple):
    """A schema by the numbers of its subschemas: ``same_value`` are applied to the same value."""

    same_value: tuple[int, ...] = ()
    object_children: _ChildSchemas = _ChildSchemas()
    array_children: _ChildSchemas = _ChildSchemas()


def count_visits(schema: Any, maximum: int) -> int:
    """Return how many schemas are visited, at most, for one value and its ancestors.

    A result above ``maximum`` is ``maximum`` + 1. ``schema`` is one that ``custom_schemas.build_validator``
    accepts, and a document is nested MAX_DEPTH levels deep. A schema that refers to itself for the same value
    exceeds the maximum, and so does one that is too big to be counted: 10,000 schemas, if they recur.
    """
    nodes = _build_nodes(schema)
    root, top = len(nodes) - 1, maximum + 1
    order, cyclic = _order_nodes(nodes)
    objects, arrays = [1] * len(nodes), [1] * len(nodes)
    for number in cyclic:
        objects[number] = arrays[number] = top
    inner_counts = [0] * len(nodes)  # there is nothing below the deepest level
    for level in range(MAX_DEPTH + 1):
        if level * len(nodes) > _MAX_COUNTED:
            return top
        for number in order:
            same_value, object_children, of_array = nodes[number]
            objects[number] = _count_schema_visits(objects, same_value, object_children, inner_counts, top)
            arrays[number] = _count_schema_visits(arrays, same_value, of_array, inner_counts, top)
        visit_counts = list(map(max, objects, arrays))
        if visit_counts[root] == top or visit_counts == inner_counts:
            break
        inner_counts = visit_counts
    return max(objects[root], arrays[root])


def _count_schema_visits(
    counts: list[int], same_value: tuple[int, ...], children: _ChildSchemas, inner_counts: list[int], top: int
) -> int:
    """Return one, plus the visits of the others; plain loops, because this is the hot spot."""
    by_name, by_pattern, fallback, always = children
    total = 1
    for number in same_value:
        total += counts[number]
    for number in always:
        total += inner_counts[number]
    if by_name or by_pattern or fallback:
        matched = max([inner_counts[one] for one in by_name], default=0) + sum(
            [inner_counts[one] for one in by_pattern]
        )
        total += max(matched, sum([inner_counts[one] for one in fallback]))
    return min(top, total)


def _order_nodes(nodes: Sequence[_SchemaNode]) -> tuple[list[int], list[int]]:
    """Return the schemas, each after those that it applies to the same value, and those in endless cycles."""
    dependents: list[list[int]] = [[] for _ in nodes]
    for number, node in enumerate(nodes):
        for ready in node.same_value:
            dependents[ready].append(number)
    pending_counts = [len(node.same_value) for node in nodes]
    order = [number for number, count in enumerate(pending_counts) if not count]
    for ready in order:  # the list grows during the loop
        for number in dependents[ready]:
            pending_counts[number] -= 1
            if not pending_counts[number]:
                order.append(number)
    return order, [number for number, count in enumerate(pending_counts) if count]


def _build_nodes(root: Any) -> list[_SchemaNode]:
    """Return all reachable schemas, by number; the last one is the root."""
    numbers: dict[int, int] = {}
    schemas: list[dict[str, Any]] = []

    def number_of(schema: Any) -> int:
        if not isinstance(schema, dict):
            return _LEAF
        if id(schema) not in numbers:
            schemas.append(schema)
            numbers[id(schema)] = len(schemas)
        return numbers[id(schema)]

    root_number = number_of(root)
    nodes = [_SchemaNode()]
    for schema in schemas:  # the list grows during the loop
        same_value = [one for key in _SAME_VALUE_LISTS for one in schema.get(key, ())]
        same_value += (schema[key] for key in _SAME_VALUE_SCHEMAS if key in schema)
        same_value += schema.get("dependentSchemas", {}).values()
        if "$ref" in schema:
            same_value.append(find_reference_target(root, schema["$ref"]))
        evaluations = 1 if _UNEVALUATED_KEYWORDS.isdisjoint(schema) else _REEVALUATIONS

        def each(key: str, schema: dict[str, Any] = schema) -> tuple[int, ...]:
            """Return the number of the schema under one keyword, if it has one."""
            return (number_of(schema[key]),) if key in schema else ()

        object_children = _ChildSchemas(
            by_name=tuple({number_of(one) for one in schema.get("properties", {}).values()}),
            by_pattern=tuple(number_of(one) for one in schema.get("patternProperties", {}).values()),
            fallback=each("additionalProperties"),
            always=each("unevaluatedProperties") + each("propertyNames"),
        )
        array_children = _ChildSchemas(
            by_name=tuple({number_of(one) for one in schema.get("prefixItems", ())}),
            fallback=each("items"),
            always=each("unevaluatedItems") + each("contains") * evaluations,
        )
        nodes.append(
            _SchemaNode(tuple(map(number_of, same_value)) * evaluations, object_children, array_children)
        )
    return [*nodes, nodes[root_number]]
