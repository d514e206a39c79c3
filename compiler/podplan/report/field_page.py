"""A field of a profile or of a CR explained: what the schema says of it, and what lowering does with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from podplan import kubernetes
from podplan.core.provenance import Fact
from podplan.core.suggestions import meant_or_known
from podplan.core.typing import Any
from podplan.kinds.registry import KIND_NAMES
from podplan.report.lowering_map import Becoming, Part, becoming
from podplan.report.terminal_style import BOLD, PLAIN, Style
from podplan.schema import catalog
from podplan.schema.fields import at, bounds, choices, description, fields, types, words

MAX_PARTS = 12
MAX_STEPS = 40
_FIRST = ("JobProfile", *KIND_NAMES)
_BRACKETS = re.compile(r"\[[^]]*\]")
_BOUNDS = {"default": "default", "minimum": "at least", "maximum": "at most"}


class NoSuchField(Exception):
    """A topic that is neither a rule nor a field; the message says what there is."""


def explained(topic: str) -> dict[str, Any]:
    """What there is to say of ``Kind.path.to.field``, of ``spec.field`` or of a kind, as plain data.

    Entries of lists need no brackets. Raises NoSuchField.
    """
    first, *steps = _BRACKETS.sub("", topic).split(".")
    if first in catalog.names():
        return _field(first, steps)
    kinds = [kind for kind in _kinds() if _here(kind, [first, *steps])]
    if kinds:
        return _field(kinds[0], [first, *steps])
    if steps and first in ("spec", "metadata"):
        near = "; ".join(dict.fromkeys(_missing(kind, [first, *steps]) for kind in _FIRST[:2]))
        raise NoSuchField(near)
    known = [*catalog.names(), *fields(at(_schema("JobProfile"), ["spec"]), _schema("JobProfile"))]
    said = f'"{topic[:100]}" is no rule (podplan rules lists them) and no field'
    raise NoSuchField(said + meant_or_known(first, known))


def as_json(data: Mapping[str, Any]) -> str:
    """The same for programs: ``{"format": 1, "field": {...}}``."""
    return json.dumps({"format": 1, "field": data}, indent=2, ensure_ascii=False) + "\n"


def page(data: Mapping[str, Any], style: Style = PLAIN) -> str:
    """The same for people."""
    lines = [style.paint(".".join(filter(None, (data["kind"], data["path"]))), BOLD), ""]
    if data["description"]:
        lines += [*_indented(data["description"], style), ""]
    if data["type"]:
        lines += _indented(f"type: {' or '.join(data['type'])}", style)
    if data["oneOf"]:
        lines += _indented(f"one of: {', '.join(map(_shown, data['oneOf']))}", style)
    if data["orOneOf"]:
        lines += _indented(f"or one of: {', '.join(map(_shown, data['orOneOf']))}", style)
    for key, said in _BOUNDS.items():
        if key in data:
            lines += _indented(f"{said}: {_shown(data[key])}", style)
    if data["alsoIn"]:
        lines += _indented(f"also a field of: {', '.join(data['alsoIn'])}", style)
    lines += [*_lowering(data, style), *_below(data["fields"], style)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _lowering(data: Mapping[str, Any], style: Style) -> Iterator[str]:
    if data["becomes"]:
        yield from ("", style.paint("what becomes of it:", BOLD))
    for same_facts, parts in groupby(data["becomes"][:MAX_PARTS], key=lambda part: part["facts"]):
        for part in parts:
            yield from _indented(f"{part['kind']} {part['path']}", style)
        for fact in same_facts:
            yield from _fact(fact, style)
    if len(data["becomes"]) > MAX_PARTS:
        yield from _indented(f"and {len(data['becomes']) - MAX_PARTS} more (--format json)", style)
    for key, said in (("otherwise", "where it is not written:"), ("facts", "what is known of it:")):
        if data[key]:
            yield from ("", style.paint(said, BOLD))
        for fact in data[key]:
            yield from _fact(fact, style, 2)
    if (
        data["path"]
        and not data["fields"]
        and not any(data[key] for key in ("becomes", "otherwise", "facts"))
    ):
        yield from ("", "  No Pod, Service or other lowered object depends on it.")


def _fact(fact: Mapping[str, Any], style: Style, indent: int = 4) -> Iterator[str]:
    value = f" [{_shown(fact['value'])}]" if "value" in fact and indent == 2 else ""
    yield from _indented(f"{fact['text']}{value} ({fact['basis']}: {fact['source']})", style, indent)


def _below(entries: Iterable[Mapping[str, str]], style: Style) -> Iterator[str]:
    listed = list(entries)
    if listed:
        yield from ("", style.paint("fields:", BOLD))
    width = min(max((len(entry["name"]) for entry in listed), default=0), 32)
    for entry in listed:
        head = f"  {entry['name']:{width}}  "
        told = style.lines(entry["description"], len(head), width + 4)
        yield (head + told[0]).rstrip()
        yield from told[1:]


def _indented(text: str, style: Style, indent: int = 2) -> list[str]:
    first, *more = style.lines(text, indent, indent + 2)
    return [" " * indent + first, *more]


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _field(kind: str, steps: list[str]) -> dict[str, Any]:
    whole, here = _schema(kind), _here(kind, steps)
    if not here:
        raise NoSuchField(_missing(kind, steps))
    path = ".".join(steps)
    came = becoming(kind, path) if path else Becoming()
    parts = _most_telling(kind, came.parts)
    limits = {key: value for key, value in bounds(here, whole).items() if key in _BOUNDS}
    return {
        "kind": kind,
        "path": path,
        "description": description(here, whole),
        "type": types(here, whole),
        "oneOf": choices(here, whole) if path else [],
        "orOneOf": words(here, whole),
        **limits,
        "alsoIn": [other for other in _kinds() if other != kind and path and _here(other, steps)],
        "becomes": [
            {"kind": part.kind, "path": part.path, "facts": [_told(fact) for fact in part.facts]}
            for part in parts
        ],
        "otherwise": [_told(fact) for fact in came.otherwise],
        "facts": [_told(fact) for fact in came.told],
        "fields": _fields_below(kind, steps),
    }


def _most_telling(kind: str, parts: Iterable[Part]) -> list[Part]:
    """CRs before what they lower to, since a CR has a page of its own."""
    found = [*parts]
    by_facts = [*dict.fromkeys(_ids(part) for part in found)]
    of_cr = kind == "JobProfile"
    return sorted(found, key=lambda part: (of_cr and part.kind not in _FIRST, by_facts.index(_ids(part))))


def _ids(part: Part) -> tuple[str, ...]:
    return tuple(fact.id for fact in part.facts)


def _told(fact: Fact) -> dict[str, Any]:
    told = {"id": fact.id, "text": fact.text, "basis": fact.basis, "source": fact.source}
    return {**told, "value": fact.value} if fact.value is not None else told


def _fields_below(kind: str, steps: list[str]) -> list[dict[str, str]]:
    """The fields of a mapping; of a whole kind also those of its spec."""
    whole = _schema(kind)
    found = fields(_here(kind, steps), whole)
    named = {name: description([entry], whole) for name, entry in found.items()}
    if not steps and "spec" in found:
        inside = fields(_here(kind, ["spec"]), whole)
        named |= {f"spec.{name}": description([entry], whole) for name, entry in inside.items()}
    return [{"name": name, "description": said} for name, said in named.items()]


def _missing(kind: str, steps: list[str]) -> str:
    """Which step of a path there is not, and what was probably meant."""
    for number, step in enumerate(steps):
        if not _here(kind, steps[: number + 1]):
            known = fields(_here(kind, steps[:number]), _schema(kind))
            above = ".".join([kind, *steps[:number]])
            meant = meant_or_known(step, known) or "; there are none in it"
            return f'{above} has no field "{step[:100]}"{meant}'
    return f"{kind} has no such field"


def _kinds() -> list[str]:
    """The kinds that have fields, profiles first; not their Lists."""
    names = [name for name in catalog.names() if not name.endswith("List")]
    return sorted(names, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name))


def _here(kind: str, steps: list[str]) -> list[Mapping[str, Any]]:
    return at(_schema(kind), steps) if len(steps) <= MAX_STEPS else []


def _schema(kind: str) -> dict[str, Any]:
    return catalog.show(kind, kubernetes.DEFAULT_VERSION)
