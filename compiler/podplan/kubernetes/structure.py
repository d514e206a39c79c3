"""Say in words where a value departs from its schema, and take out nulls as the API server does.

Only documents that failed come here. The schemas use a small vocabulary (see tools/kubernetes_schemas.py),
so a walk over value and schema finds every fault with its path.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.findings import Change, Path, Problem
from podplan.kubernetes import names, quantities
from podplan.kubernetes.schemas import Schema, resolve
from podplan.nearest import nearest
from podplan.patterns import pattern
from podplan.typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_CALLED = {
    "object": "a mapping",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
}
_ANY_STRING = {"type": "string"}
# The entries of lists that people know by their names.
_ENTRIES = {
    "containers": "container",
    "initContainers": "init container",
    "ephemeralContainers": "ephemeral container",
    "volumes": "volume",
}
_CONTAINERS = frozenset({"containers", "initContainers", "ephemeralContainers"})
# What stands for a value that only its author knows, in what to write.
_IMAGE = "REGISTRY/NAME:TAG"
_WRITTEN = {
    "containers": f"[{{name: NAME, image: {_IMAGE}}}]",
    "template": f"{{spec: {{containers: [{{name: NAME, image: {_IMAGE}}}]}}}}",
    "metadata": "{name: NAME}",
    "mountPath": "/FOLDER",
}
_SHAPES = {"object": "{…}", "array": "[…]"}
_LAST_WORD = pattern(r"[A-Z]*[a-z]*$")


def explain(schema: Schema, value: object, version: str, path: Path = ()) -> Iterator[Problem]:
    """The problems of ``value`` under ``schema``, in the order of the value; none when it is valid."""
    schema = resolve(schema, version)
    if not _has_type(schema, value):
        yield _wrong_type(schema, value, path)
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
    absent = [name for name in schema.get("required", ()) if name not in value]
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
            yield unknown_field(key, list(fields), path)
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
    return any(isinstance(value, _TYPES[name]) for name in allowed)


def _wrong_type(schema: Schema, value: object, path: Path) -> Problem:
    wanted = schema["type"]
    allowed = [wanted] if isinstance(wanted, str) else wanted
    help, change = "", None
    if "string" in allowed and isinstance(value, int | float):
        help = "put the value in quotes"
        change = quoted(path)
    elif isinstance(value, str) and not isinstance(wanted, list) and wanted in ("integer", "boolean"):
        help = "take the quotes away"
        change = unquoted(value, wanted, path)
    called = " or ".join(_CALLED[name] for name in allowed)
    message = f"{entry_name(path, value)} must be {called}, not {called_type(value)}"
    return Problem("SCHEMA002", message, path, help=help, change=change)


def quoted(path: Path) -> Change:
    """The word at ``path`` as a string."""
    return Change("put it in quotes", "quote", path)


def unquoted(value: str, wanted: str, path: Path) -> Change | None:
    """The string at ``path`` as the number or boolean that it spells, if it does."""
    if wanted == "boolean" and value in ("true", "false"):
        return Change("take the quotes away", "set", path, value == "true")
    if wanted in ("integer", "number") and value.isascii() and value.isdigit() and len(value) < 16:
        return Change("take the quotes away", "set", path, int(value))
    return None


def _not_unicode(text: object) -> bool:
    """Whether half of a surrogate pair is in a text: UTF-8 has none, and tells so faster than a loop."""
    if not isinstance(text, str):
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def called_type(value: object) -> str:
    """What a value is, for a person, without showing it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    for name, types in _TYPES.items():
        if isinstance(value, types):
            return _CALLED[name]
    return "something else"


def label(path: Path) -> str:
    """What to call the value at ``path``: its key, with the index where it is an entry of a list."""
    tail = ""
    for step in reversed(path):
        if isinstance(step, str):
            return f"{step}{tail}"
        tail = f"[{step}]{tail}"
    return tail or "the document"


def entry_name(path: Path, value: object) -> str:
    """What to call ``value`` at ``path``: a container by name or number, anything else by its key."""
    what = _ENTRIES.get(str(path[-2])) if len(path) > 1 and isinstance(path[-1], int) else None
    if what is None:
        return label(path)
    name = value.get("name") if isinstance(value, dict) else None
    return f"{what} {names.shown(name) if name and isinstance(name, str) else int(path[-1]) + 1}"


