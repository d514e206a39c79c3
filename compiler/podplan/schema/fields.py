"""Walking a JSON Schema along a path: which fields may be there, what they mean, which values they take.

Conditions are not decided: a field that any branch has is a field. The conditions themselves say nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from podplan.core.typing import Any

Schema = Mapping[str, Any]
_COMBINING = ("allOf", "anyOf", "oneOf", "then", "else")


def at(whole: Schema, steps: Iterable[str | int]) -> list[Schema]:
    """The schemas of what is at a path, none where there is no such field; indexes are passed over."""
    here: list[Schema] = [whole]
    for step in steps:
        if isinstance(step, str):
            here = [found for part in here for found in _below(part, step, whole)]
    return here


def fields(here: Iterable[Schema], whole: Schema) -> dict[str, Schema]:
    """The fields that a mapping may have, or an entry of a list, by name."""
    found: dict[str, Schema] = {}
    for part in here:
        for inner in _parts(part, whole):
            for key, schema in inner.get("properties", {}).items():
                if key not in found or not description([found[key]], whole):
                    found[key] = schema
    return found


def description(here: Iterable[Schema], whole: Schema) -> str:
    """What a field means, "" where nothing says so."""
    told = (inner.get("description") for part in here for inner in _parts(part, whole, entries=False))
    return next((str(text) for text in told if text), "")


def types(here: Iterable[Schema], whole: Schema) -> list[str]:
    """The JSON types of a value, without null."""
    found: dict[str, None] = {}
    for part in here:
        for inner in _parts(part, whole, entries=False):
            named = inner.get("type", ())
            found |= dict.fromkeys([named] if isinstance(named, str) else named)
            found |= {"string": None} if "enum" in inner and "type" not in inner else {}
    return [name for name in found if name != "null"]


def choices(here: Iterable[Schema], whole: Schema) -> list[Any]:
    """The values that a scalar is chosen from, empty where it is free; of a list, those of its entries."""
    found: list[Any] = []
    for part in here:
        for inner in _parts(part, whole):
            found += inner.get("enum", ())
            found += [inner["const"]] if "const" in inner else []
            found += [True, False] if inner.get("type") == "boolean" else []
    return [value for number, value in enumerate(found) if value not in (None, "", *found[:number])]


def words(here: Iterable[Schema], whole: Schema) -> list[Any]:
    """The words that a value may be besides what its schema says: an ``if`` with only an ``else``."""
    found: list[Any] = []
    for part in here:
        for inner in _parts(part, whole, entries=False):
            if "else" in inner and "then" not in inner and isinstance(inner.get("if"), dict):
                found += inner["if"].get("enum", ())
    return [word for number, word in enumerate(found) if word is not None and word not in found[:number]]


def bounds(here: Iterable[Schema], whole: Schema) -> dict[str, Any]:
    """``default``, ``minimum``, ``maximum`` and ``pattern``, those that are said."""
    found: dict[str, Any] = {}
    for part in here:
        for inner in _parts(part, whole, entries=False):
            for key in ("default", "minimum", "maximum"):
                if key in inner:
                    found.setdefault(key, inner[key])
    return found


def _below(part: Schema, step: str, whole: Schema) -> list[Schema]:
    inner = list(_parts(part, whole))
    named = [one["properties"][step] for one in inner if step in one.get("properties", {})]
    return named or [
        one["additionalProperties"] for one in inner if isinstance(one.get("additionalProperties"), dict)
    ]


def _parts(
    part: Any, whole: Schema, entries: bool = True, seen: frozenset[str] = frozenset()
) -> Iterator[Schema]:
    """A schema with what it refers to and combines, and with those of the ``entries`` of a list."""
    if not isinstance(part, dict):
        return
    yield part
    reference = part.get("$ref")
    if isinstance(reference, str) and reference not in seen:
        yield from _parts(_resolved(reference, whole), whole, entries, seen | {reference})
    for key in _COMBINING:
        inner = part.get(key)
        for one in inner if isinstance(inner, list) else [inner]:
            yield from _parts(one, whole, entries, seen)
    if entries:
        yield from _parts(part.get("items"), whole, entries, seen)


def _resolved(reference: str, whole: Schema) -> Any:
    found: Any = whole
    for step in reference.removeprefix("#/").split("/"):
        found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
    return found
