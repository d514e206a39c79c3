"""Names of fields and kinds in older API revisions, or in documents that were never valid.

They are data: schemas/old-spellings.json, found in real manifests (docs/evidence/t9k-api-history.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache

from podplan.core import package_data
from podplan.core.typing import Any, NamedTuple

Path = tuple[str | int, ...]


class OldSpelling(NamedTuple):
    """The current name of a field (a name or a path), and the effect of the old name.

    ``replaced_field`` is the field that seems to be missing while the old name is written.
    """

    current_name: str
    until: str
    effect: str
    replaced_field: str


def find_old_spelling(kind: str, path: Path) -> OldSpelling | None:
    """Return the old spelling of the unknown field at ``path`` of a ``kind``, or None."""
    for entry in _load_table()["fields"]:
        if _is_entry_for(entry, kind, path):
            current_name = entry["now"]
            replaced_field = entry.get("covers", "" if "." in current_name else current_name)
            return OldSpelling(current_name, entry.get("until", ""), entry["effect"], replaced_field)
    return None


def find_old_value_note(kind: str, path: Path) -> str:
    """Return a note about the old values of the field at ``path`` of a ``kind``, or ""."""
    return next((entry["note"] for entry in _load_table()["values"] if _is_entry_for(entry, kind, path)), "")


def iter_old_fields(kind: str, data: Any) -> Iterator[tuple[Path, str]]:
    """Yield the path of each field of a CR with an old name, and its current name.

    The search is lazy, so a rename by the caller is visible to the following steps.
    """
    for entry in _load_table()["fields"]:
        if kind in _kinds_of(entry):
            yield from ((path, entry["now"]) for path in list(_iter_paths(data, entry)))


def iter_old_values(kind: str, data: Any) -> Iterator[tuple[Path, list[str]]]:
    """Yield the path of each field of a CR that once had lower-case values, and its current values."""
    for entry in _load_table()["values"]:
        if kind in _kinds_of(entry):
            yield from ((path, entry["now"]) for path in _iter_paths(data, entry))


def iter_command_words(data: Any) -> Iterator[Path]:
    """Yield the paths in a CR that should contain the words of a command line."""
    for entry in _load_table()["words"]:
        yield from _iter_paths(data, entry)


def find_current_kind(kind: str) -> str:
    """Return the current name of ``kind``, or ""."""
    name: str = _load_table()["kinds"].get(kind, "")
    return name


@cache
def _load_table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(package_data.read_bundled_file("schemas", "old-spellings.json"))
    return table


def _kinds_of(entry: dict[str, Any]) -> list[str]:
    kinds: list[str] = entry.get("kinds", _load_table()["allKinds"])
    return kinds


def _is_entry_for(entry: dict[str, Any], kind: str, path: Path) -> bool:
    if kind not in _kinds_of(entry):
        return False
    steps = entry["path"].split(".")
    return len(steps) == len(path) and all(step in ("*", at) for step, at in zip(steps, path, strict=True))


def _iter_paths(data: Any, entry: dict[str, Any]) -> Iterator[Path]:
    """Yield the paths in ``data`` that match an entry of the table."""
    matches: list[tuple[Path, Any]] = [((), data)]
    for step in entry["path"].split("."):
        matches = [
            ((*path, key), below) for path, value in matches for key, below in _iter_children(value, step)
        ]
    return (path for path, _ in matches)


def _iter_children(value: Any, step: str) -> Iterable[tuple[str | int, Any]]:
    if isinstance(value, list) and step == "*":
        return enumerate(value)
    if not isinstance(value, dict):
        return ()
    return value.items() if step == "*" else [(step, value[step])] if step in value else ()
