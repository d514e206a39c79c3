"""Finds where a value does not fit its schema.

The schemas use a small vocabulary (see tools/kubernetes_schemas.py), so walking value and schema together
finds every error with its path. In a short run the walk also decides about validity; in a longer one it only
explains values that the validator rejects.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Diagnostic, Path
from podplan.core.typing import Any
from podplan.kubernetes import names, quantities
from podplan.kubernetes.accessors import PYTHON_TYPES
from podplan.kubernetes.messages import (
    diagnose_missing_field,
    diagnose_not_allowed,
    diagnose_out_of_range,
    diagnose_unknown_field,
    diagnose_wrong_type,
    format_label,
    suggest_field,
)
from podplan.kubernetes.schemas import Schema, resolve_reference

_ANY_STRING = {"type": "string"}


def validate_structure(schema: Schema, value: object, version: str, path: Path = ()) -> Iterator[Diagnostic]:
    """Yield the diagnostics of ``value`` under ``schema``, in the order of the value; none if it is valid.

    ``value`` is plain data of any shape, without nulls, and ``path`` leads to it; the definitions that the
    schema refers to are those of ``version``. Source: the verdicts of API servers in fixtures/kubernetes/.
    """
    schema = resolve_reference(schema, version)
    if not _has_type(schema, value):
        yield diagnose_wrong_type(value, schema["type"], path)
    elif "enum" in schema:
        if value not in schema["enum"]:
            yield diagnose_not_allowed(value, schema["enum"], path)
    elif isinstance(value, dict):
        yield from _validate_mapping(schema, value, version, path)
    elif isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield Diagnostic("SCHEMA005", f"{format_label(path)} needs at least one entry", path)
        if len(value) > schema.get("maxItems", len(value)):
            max_items = schema["maxItems"]
            yield Diagnostic(
                "SCHEMA005",
                f"{format_label(path)} has {len(value)} entries; at most {max_items} are allowed",
                path,
            )
        items = schema.get("items", {})
        if items == _ANY_STRING and all(type(entry) is str and entry.isascii() for entry in value):
            return  # such as args, which may have hundreds of thousands of entries
        for index, entry in enumerate(value):
            yield from validate_structure(items, entry, version, (*path, index))
    else:
        yield from _validate_scalar(schema, value, path)


def _validate_mapping(
    schema: Schema, value: dict[str, Any], version: str, path: Path
) -> Iterator[Diagnostic]:
    fields = schema.get("properties", {})
    additional = schema.get("additionalProperties", True)
    missing_fields = required_missing = [name for name in schema.get("required", ()) if name not in value]
    if missing_fields and additional is False:
        # A misspelt field is not reported as missing, too.
        misspelt_fields = {
            suggest_field(key, list(fields)) for key in value if isinstance(key, str) and key not in fields
        }
        missing_fields = [name for name in missing_fields if name not in misspelt_fields]
    for name in missing_fields:
        yield diagnose_missing_field(name, path, value, resolve_reference(fields.get(name, {}), version))
    for key, child in value.items():
        if not isinstance(key, str):
            yield Diagnostic(
                "SCHEMA002", f"key {names.format_value(key)} must be a string", (*path, key), on_key=True
            )
        elif key in fields:
            yield from validate_structure(fields[key], child, version, (*path, key))
        elif additional is False:
            yield diagnose_unknown_field(
                key, list(fields), path, suggest_field(key, list(fields)) in required_missing
            )
        else:
            if "propertyNames" in schema:
                yield from _validate_form(schema["propertyNames"], key, (*path, key), on_key=True)
            if isinstance(additional, dict):
                yield from validate_structure(additional, child, version, (*path, key))


def _validate_scalar(schema: Schema, value: Any, path: Path) -> Iterator[Diagnostic]:
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0):
            yield Diagnostic("SCHEMA005", f"{format_label(path)} is empty", path)
        yield from _validate_form(schema, value, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        minimum, maximum = schema.get("minimum"), schema.get("maximum")
        if (minimum is not None and value < minimum) or (maximum is not None and value > maximum):
            yield diagnose_out_of_range(value, minimum, maximum, path)


def _validate_form(schema: Schema, text: str, path: Path, *, on_key: bool = False) -> Iterator[Diagnostic]:
    form_name = schema.get("x-form")
    if not isinstance(text, str) or form_name is None or (text == "" and "x-empty" in schema):
        if _is_not_unicode(text):
            yield Diagnostic("SCHEMA006", f"{format_label(path)} is not Unicode text", path, on_key=on_key)
        return
    mismatch = names.explain_mismatch(form_name, text)
    if mismatch:
        subject = (
            f"key {names.format_value(text)}"
            if on_key
            else f"{format_label(path)} {names.format_value(text)}"
        )
        code = "SCHEMA005" if mismatch.startswith("has") else "SCHEMA006"
        suggestion = quantities.suggest_quantity(text) if form_name == "quantity" else ""
        hint = f'; did you mean "{suggestion}"?' if suggestion else ""
        yield Diagnostic(
            code, f"{subject if text else format_label(path)} {mismatch}{hint}", path, on_key=on_key
        )


def _has_type(schema: Schema, value: object) -> bool:
    declared_type = schema.get("type")
    if declared_type is None:
        return True
    allowed = [declared_type] if isinstance(declared_type, str) else declared_type
    if isinstance(value, bool):
        return "boolean" in allowed
    if isinstance(value, float) and "integer" in allowed and value.is_integer():
        return True
    if isinstance(value, float) and value - value != 0:
        return False
    return any(isinstance(value, PYTHON_TYPES[name]) for name in allowed)


def _is_not_unicode(text: object) -> bool:
    """Whether a text contains half of a surrogate pair; encoding to UTF-8 detects that faster than a loop."""
    if not isinstance(text, str):
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
