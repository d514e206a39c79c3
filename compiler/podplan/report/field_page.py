"""The page of a field of a profile or of a CR: its schema, and its effect on lowered objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby

from podplan import kubernetes
from podplan.core.provenance import Behavior
from podplan.core.suggestions import suggest_or_list
from podplan.core.typing import Any
from podplan.kinds.registry import KIND_NAMES
from podplan.report.lowering_map import FieldLowering, LoweredField, find_field_lowering
from podplan.report.terminal_style import BOLD, PLAIN, Style
from podplan.schema import catalog
from podplan.schema.fields import (
    TYPE_LIMITS,
    collect_bounds,
    collect_choices,
    collect_extra_words,
    collect_fields,
    collect_types,
    find_description,
    find_schemas_at,
)

Versions = Mapping[str, str]  # of operators, by API group
_NO_VERSIONS: Versions = {}
MAX_LOWERED_FIELDS = 12
MAX_PATH_STEPS = 40
_PREFERRED_KINDS = ("JobProfile", *KIND_NAMES)
_BRACKETS = re.compile(r"\[[^]]*\]")
_LIMIT_LABELS = {"default": "default", "minimum": "at least", "maximum": "at most"}


class UnknownTopicError(Exception):
    """A topic that is neither a rule nor a field; the message lists alternatives."""


def explain_topic(topic: str, operator_versions: Versions = _NO_VERSIONS) -> dict[str, Any]:
    """Describe ``Kind.path.to.field``, ``spec.field`` or a kind, as plain data.

    Entries of lists need no brackets. ``operator_versions`` are those of the configuration, by API group.
    Raises UnknownTopicError: if there is no such field.
    """
    api_version, slash, field = _BRACKETS.sub("", topic).rpartition("/")  # of group/version/Kind.path
    first, *steps = field.split(".")
    first = f"{api_version}{slash}{first}"
    if first in catalog.list_schema_names():
        return _build_field_entry(first, steps, operator_versions)
    for path in ([first, *steps], ["spec", first, *steps]):
        kind = next((kind for kind in _list_kinds() if _find_schemas(kind, path, operator_versions)), None)
        if kind is not None:
            return _build_field_entry(kind, path, operator_versions)
    if steps and first in ("spec", "metadata"):
        explanations = "; ".join(
            dict.fromkeys(
                _explain_missing_field(kind, [first, *steps], operator_versions)
                for kind in _PREFERRED_KINDS[:2]
            )
        )
        raise UnknownTopicError(explanations)
    known_topics = [
        *catalog.list_schema_names(),
        *collect_fields(find_schemas_at(_load_schema("JobProfile"), ["spec"]), _load_schema("JobProfile")),
    ]
    message = f'"{topic[:100]}" is no rule (podplan rules lists them) and no field'
    raise UnknownTopicError(message + suggest_or_list(first, known_topics))


def render_json(data: Mapping[str, Any]) -> str:
    """Render for machines: ``{"format": 1, "field": {...}}``."""
    return json.dumps({"format": 1, "field": data}, indent=2, ensure_ascii=False) + "\n"


def render_page(data: Mapping[str, Any], style: Style = PLAIN) -> str:
    """Render for people."""
    lines = [style.paint(".".join(filter(None, (data["kind"], data["path"]))), BOLD), ""]
    if data["description"]:
        lines += [*_indent_text(data["description"], style), ""]
    if data["type"]:
        lines += _indent_text(f"type: {' or '.join(data['type'])}", style)
    if data["oneOf"]:
        lines += _indent_text(f"one of: {', '.join(map(_format_value, data['oneOf']))}", style)
    if data["orOneOf"]:
        lines += _indent_text(f"or one of: {', '.join(map(_format_value, data['orOneOf']))}", style)
    for key, label in _LIMIT_LABELS.items():
        if key in data and data[key] not in TYPE_LIMITS:
            lines += _indent_text(f"{label}: {_format_value(data[key])}", style)
    if data["alsoIn"]:
        lines += _indent_text(f"also a field of: {', '.join(data['alsoIn'])}", style)
    lines += [*_render_lowering(data, style), *_render_fields(data["fields"], style)]
    for example in data.get("examples", ()):
        lines += ["", style.paint("example:", BOLD), *_render_example(example)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _render_lowering(data: Mapping[str, Any], style: Style) -> Iterator[str]:
    if data["becomes"]:
        yield from ("", style.paint("sets:", BOLD))
    for behaviors, parts in groupby(data["becomes"][:MAX_LOWERED_FIELDS], key=lambda part: part["facts"]):
        for part in parts:
            yield from _indent_text(f"{part['kind']} {part['path']}", style)
        for behavior in behaviors:
            yield from _render_behavior(behavior, style)
    if len(data["becomes"]) > MAX_LOWERED_FIELDS:
        yield from _indent_text(
            f"and {len(data['becomes']) - MAX_LOWERED_FIELDS} more (--format json)", style
        )
    for key, heading in (("otherwise", "if it is not set:"), ("facts", "related behaviours:")):
        if data[key]:
            yield from ("", style.paint(heading, BOLD))
        for behavior in data[key]:
            yield from _render_behavior(behavior, style, 2)
    if (
        data["path"]
        and not data["fields"]
        and not any(data[key] for key in ("becomes", "otherwise", "facts"))
    ):
        yield from ("", "  No Pod, Service or other lowered object depends on it.")


def _render_behavior(behavior: Mapping[str, Any], style: Style, indent: int = 4) -> Iterator[str]:
    value = f" [{_format_value(behavior['value'])}]" if "value" in behavior and indent == 2 else ""
    yield from _indent_text(
        f"{behavior['text']}{value} ({behavior['basis']}: {behavior['source']})", style, indent
    )


def _render_fields(entries: Iterable[Mapping[str, str]], style: Style) -> Iterator[str]:
    fields_list = list(entries)
    if fields_list:
        yield from ("", style.paint("fields:", BOLD))
    width = min(max((len(entry["name"]) for entry in fields_list), default=0), 32)
    for entry in fields_list:
        head = f"  {entry['name']:{width}}  "
        wrapped = style.wrap_text(entry["description"], len(head), width + 4)
        yield (head + wrapped[0]).rstrip()
        yield from wrapped[1:]


def _render_example(example: Mapping[str, Any], indent: str = "  ") -> Iterator[str]:
    """Render an example as YAML, with the fields of its spec on one line each."""
    for name, value in example.items():
        if name == "spec":
            yield f"{indent}{name}:"
            yield from _render_example(value, f"{indent}  ")
        else:
            yield f"{indent}{name}: {_format_value(value)}"


def _indent_text(text: str, style: Style, indent: int = 2) -> list[str]:
    first, *continuation = style.wrap_text(text, indent, indent + 2)
    return [" " * indent + first, *continuation]


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _build_field_entry(kind: str, steps: list[str], versions: Versions) -> dict[str, Any]:
    kind_schema, schemas = _load_schema(kind, versions), _find_schemas(kind, steps, versions)
    if not schemas:
        raise UnknownTopicError(_explain_missing_field(kind, steps, versions))
    path = ".".join(steps)
    lowering = find_field_lowering(kind, path) if path else FieldLowering()
    lowered_fields = _sort_lowered_fields(kind, lowering.lowered_fields)
    limits = {
        key: value for key, value in collect_bounds(schemas, kind_schema).items() if key in _LIMIT_LABELS
    }
    return {
        "kind": kind,
        "path": path,
        "description": find_description(schemas, kind_schema),
        "type": collect_types(schemas, kind_schema),
        "oneOf": collect_choices(schemas, kind_schema) if path else [],
        "orOneOf": collect_extra_words(schemas, kind_schema),
        **limits,
        "alsoIn": [
            other
            for other in _list_kinds()
            if other != kind and path and _find_schemas(other, steps, versions)
        ],
        "becomes": [
            {
                "kind": part.kind,
                "path": part.path,
                "facts": [_build_behavior_entry(fact) for fact in part.behaviors],
            }
            for part in lowered_fields
        ],
        "otherwise": [_build_behavior_entry(fact) for fact in lowering.default_behaviors],
        "facts": [_build_behavior_entry(fact) for fact in lowering.mentioning_behaviors],
        "fields": _list_subfields(kind, steps, versions),
        **({"examples": kind_schema["examples"]} if "examples" in kind_schema and not path else {}),
    }


def _sort_lowered_fields(kind: str, lowered_fields: Iterable[LoweredField]) -> list[LoweredField]:
    """Sort CRs before lowered objects, because a field of a CR has a separate page."""
    candidates = [*lowered_fields]
    behavior_groups = [*dict.fromkeys(_list_behavior_ids(part) for part in candidates)]
    is_profile = kind == "JobProfile"
    return sorted(
        candidates,
        key=lambda part: (
            is_profile and part.kind not in _PREFERRED_KINDS,
            behavior_groups.index(_list_behavior_ids(part)),
        ),
    )


def _list_behavior_ids(lowered_field: LoweredField) -> tuple[str, ...]:
    return tuple(fact.id for fact in lowered_field.behaviors)


def _build_behavior_entry(behavior: Behavior) -> dict[str, Any]:
    entry = {"id": behavior.id, "text": behavior.text, "basis": behavior.basis, "source": behavior.source}
    return {**entry, "value": behavior.value} if behavior.value is not None else entry


def _list_subfields(kind: str, steps: list[str], versions: Versions) -> list[dict[str, str]]:
    """Return the fields of a mapping; for a kind, also those of its spec."""
    kind_schema = _load_schema(kind, versions)
    subfields = collect_fields(_find_schemas(kind, steps, versions), kind_schema)
    descriptions = {name: find_description([entry], kind_schema) for name, entry in subfields.items()}
    if not steps and "spec" in subfields:
        spec_fields = collect_fields(_find_schemas(kind, ["spec"], versions), kind_schema)
        descriptions |= {
            f"spec.{name}": find_description([entry], kind_schema) for name, entry in spec_fields.items()
        }
    return [{"name": name, "description": said} for name, said in descriptions.items()]


def _explain_missing_field(kind: str, steps: list[str], versions: Versions) -> str:
    """Return which step of a path does not exist, with a suggestion."""
    for number, step in enumerate(steps):
        if not _find_schemas(kind, steps[: number + 1], versions):
            siblings = collect_fields(
                _find_schemas(kind, steps[:number], versions), _load_schema(kind, versions)
            )
            parent = ".".join([kind, *steps[:number]])
            suggestion = suggest_or_list(step, siblings) or "; there are none in it"
            return f'{parent} has no field "{step[:100]}"{suggestion}'
    return f"{kind} has no such field"


def _list_kinds() -> list[str]:
    """Return the kinds that have fields, profiles first, without Lists."""
    names = [name for name in catalog.list_schema_names() if not name.endswith("List")]
    return sorted(
        names,
        key=lambda name: (
            _PREFERRED_KINDS.index(name) if name in _PREFERRED_KINDS else len(_PREFERRED_KINDS),
            name,
        ),
    )


def _find_schemas(kind: str, steps: list[str], versions: Versions = _NO_VERSIONS) -> list[Mapping[str, Any]]:
    return find_schemas_at(_load_schema(kind, versions), steps) if len(steps) <= MAX_PATH_STEPS else []


def _load_schema(kind: str, versions: Versions = _NO_VERSIONS) -> dict[str, Any]:
    return _build_schema(kind, tuple(sorted(versions.items())))


@cache
def _build_schema(kind: str, versions: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """Build a schema once: the page of a field looks it up in all kinds."""
    return catalog.build_schema(kind, kubernetes.DEFAULT_VERSION, dict(versions))
