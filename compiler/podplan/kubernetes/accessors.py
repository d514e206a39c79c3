"""Accessors for plain data of any shape: a missing value, or one of another type, reads as empty.

The rules across fields run on documents that may be invalid in any way; with these accessors they see only
the valid parts. Plain data has no subclasses, so comparing the class itself is correct, and faster.
"""

from __future__ import annotations

from podplan.core.typing import Any

# The classes of plain data by JSON Schema type; there a boolean is no integer, although bool is a subclass of
# int.
PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def get_mapping(parent: Any, key: str) -> dict[str, Any]:
    """Return the mapping under ``key``, or an empty one."""
    value = parent.get(key) if parent.__class__ is dict else None
    return value if value.__class__ is dict else {}


def get_entries(parent: Any, key: str) -> list[tuple[int, dict[str, Any]]]:
    """Return the entries of the list under ``key`` that are mappings, each with its index."""
    return list_mappings(parent.get(key) if parent.__class__ is dict else None)


def list_mappings(value: Any) -> list[tuple[int, dict[str, Any]]]:
    """Return the entries of a list that are mappings, each with its index; none of any other value."""
    if value.__class__ is not list:
        return []
    return [(index, entry) for index, entry in enumerate(value) if entry.__class__ is dict]


def get_texts(parent: Any, key: str) -> list[tuple[int, str]]:
    """Return the entries of the list under ``key`` that are strings, each with its index."""
    value = parent.get(key) if parent.__class__ is dict else None
    if value.__class__ is not list:
        return []
    return [(index, entry) for index, entry in enumerate(value) if entry.__class__ is str]


def get_text(parent: Any, key: str) -> str:
    """Return the string under ``key``, or ""."""
    value = parent.get(key) if parent.__class__ is dict else None
    return value if value.__class__ is str else ""


def get_number(parent: Any, key: str) -> int:
    """Return the integer under ``key``, or 0, which is the value of a missing field in Kubernetes."""
    value = parent.get(key) if parent.__class__ is dict else None
    return value if value.__class__ is int else 0


def get_size(parent: Any, key: str) -> int:
    """Return the number of entries of the list or mapping under ``key``, or 0."""
    value = parent.get(key) if parent.__class__ is dict else None
    return len(value) if value.__class__ is list or value.__class__ is dict else 0
