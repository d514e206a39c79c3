"""A field of a profile or of a CR as a page, from the descriptions in the schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from podplan import kubernetes, schema

Schema = Mapping[str, Any]
BOUNDS = {"default": "default", "enum": "one of", "minimum": "at least", "maximum": "at most"}
COMBINING = ("allOf", "anyOf", "oneOf", "if", "then", "else")


class NoSuchField(Exception):
    """A topic that is neither a rule nor a field; the message says what there is."""


def page(topic: str) -> str:
    """The page of ``Schema.path.to.field``; list entries need no brackets. Raises NoSuchField."""
    name, *steps = topic.replace("[]", "").split(".")
    if name not in schema.names():
        listed = ", ".join(schema.names())
        raise NoSuchField(f'"{topic}" is no rule (podplan rules lists them), and fields begin with {listed}')
    whole = schema.show(name, kubernetes.DEFAULT_VERSION)
    here: list[Schema] = [whole]
    for number, step in enumerate(steps):
        below = [found for part in here for found in _below(part, step, whole)]
        if not below:
            there = ", ".join(sorted({key for part in here for key in _keys(part, whole)}))
            at = ".".join([name, *steps[:number]])
            raise NoSuchField(f'{at} has no field "{step}"; there is {there or "nothing"}')
        here = below
    return _page(topic, here, whole)


def _page(topic: str, here: list[Schema], whole: Schema) -> str:
    lines = [topic, ""]
    lines += dict.fromkeys(f"  {said}" for said in (_description(part, whole) for part in here) if said)
    types = dict.fromkeys(_type(part, whole) for part in here)
    lines.append(f"  type: {' or '.join(kind for kind in types if kind) or 'any'}")
    for key, said in BOUNDS.items():
        found = (_shown(inner[key]) for part in here for inner in _parts(part, whole) if key in inner)
        lines += dict.fromkeys(f"  {said}: {value}" for value in found)
    fields = {key: entry for part in here for key, entry in _fields(part, whole)}
    if fields:
        width = max(map(len, fields))
        lines += ["", "fields:"]
        lines += [f"  {key:{width}}  {_description(entry, whole)}".rstrip() for key, entry in fields.items()]
    return "\n".join(lines) + "\n"


def _shown(value: Any) -> Any:
    """A value of a schema as text; lists without null, which stands for not written."""
    return ", ".join(str(entry) for entry in value if entry is not None) if isinstance(value, list) else value


def _parts(part: Any, whole: Schema) -> Iterator[Schema]:
    """A schema with what it refers to and combines, and the entries of lists."""
    if not isinstance(part, dict):
        return
    yield part
    if isinstance(part.get("$ref"), str):
        yield from _parts(_resolved(part["$ref"], whole), whole)
    for key in COMBINING:
        inner = part.get(key)
        for entry in inner if isinstance(inner, list) else [inner]:
            yield from _parts(entry, whole)
    yield from _parts(part.get("items"), whole)


def _resolved(reference: str, whole: Schema) -> Any:
    found: Any = whole
    for step in reference.removeprefix("#/").split("/"):
        found = found.get(step.replace("~1", "/").replace("~0", "~"), {}) if isinstance(found, dict) else {}
    return found


def _fields(part: Schema, whole: Schema) -> Iterator[tuple[str, Schema]]:
    for inner in _parts(part, whole):
        yield from inner.get("properties", {}).items()


def _keys(part: Schema, whole: Schema) -> Iterator[str]:
    return (key for key, _ in _fields(part, whole))


def _below(part: Schema, step: str, whole: Schema) -> Iterator[Schema]:
    named = [entry for key, entry in _fields(part, whole) if key == step]
    yield from named
    if not named:
        for inner in _parts(part, whole):
            if isinstance(inner.get("additionalProperties"), dict):
                yield inner["additionalProperties"]


def _type(part: Schema, whole: Schema) -> str:
    for inner in _parts(part, whole):
        kind = inner.get("type")
        if kind:
            return " or ".join(k for k in kind if k != "null") if isinstance(kind, list) else str(kind)
    return ""


def _description(part: Schema, whole: Schema) -> str:
    return next((str(inner["description"]) for inner in _parts(part, whole) if inner.get("description")), "")