def missing(name: str, path: Path, value: object = None, schema: Schema | None = None) -> Problem:
    """The field ``name`` is not there; ``path`` leads to the mapping that lacks it, which is ``value``.

    ``schema`` is what the field should be.
    """
    where = f" in {entry_name(path, value)}" if path else ""
    message = f'required field "{name}" is missing{where}'
    return Problem("SCHEMA003", message, path, help=f"write {_written(name, path, schema or {})}")


def _written(name: str, path: Path, schema: Schema) -> str:
    """A field as people write it, with capitals for what only they know."""
    if name == "image" and _CONTAINERS.intersection(path[-2:]):
        return f"image: {_IMAGE}"
    if "const" in schema or "enum" in schema:
        *others, last = map(str, schema.get("enum", [schema.get("const")]))
        return f"{name}: {', '.join(others)} or {last}" if others else f"{name}: {last}"
    shape = _WRITTEN.get(name) or _SHAPES.get(str(schema.get("type")))
    return f"{name}: {shape or _LAST_WORD.findall(name)[0].upper()}"


def unknown_field(key: str, fields: list[str], path: Path) -> Problem:
    """``key`` is none of ``fields``: the nearest of them, or all, for the reader."""
    at = (*path, key)
    near = meant_field(key, fields)
    message = f"unknown field {names.shown(key)}"
    if near:
        change = Change(f'call it "{near}"', "rename", at, near)
        return Problem("SCHEMA001", f'{message}; did you mean "{near}"?', at, on_key=True, change=change)
    what = _ENTRIES.get(str(path[-2])) if len(path) > 1 else None
    where = f"each {what}" if what else label(path) if path else "this place"
    help = f"the fields of {where} are: {', '.join(sorted(fields))}" if fields else ""
    return Problem("SCHEMA001", message, at, on_key=True, help=help)


def meant_field(key: str, fields: list[str]) -> str:
    """The field that the unknown ``key`` was probably meant to be, or "": a slip, or its last word alone."""
    ending = key[:1].upper() + key[1:]
    longer = [field for field in fields if field.endswith(ending)]
    return nearest(key, fields) or (longer[0] if len(longer) == 1 else "")


def not_allowed(value: object, allowed: list[str], path: Path) -> Problem:
    """``value`` is none of the allowed texts ("" among them means that the field may be left empty)."""
    choices = [choice for choice in allowed if choice]
    listed = ", ".join(choices[:-1]) + " or " + choices[-1] if len(choices) > 1 else choices[0]
    near = nearest(value, choices) if isinstance(value, str) and len(choices) > 1 else ""
    hint = f'; did you mean "{near}"?' if near else ""
    message = f"{label(path)} must be {listed}, not {names.shown(value)}{hint}"
    change = Change(f'write "{near}"', "set", path, near) if near else None
    return Problem("SCHEMA004", message, path, change=change)


def out_of_range(value: float, low: int | None, high: int | None, path: Path) -> Problem:
    """A number outside ``low`` to ``high``; an end that is None is open."""
    if high is None or (high >= 2**31 - 1 and low is not None and value < low):
        bounds = f"at least {low}"
    elif low is None or (low <= -(2**31) and value > high):
        bounds = f"at most {high}"
    else:
        bounds = f"between {low} and {high}"
    return Problem("SCHEMA005", f"{label(path)} must be {bounds}, not {names.shown(value)}", path)


def without_nulls(schema: Schema, value: Any, version: str) -> Any:
    """``value`` as the API server reads it: a null field is left out, a null entry is its type's zero."""
    schema = resolve(schema, version)
    if isinstance(value, dict):
        fields = schema.get("properties", {})
        others = schema.get("additionalProperties")
        kept = {}
        for key, inner in value.items():
            below = fields.get(key) or (others if isinstance(others, dict) else {})
            if inner is not None:
                kept[key] = without_nulls(below, inner, version)
            elif key not in fields and isinstance(others, dict):
                kept[key] = _zero(below, version)
        return kept
    if isinstance(value, list):
        below = schema.get("items", {})
        return [
            _zero(below, version) if entry is None else without_nulls(below, entry, version)
            for entry in value
        ]
    return value


def has_nulls(value: object) -> bool:
    """Whether there is a null anywhere in ``value``."""
    if isinstance(value, dict):
        return any(inner is None or has_nulls(inner) for inner in value.values())
    if isinstance(value, list):
        return any(inner is None or has_nulls(inner) for inner in value)
    return False


def _zero(schema: Schema, version: str) -> object:
    wanted = resolve(schema, version).get("type", "string")
    name = wanted if isinstance(wanted, str) else wanted[-1]
    return {"object": {}, "array": [], "string": "", "boolean": False}.get(name, 0)
