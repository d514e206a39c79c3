"""Where a value departs from its schema.

The schemas use a small vocabulary (see tools/kubernetes_schemas.py), so a walk over value and schema finds
every fault with its path. Of a short run it gives the verdict too, and beyond it runs for what failed.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Path, Problem
from podplan.core.typing import Any
from podplan.kubernetes import names, quantities
from podplan.kubernetes.accessors import TYPES
from podplan.kubernetes.messages import (
    label,
    meant_field,
    missing,
    not_allowed,
    out_of_range,
    unknown_field,
    wrong_type,
)
from podplan.kubernetes.schemas import Schema, resolve

_ANY_STRING = {"type": "string"}


def explain(schema: Schema, value: object, version: str, path: Path = ()) -> Iterator[Problem]:
    """The problems of ``value`` under ``schema``, in the order of the value; none when it is valid.

    ``value`` is plain data of any shape, without nulls, and ``path`` leads to it; the definitions that the
    schema refers to are those of ``version``. Source: the verdicts of API servers in fixtures/kubernetes/.
    """
    schema = resolve(schema, version)
    if not _has_type(schema, value):
        yield wrong_type(value, schema["type"], path)
    elif "enum" in schema:
        if value not in schema["enum"]:
            yield not_allowed(value, schema["enum"], path)
    elif isinstance(value, dict):
        yield from _mapping(schema, value, version, path)
    elif isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield Problem("SCHEMA005", f"{label(path)} needs at least one entry", path)
        if len(value) > schema.get("maxItems", len(value)):
            most = schema["maxItems"]
            yield Problem(
                "SCHEMA005", f"{label(path)} has {len(value)} entries; at most {most} are allowed", path
            )
        items = schema.get("items", {})
        if items == _ANY_STRING and all(type(entry) is str and entry.isascii() for entry in value):
            return  # such as args, of which there may be hundreds of thousands
        for index, entry in enumerate(value):
            yield from explain(items, entry, version, (*path, index))
    else:
        yield from _scalar(schema, value, path)


def _mapping(schema: Schema, value: dict[str, Any], version: str, path: Path) -> Iterator[Problem]:
    fields = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    absent = lacking = [name for name in schema.get("required", ()) if name not in value]
    if absent and others is False:
        # A field under another name is not told as missing too.
        slips = {
            meant_field(key, list(fields)) for key in value if isinstance(key, str) and key not in fields
        }
        absent = [name for name in absent if name not in slips]
    for name in absent:
        yield missing(name, path, value, resolve(fields.get(name, {}), version))
    for key, inner in value.items():
        if not isinstance(key, str):
            yield Problem("SCHEMA002", f"key {names.shown(key)} must be a string", (*path, key), on_key=True)
        elif key in fields:
            yield from explain(fields[key], inner, version, (*path, key))
        elif others is False:
            yield unknown_field(key, list(fields), path, meant_field(key, list(fields)) in lacking)
        else:
            if "propertyNames" in schema:
                yield from _form(schema["propertyNames"], key, (*path, key), on_key=True)
            if isinstance(others, dict):
                yield from explain(others, inner, version, (*path, key))


def _scalar(schema: Schema, value: Any, path: Path) -> Iterator[Problem]:
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0):
            yield Problem("SCHEMA005", f"{label(path)} is empty", path)
        yield from _form(schema, value, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        low, high = schema.get("minimum"), schema.get("maximum")
        if (low is not None and value < low) or (high is not None and value > high):
            yield out_of_range(value, low, high, path)


def _form(schema: Schema, text: str, path: Path, *, on_key: bool = False) -> Iterator[Problem]:
    form = schema.get("x-form")
    if not isinstance(text, str) or form is None or (text == "" and "x-empty" in schema):
        if _not_unicode(text):
            yield Problem("SCHEMA006", f"{label(path)} is not Unicode text", path, on_key=on_key)
        return
    fault = names.fault(form, text)
    if fault:
        what = f"key {names.shown(text)}" if on_key else f"{label(path)} {names.shown(text)}"
        code = "SCHEMA005" if fault.startswith("has") else "SCHEMA006"
        meant = quantities.meant(text) if form == "quantity" else ""
        hint = f'; did you mean "{meant}"?' if meant else ""
        yield Problem(code, f"{what if text else label(path)} {fault}{hint}", path, on_key=on_key)


def _has_type(schema: Schema, value: object) -> bool:
    wanted = schema.get("type")
    if wanted is None:
        return True
    allowed = [wanted] if isinstance(wanted, str) else wanted
    if isinstance(value, bool):
        return "boolean" in allowed
    if isinstance(value, float) and "integer" in allowed and value.is_integer():
        return True
    if isinstance(value, float) and value - value != 0:
        return False
    return any(isinstance(value, TYPES[name]) for name in allowed)


def _not_unicode(text: object) -> bool:
    """Whether half of a surrogate pair is in a text: UTF-8 has none, and tells so faster than a loop."""
    if not isinstance(text, str):
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
