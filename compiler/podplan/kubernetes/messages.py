"""What is wrong with a value, in words: Problems, and what to call a value at a path.

For the structure of any object, and for those who check more than that.
"""

from __future__ import annotations

from podplan.core.findings import Change, Path, Problem
from podplan.core.lazy_regex import pattern
from podplan.core.suggestions import nearest
from podplan.kubernetes import names
from podplan.kubernetes.accessors import TYPES
from podplan.kubernetes.schemas import Schema

CALLED = {
    "object": "a mapping",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
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
HIGHEST_MODE = 0o777  # of a file in a volume
_LAST_WORD = pattern(r"[A-Z]*[a-z]*$")


def called_type(value: object) -> str:
    """What a value is, for a person, without showing it."""
    if isinstance(value, bool):
        return "a boolean"
    for name, types in TYPES.items():
        if isinstance(value, types):
            return CALLED[name]
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


def wrong_type(value: object, wanted: str | list[str], path: Path) -> Problem:
    """``value`` is of none of the ``wanted`` types, by their names in JSON Schema."""
    allowed = [wanted] if isinstance(wanted, str) else wanted
    help, change = "", None
    if "string" in allowed and isinstance(value, int | float):
        help = "put the value in quotes"
        change = quoted(path)
    elif isinstance(value, str) and not isinstance(wanted, list) and wanted in ("integer", "boolean"):
        help = "take the quotes away"
        change = unquoted(value, wanted, path)
    called = " or ".join(CALLED[name] for name in allowed)
    message = f"{entry_name(path, value)} must be {called}, not {called_type(value)}"
    return Problem("SCHEMA002", message, path, help=help, change=change)


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


def unknown_field(key: str, fields: list[str], path: Path, lacks: bool = False) -> Problem:
    """``key`` is none of ``fields``: the nearest of them, or all, for the reader.

    ``lacks``: the nearest is required, and is not there. The API server refuses the object then. Otherwise it
    drops the field for clients that do not ask it to refuse, and the job runs without it: to rename the field
    changes that job.
    """
    at = (*path, key)
    near = meant_field(key, fields)
    message = f"unknown field {names.shown(key)}"
    if near:
        change = Change(f'call it "{near}"', "rename", at, near, safe=lacks)
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
    change = Change(f'write "{near}"', "set", path, near, safe=True) if near else None
    return Problem("SCHEMA004", message, path, change=change)


def out_of_range(value: float, low: int | None, high: int | None, path: Path) -> Problem:
    """A number outside ``low`` to ``high``; an end that is None is open."""
    if high is None or (high >= 2**31 - 1 and low is not None and value < low):
        bounds = f"at least {low}"
    elif low is None or (low <= -(2**31) and value > high):
        bounds = f"at most {high}"
    else:
        bounds = f"between {low} and {high}"
    help = _in_octal(value) if path and path[-1] in ("mode", "defaultMode") and high == HIGHEST_MODE else ""
    return Problem("SCHEMA005", f"{label(path)} must be {bounds}, not {names.shown(value)}", path, help=help)


def _in_octal(value: float) -> str:
    """How to write a mode that was meant in octal; "" for a number whose digits are none."""
    digits = str(value)
    if not digits.isdecimal() or set(digits) & set("89") or int(digits, 8) > HIGHEST_MODE:
        return ""
    return f"{digits} is decimal; write 0{digits} for the mode in octal, or {int(digits, 8)}"


def quoted(path: Path) -> Change:
    """The word at ``path`` as a string."""
    return Change("put it in quotes", "quote", path, safe=True)


def unquoted(value: str, wanted: str, path: Path) -> Change | None:
    """The string at ``path`` as the number or boolean that it spells, if it does."""
    if wanted == "boolean" and value in ("true", "false"):
        return Change("take the quotes away", "set", path, value == "true", safe=True)
    if wanted in ("integer", "number") and value.isascii() and value.isdigit() and len(value) < 16:
        return Change("take the quotes away", "set", path, int(value), safe=True)
    return None
