"""Diagnostics about a value, and names for the value at a path.

Used for the structure of any object, and by further rules.
"""

from __future__ import annotations

from podplan.core.findings import Diagnostic, DocumentFix, Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.suggestions import suggest_name
from podplan.kubernetes import names
from podplan.kubernetes.accessors import PYTHON_TYPES
from podplan.kubernetes.schemas import Schema

TYPE_NAMES = {
    "object": "a mapping",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
# Entries of lists that are identified by name.
_ENTRY_NOUNS = {
    "containers": "container",
    "initContainers": "init container",
    "ephemeralContainers": "ephemeral container",
    "volumes": "volume",
}
_CONTAINERS = frozenset({"containers", "initContainers", "ephemeralContainers"})
# Placeholders in examples, for values that only the author knows.
_IMAGE = "REGISTRY/NAME:TAG"
_EXAMPLES = {
    "containers": f"[{{name: NAME, image: {_IMAGE}}}]",
    "template": f"{{spec: {{containers: [{{name: NAME, image: {_IMAGE}}}]}}}}",
    "metadata": "{name: NAME}",
    "mountPath": "/FOLDER",
}
_TYPE_EXAMPLES = {"object": "{…}", "array": "[…]"}
HIGHEST_MODE = 0o777  # of a file in a volume
_LAST_WORD = compile_lazily(r"[A-Z]*[a-z]*$")


def describe_type(value: object) -> str:
    """Return the type of a value in words, without the value."""
    if isinstance(value, bool):
        return "a boolean"
    for name, types in PYTHON_TYPES.items():
        if isinstance(value, types):
            return TYPE_NAMES[name]
    return "something else"


def format_label(path: Path) -> str:
    """Return a name for the value at ``path``: its key, with the index for an entry of a list."""
    tail = ""
    for step in reversed(path):
        if isinstance(step, str):
            return f"{step}{tail}"
        tail = f"[{step}]{tail}"
    return tail or "the document"


def format_entry_name(path: Path, value: object) -> str:
    """Return a name for ``value`` at ``path``: a container by name or number, anything else by its key."""
    noun = _ENTRY_NOUNS.get(str(path[-2])) if len(path) > 1 and isinstance(path[-1], int) else None
    if noun is None:
        return format_label(path)
    name = value.get("name") if isinstance(value, dict) else None
    return f"{noun} {names.format_value(name) if name and isinstance(name, str) else int(path[-1]) + 1}"


def diagnose_wrong_type(value: object, expected: str | list[str], path: Path) -> Diagnostic:
    """Build the diagnostic of a value with none of the ``expected`` types, which are names of JSON Schema."""
    allowed = [expected] if isinstance(expected, str) else expected
    help, fix = "", None
    if "string" in allowed and isinstance(value, int | float):
        help = "add quotes around the value"
        fix = build_quote_fix(path)
    elif isinstance(value, str) and not isinstance(expected, list) and expected in ("integer", "boolean"):
        help = "remove the quotes"
        fix = build_unquote_fix(value, expected, path)
    expected_names = " or ".join(TYPE_NAMES[name] for name in allowed)
    message = f"{format_entry_name(path, value)} must be {expected_names}, not {describe_type(value)}"
    return Diagnostic("SCHEMA002", message, path, help=help, fix=fix)


def diagnose_missing_field(
    name: str, path: Path, value: object = None, schema: Schema | None = None
) -> Diagnostic:
    """Build the diagnostic of a missing field ``name``; ``path`` leads to the mapping ``value`` that lacks
    it.

    ``schema`` is the schema of the field.
    """
    location = f" in {format_entry_name(path, value)}" if path else ""
    message = f'required field "{name}" is missing{location}'
    return Diagnostic("SCHEMA003", message, path, help=f"write {_format_example(name, path, schema or {})}")


def _format_example(name: str, path: Path, schema: Schema) -> str:
    """Return an example of a field, with capitals for values that only the author knows."""
    if name == "image" and _CONTAINERS.intersection(path[-2:]):
        return f"image: {_IMAGE}"
    if "const" in schema or "enum" in schema:
        *others, last = map(str, schema.get("enum", [schema.get("const")]))
        return f"{name}: {', '.join(others)} or {last}" if others else f"{name}: {last}"
    shape = _EXAMPLES.get(name) or _TYPE_EXAMPLES.get(str(schema.get("type")))
    return f"{name}: {shape or _LAST_WORD.findall(name)[0].upper()}"


def diagnose_unknown_field(key: str, fields: list[str], path: Path, is_required: bool = False) -> Diagnostic:
    """Build the diagnostic of ``key``, which is none of ``fields``, with a suggestion or the list of them.

    ``is_required``: the suggested field is required and missing. Then the API server rejects the object, so
    renaming is safe. Otherwise it drops the field, unless the client requests strict validation, and the job
    runs without it: renaming changes that job.
    """
    field_path = (*path, key)
    suggestion = suggest_field(key, fields)
    message = f"unknown field {names.format_value(key)}"
    if suggestion:
        fix = DocumentFix(f'rename it to "{suggestion}"', "rename", field_path, suggestion, safe=is_required)
        return Diagnostic(
            "SCHEMA001", f'{message}; did you mean "{suggestion}"?', field_path, on_key=True, fix=fix
        )
    noun = _ENTRY_NOUNS.get(str(path[-2])) if len(path) > 1 else None
    location = f"each {noun}" if noun else format_label(path) if path else "this place"
    help = f"the fields of {location} are: {', '.join(sorted(fields))}" if fields else ""
    return Diagnostic("SCHEMA001", message, field_path, on_key=True, help=help)


def suggest_field(key: str, fields: list[str]) -> str:
    """Return the field that an unknown ``key`` was probably meant to be: a typo, or its last word alone;
    or ""."""
    ending = key[:1].upper() + key[1:]
    matching_fields = [field for field in fields if field.endswith(ending)]
    return suggest_name(key, fields) or (matching_fields[0] if len(matching_fields) == 1 else "")


def diagnose_not_allowed(value: object, allowed: list[str], path: Path) -> Diagnostic:
    """Build the diagnostic of a value that is none of ``allowed`` ("" among them means that it may be
    empty)."""
    choices = [choice for choice in allowed if choice]
    listed = ", ".join(choices[:-1]) + " or " + choices[-1] if len(choices) > 1 else choices[0]
    suggestion = suggest_name(value, choices) if isinstance(value, str) and len(choices) > 1 else ""
    hint = f'; did you mean "{suggestion}"?' if suggestion else ""
    message = f"{format_label(path)} must be {listed}, not {names.format_value(value)}{hint}"
    fix = DocumentFix(f'write "{suggestion}"', "set", path, suggestion, safe=True) if suggestion else None
    return Diagnostic("SCHEMA004", message, path, fix=fix)


def diagnose_out_of_range(value: float, minimum: int | None, maximum: int | None, path: Path) -> Diagnostic:
    """Build the diagnostic of a number outside ``minimum`` to ``maximum``; None is unbounded."""
    if maximum is None or (maximum >= 2**31 - 1 and minimum is not None and value < minimum):
        bounds = f"at least {minimum}"
    elif minimum is None or (minimum <= -(2**31) and value > maximum):
        bounds = f"at most {maximum}"
    else:
        bounds = f"between {minimum} and {maximum}"
    help = (
        _in_octal(value) if path and path[-1] in ("mode", "defaultMode") and maximum == HIGHEST_MODE else ""
    )
    return Diagnostic(
        "SCHEMA005",
        f"{format_label(path)} must be {bounds}, not {names.format_value(value)}",
        path,
        help=help,
    )


def _in_octal(value: float) -> str:
    """Return how to write a mode that was meant in octal; "" if its digits are not octal."""
    digits = str(value)
    if not digits.isdecimal() or set(digits) & set("89") or int(digits, 8) > HIGHEST_MODE:
        return ""
    return f"{digits} is decimal; write 0{digits} for the mode in octal, or {int(digits, 8)}"


def build_quote_fix(path: Path) -> DocumentFix:
    """Build the fix that quotes the scalar at ``path``."""
    return DocumentFix("add quotes", "quote", path, safe=True)


def build_unquote_fix(value: str, expected_type: str, path: Path) -> DocumentFix | None:
    """Build the fix that unquotes the number or boolean in the string at ``path``, or None."""
    if expected_type == "boolean" and value in ("true", "false"):
        return DocumentFix("remove the quotes", "set", path, value == "true", safe=True)
    if expected_type in ("integer", "number") and value.isascii() and value.isdigit() and len(value) < 16:
        return DocumentFix("remove the quotes", "set", path, int(value), safe=True)
    return None
