"""``--set key=value``: an overlay from the command line, over that of the environment."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import islice

from podplan.core.findings import Diagnostic
from podplan.core.lazy_regex import compile_lazily
from podplan.core.limits import MAX_DEPTH
from podplan.core.package_data import read_bundled_file
from podplan.core.provenance import (
    Cursor,
    Flag,
    TracedDocument,
    attribute_to,
    build_traced_document,
    root_cursor,
)
from podplan.core.suggestions import suggest_or_list
from podplan.core.truncation import truncate
from podplan.core.typing import Any, NoReturn
from podplan.profile.environments import METADATA_FIELDS, apply_overlay
from podplan.profile.merge import KEYED_LISTS, FieldArea, is_expression
from podplan.schema import validate_against
from podplan.yaml.scalars import Scalar, resolve_plain

_STEPS = compile_lazily(r"(?:[^.\\]|\\.)+")
_MAX_SHOWN_LENGTH = 200  # characters of a key, and of a value, in a message
_AS_ENVIRONMENT = ("spec", "environments", "set")
_FORBIDDEN_FIELDS = frozenset({"extends", "environments", "matrix", "values"})


class _InvalidFlag(Exception):
    """The reason why a flag cannot be applied."""


def apply_set_flags(
    doc: TracedDocument, sets: Mapping[str, str], diagnostics: list[Diagnostic]
) -> tuple[TracedDocument, dict[str, Cursor]]:
    """Return ``doc`` with the flags merged, and the values that they set for params.

    A key is a path below the spec, such as ``schedule.queue`` or ``roles.worker.replicas``, or one of
    ``params.NAME``, ``namespace``, ``labels.KEY`` and ``annotations.KEY``; ``\\.`` is a dot inside a key. A
    value is parsed as a YAML scalar of Kubernetes, or as text if the field requires text; ``null`` deletes.
    The value of a param of type array or object is parsed as JSON.
    """
    spec: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    params: dict[str, Any] = {}
    for key, text in sets.items():
        flag = Flag(f"--set {_truncate_text(key)}={_truncate_text(text)}")
        steps = [step[0].replace("\\", "") for step in islice(_STEPS.finditer(key), MAX_DEPTH + 1)]
        try:
            if len(steps) > MAX_DEPTH:
                raise _InvalidFlag(f"a path has at most {MAX_DEPTH} fields")
            if len(steps) == 2 and steps[0] == "params":
                params[steps[1]] = attribute_to(flag, _parse_param(doc, steps[1], text))
            elif steps and steps[0] in METADATA_FIELDS:
                _set_path(metadata, steps, attribute_to(flag, None if text == "null" else text))
            else:
                _set_path(spec, steps, attribute_to(flag, _parse_field_value(doc, steps, text)))
        except _InvalidFlag as refusal:
            diagnostics.append(Diagnostic("PROF015", f"{flag.name}: {refusal}", ("spec",), doc=doc))
    overlay = build_traced_document(
        attribute_to(
            Flag("--set"), {"spec": _convert_keyed_lists(spec), "metadata": metadata, "params": params}
        ),
        "--set",
    )
    overlay_root = root_cursor(overlay)
    before = len(diagnostics)
    result = apply_overlay(doc, overlay_root.get("spec"), overlay_root.get("metadata"), diagnostics)
    if len(diagnostics) == before:
        diagnostics += _problems_of_form(overlay)
    return result, {name: overlay_root.get("params", name) for name in params}


def _problems_of_form(overlay: TracedDocument) -> list[Diagnostic]:
    """Validate flags as an overlay, as in a file: a flag may have an invalid value."""
    fields = {**overlay.data["spec"], **overlay.data["metadata"]}
    found: list[Diagnostic] = []
    for problem in validate_against("JobProfile", {"spec": {"environments": {"set": fields}}}):
        path = problem.path[len(_AS_ENVIRONMENT) :]
        if path and problem.path[: len(_AS_ENVIRONMENT)] == _AS_ENVIRONMENT:
            part = "metadata" if path[0] in METADATA_FIELDS else "spec"
            found.append(Diagnostic("PROF001", problem.message, (part, *path), doc=overlay))
    return found


def _truncate_text(text: str) -> str:
    return truncate(text, _MAX_SHOWN_LENGTH)


def _set_path(tree: dict[str, Any], steps: list[str], leaf: Any) -> None:
    for step in steps[:-1]:
        tree = tree.setdefault(step, {})
        if not isinstance(tree, dict):
            raise _InvalidFlag(f'another --set gives "{_truncate_text(step)}" a value of its own')
    if isinstance(tree.get(steps[-1]), dict):
        raise _InvalidFlag("another --set gives a value to a field below")
    tree[steps[-1]] = leaf


def _convert_keyed_lists(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the overlay with its keyed lists as lists, also in roles."""
    return {
        key: [
            {"name": name, **_convert_keyed_lists(fields)}
            for name, fields in value.items()
            if isinstance(fields, dict)
        ]
        if key in KEYED_LISTS and isinstance(value, dict)
        else value
        for key, value in spec.items()
    }


