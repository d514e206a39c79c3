"""Names that are written in one place and defined in another: hardware classes, queues, claims, params."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from podplan.core.findings import Path, Problem, value_at
from podplan.core.limits import MAX_BASES, BoundExceeded
from podplan.core.provenance import Doc
from podplan.core.typing import Any, NamedTuple
from podplan.integrations.lsp.cursor import Spot
from podplan.integrations.lsp.dependents import MAX_FILES
from podplan.integrations.lsp.workspace import Workspace
from podplan.profile.resolve import INVENTORY_FIELDS
from podplan.workspace.documents import items
from podplan.workspace.files import OutsideRoot, files_below, in_repository, read_inside, root_of
from podplan.yaml import read

SCOPE = ("params", "matrix", "metadata", "environment", "inventory")
_MAX_NAME = 200
# The last fields of a path -> the part of the inventory whose names stand there.
_IN_PROFILES = {"hardware": "hardware", "queue": "queues", "pvc": "pvcs"}
_IN_DATA = {"secret": "secrets", "configMap": "configMaps"}
_IN_CRS = {"claimName": "pvcs", "queue": "queues", "secretName": "secrets"}
_OF_KEYS = ("secretKeyRef", "configMapKeyRef", "secretRef", "configMapRef")


class Expression(NamedTuple):
    """What is written of an expression before the cursor: names up to the last dot, and the word after."""

    steps: tuple[str, ...]
    word: str


def expression(before: str) -> Expression | None:
    """The expression that is open at the end of a line up to the cursor, if one is."""
    opening = before.rfind("${{")
    if opening < 0 or "}}" in before[opening:]:
        return None
    name = re.search(r"[\w.-]*$", before[opening + 3 :][-_MAX_NAME:])
    *steps, word = (name[0] if name else "").split(".")
    return Expression(tuple(steps), word)


def part_of_inventory(path: Path, is_profile: bool) -> str:
    """The part of the inventory that the name at a path is looked up in, "" for no such name."""
    if not path:
        return ""
    last, above = path[-1], path[-2:-1]
    if not is_profile:
        if last == "name" and above and above[0] in _OF_KEYS:
            return "secrets" if str(above[0]).startswith("secret") else "configMaps"
        return _IN_CRS.get(str(last), "")
    if last in _IN_DATA and ("data" in path or "env" in path):
        return _IN_DATA[str(last)]
    known = path[-1:] == ("hardware",) or above == ("schedule",) or (above and isinstance(above[0], int))
    return _IN_PROFILES.get(str(last), "") if known else ""


def inventory_names(part: str, spot: Spot, workspace: Workspace) -> dict[str, Any]:
    """The names in a part of the inventory, with what it says of each."""
    inventory = workspace.inventory(spot.document.path)
    found = value_at(inventory.data, ("spec", part)) if inventory is not None else None
    return found if isinstance(found, dict) else {}


def chain(spot: Spot, workspace: Workspace) -> Iterator[Doc]:
    """The document itself, or what is seen of it if it does not parse, and its bases, nearest first."""
    reader = workspace.reader(spot.document.path)
    waiting = [spot.item.doc if spot.item is not None else _seen(spot)]
    seen: set[tuple[str, int]] = set()
    while waiting and len(seen) < MAX_BASES:
        doc = waiting.pop(0)
        if (doc.name, id(doc.data)) in seen:
            continue
        seen.add((doc.name, id(doc.data)))
        yield doc
        for reference in _strings(value_at(doc.data, ("spec", "extends"))):
            base = reader.load(reference, doc)
            waiting += [] if isinstance(base, Problem) else [base]


def _seen(spot: Spot) -> Doc:
    """A document that does not parse, with nothing but its bases."""
    listed = [text for path, text in spot.outline.values.items() if path[:2] == ("spec", "extends")]
    return Doc(spot.document.path, {"spec": {"extends": listed}})


def _strings(listed: Any) -> list[str]:
    return [entry for entry in listed if isinstance(entry, str)] if isinstance(listed, list) else []


def in_expression(steps: tuple[str, ...], spot: Spot, workspace: Workspace) -> list[str]:
    """The names that may follow in an expression."""
    if not steps:
        return list(SCOPE)
    if steps == ("inventory",):
        return list(INVENTORY_FIELDS)
    if steps[0] == "inventory" and len(steps) == 2:
        return list(inventory_names(steps[1], spot, workspace))
    if steps == ("metadata",):
        return ["name", "namespace", "labels", "annotations"]
    where: dict[tuple[str, ...], Path] = {
        ("params",): ("spec", "params"),
        ("matrix",): ("spec", "matrix", "axes"),
        ("metadata", "labels"): ("metadata", "labels"),
        ("metadata", "annotations"): ("metadata", "annotations"),
    }
    if steps not in where:
        return []
    names = dict.fromkeys(spot.keys(where[steps]))
    for doc in chain(spot, workspace):
        found = value_at(doc.data, where[steps])
        names |= dict.fromkeys(found) if isinstance(found, dict) else {}
    return [*names, *(["id"] if steps == ("matrix",) else [])]


def bases(spot: Spot, workspace: Workspace) -> list[str]:
    """The files below the root that hold a base, as ``extends`` of the document would call them."""
    path = spot.document.path
    if not in_repository(path):
        return []
    root, folder = root_of(path), os.path.dirname(os.path.realpath(path))
    found = []
    for number, file in enumerate(files_below(root, workspace.asked(path).exclude, [])):
        if number >= MAX_FILES:
            break
        try:
            content = read_inside(root, file)
            if b"JobProfileBase" in content and any(one.what == "base" for one in items(read(content, file))):
                found.append(os.path.relpath(file, folder).replace(os.sep, "/"))
        except (OSError, OutsideRoot, BoundExceeded):  # most files have nothing to do with this one
            continue
    return found
