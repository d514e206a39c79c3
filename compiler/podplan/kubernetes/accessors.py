"""Read plain data of any shape: what is not there, or is of another type, reads as empty.

The cross-field checks run on documents that may be wrong in every way; these accessors let them look
only at what is right. Plain data has no subclasses, so they ask for the class itself: every check asks often.
"""

from __future__ import annotations

from podplan.core.typing import Any

# The classes of plain data by the names of JSON Schema, where a boolean is no integer, though bool is an int.
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
    """The mapping under ``key``, or an empty one."""
    value = parent.get(key) if parent.__class__ is dict else None
    return value if value.__class__ is dict else {}


def get_entries(parent: Any, key: str) -> list[tuple[int, dict[str, Any]]]:
    """The entries of the list under ``key`` that are mappings, each with its index."""
    value = parent.get(key) if parent.__class__ is dict else None
    if value.__class__ is not list:
        return []
    return [(index, entry) for index, entry in enumerate(value) if entry.__class__ is dict]


def get_texts(parent: Any, key: str) -> list[tuple[int, str]]:
    """The entries of the list under ``key`` that are strings, each with its index."""
    value = parent.get(key) if parent.__class__ is dict else None
    if value.__class__ is not list:
        return []
    return [(index, entry) for index, entry in enumerate(value) if entry.__class__ is str]


def get_text(parent: Any, key: str) -> str:
    """The string under ``key``, or ""."""
    value = parent.get(key) if parent.__class__ is dict else None
    return value if value.__class__ is str else ""


def get_number(parent: Any, key: str) -> int:
    """The integer under ``key``, or 0, which is what Kubernetes reads where nothing is written."""
    value = parent.get(key) if parent.__class__ is dict else None
    return value if value.__class__ is int else 0


def get_size(parent: Any, key: str) -> int:
    """The number of entries of the list or mapping under ``key``, or 0."""
    value = parent.get(key) if parent.__class__ is dict else None
    return len(value) if value.__class__ is list or value.__class__ is dict else 0