def _parse_param(doc: TracedDocument, name: str, text: str) -> Any:
    param_type = root_cursor(doc).get("spec", "params", name, "type").value
    if param_type == "string":
        return text
    if isinstance(param_type, str) and param_type in _EXAMPLES:
        return _parse_json(text, _EXAMPLES[param_type])
    return _parse_scalar(text)


_EXAMPLES = {"array": "[1, 2]", "object": '{"a": 1}'}


def _parse_json(text: str, example: str) -> Any:
    """Parse a list or a mapping; the schema of the param validates its type."""
    try:
        value = json.loads(text, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        raise _InvalidFlag(f"this is no JSON; write one such as {example}") from None
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [below for one in level for below in _iter_children(one)]
    if level:
        raise _InvalidFlag(f"this has more than {MAX_DEPTH} levels of nesting")
    return value


def _iter_children(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _parse_field_value(doc: TracedDocument, steps: list[str], text: str) -> Scalar:
    """Return the value for a field. Raises _InvalidFlag: if the path does not exist."""
    if not steps or steps[0] in _FORBIDDEN_FIELDS or steps[0] == "params":
        instruction = "write params.NAME for a param, or a path below the spec such as schedule.queue"
        raise _InvalidFlag(f"this cannot be set; {instruction}")
    field, schema, area, current = "", _find_schema("overlay"), FieldArea(), root_cursor(doc).get("spec")
    for step in steps:
        if area.is_keyed:
            current, area, schema = (
                _find_named_entry(current, step),
                area.list_entry(),
                _resolve_schema(schema.get("items")),
            )
        else:
            if isinstance(current.value, list):
                raise _InvalidFlag(
                    f'"{field}" is a list, which is only replaced whole; change it in the file'
                )
            properties = schema.get("properties")
            if properties and schema.get("additionalProperties") is False and step not in properties:
                raise _InvalidFlag(
                    f'there is no field "{_truncate_text(step)}"{suggest_or_list(step, properties)}'
                )
            child_schema = (properties or {}).get(step, schema.get("additionalProperties"))
            current, area, schema = current.get(step), area.child(step), _resolve_schema(child_schema)
        field = step
    if text == "null":
        return None
    if area.is_keyed or isinstance(current.value, dict | list):
        raise _InvalidFlag(f'"{field}" holds more than one value; name the field below it')
    types = schema.get("type", [])
    only_text = "string" in types and "number" not in types and "integer" not in types
    stays_text = (
        isinstance(current.value, str) and not is_expression(current.value) and not area.allows_number_or_text
    )
    return text if only_text or stays_text or area.fields[:1] == ("env",) else _parse_scalar(text)


def _find_named_entry(entries: Cursor, name: str) -> Cursor:
    for entry in entries.entries():
        if entry.get("name").value == name:
            return entry
    return entries.get(name)


def _parse_scalar(text: str) -> Scalar:
    value = resolve_plain(text)
    if isinstance(value, float) and not abs(value) < float("inf"):
        raise _InvalidFlag("a number must be finite")
    return value


@cache
def _load_definitions() -> dict[str, Any]:
    definitions: dict[str, Any] = json.loads(read_bundled_file("schemas", "JobProfile.json"))["$defs"]
    return definitions


def _find_schema(name: str) -> dict[str, Any]:
    return _resolve_schema({"$ref": f"#/$defs/{name}"})


def _resolve_schema(schema: Any) -> dict[str, Any]:
    """Return a schema of the profile with its references resolved; {} if there is none."""
    while isinstance(schema, dict) and "$ref" in schema:
        schema = _load_definitions()[schema["$ref"].removeprefix("#/$defs/")]
    return schema if isinstance(schema, dict) else {}
