"""The names that fields and kinds had once, or have in documents that were never right.

They are data: schemas/old-spellings.json, found in real manifests (t9k-semantics §10, §11).
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, NamedTuple

from podplan import bundled

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
