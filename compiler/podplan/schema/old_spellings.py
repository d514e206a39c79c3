"""The names that fields and kinds had once, or have in documents that were never right.

They are data: schemas/old-spellings.json, found in real manifests (docs/evidence/t9k-api-history.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache

from podplan.core import bundled
from podplan.core.typing import Any, NamedTuple

Path = tuple[str | int, ...]


class OldSpelling(NamedTuple):
    """What a field is called now (``now``, a name or a path), and what comes of the old name.

    ``covers`` is the field that seems to be missing as long as the old name stands there.
    """

    now: str
    until: str
    effect: str
    covers: str


def old_field(kind: str, path: Path) -> OldSpelling | None:
    """What stands in the place of the unknown field at ``path`` of a ``kind``, where that is known."""
    for entry in _table()["fields"]:
        if _applies(entry, kind, path):
            now = entry["now"]
            covers = entry.get("covers", "" if "." in now else now)
            return OldSpelling(now, entry.get("until", ""), entry["effect"], covers)
    return None


def old_value(kind: str, path: Path) -> str:
    """A note on the old values of the field at ``path`` of a ``kind``, or ""."""
    return next((entry["note"] for entry in _table()["values"] if _applies(entry, kind, path)), "")


def old_places(kind: str, data: Any) -> Iterator[tuple[Path, str]]:
    """Where a CR of a ``kind`` has a field under an old name, and what it is called now.

    Each name is looked for when its turn comes, so what is done about one is seen by the next.
    """
    for entry in _table()["fields"]:
        if kind in entry.get("kinds", (kind,)):
            yield from ((path, entry["now"]) for path in list(_places(data, entry)))


def old_value_places(kind: str, data: Any) -> Iterator[tuple[Path, list[str]]]:
    """Where a CR of a ``kind`` has a field that once had its values in lower case, and its values now."""
    for entry in _table()["values"]:
        if kind in entry.get("kinds", (kind,)):
            yield from ((path, entry["now"]) for path in _places(data, entry))


def word_places(data: Any) -> Iterator[Path]:
    """Where a CR has what should be the words of a command line."""
    for entry in _table()["words"]:
        yield from _places(data, entry)


def old_kind(kind: str) -> str:
    """The name that ``kind`` has now, or ""."""
    name: str = _table()["kinds"].get(kind, "")
    return name


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(bundled.read("schemas", "old-spellings.json"))
    return table


def _applies(entry: dict[str, Any], kind: str, path: Path) -> bool:
    if kind not in entry.get("kinds", (kind,)):
        return False
    steps = entry["path"].split(".")
    return len(steps) == len(path) and all(step in ("*", at) for step, at in zip(steps, path, strict=True))


def _places(data: Any, entry: dict[str, Any]) -> Iterator[Path]:
    """The paths in ``data`` that an entry of the table is about."""
    found: list[tuple[Path, Any]] = [((), data)]
    for step in entry["path"].split("."):
        found = [((*path, key), below) for path, value in found for key, below in _below(value, step)]
    return (path for path, _ in found)


def _below(value: Any, step: str) -> Iterable[tuple[str | int, Any]]:
    if isinstance(value, list) and step == "*":
        return enumerate(value)
    if not isinstance(value, dict):
        return ()
    return value.items() if step == "*" else [(step, value[step])] if step in value else ()
