"""Go to definition: from a name to where it is defined."""

from __future__ import annotations

import os
import re

from podplan.core.findings import Path
from podplan.core.limits import MAX_EXPRESSION_LENGTH
from podplan.core.provenance import Doc
from podplan.core.typing import Any
from podplan.integrations.lsp.cursor import Spot
from podplan.integrations.lsp.diagnostics import Places
from podplan.integrations.lsp.name_references import chain, part_of_inventory
from podplan.integrations.lsp.workspace import Workspace
from podplan.workspace.files import beside, root_of, why_no_path

_NAME = re.compile(r"(params|matrix)(?:\.([\w-]+)|\['([^']+)'\])")
_HOMES: dict[str, tuple[Path, ...]] = {
    "params": (("spec", "params"),),
    "matrix": (("spec", "matrix", "axes"), ("spec", "matrix", "include")),
}


def location(spot: Spot, workspace: Workspace, places: Places) -> dict[str, Any] | None:
    """The Location where the name at a place is defined, None where it is none."""
    named = _in_expression(spot)
    if named is not None:
        return _of_name(*named, spot, workspace, places)
    path = spot.path
    if not path:
        return None
    value = spot.value(path)
    is_profile = spot.api_version.startswith("podplan/")
    if is_profile and path[:2] == ("spec", "extends") and value:
        return _of_file(spot, value, places)
    if is_profile and path[-2:-1] == ("values",) and isinstance(path[-1], str):
        return _of_name("params", path[-1], spot, workspace, places)
    part = part_of_inventory(path, is_profile)
    inventory = workspace.inventory(spot.document.path) if part and value else None
    name = value.partition("/")[0] if "env" in path else value
    return _key(inventory, ("spec", part, name), places) if inventory is not None else None


def _in_expression(spot: Spot) -> tuple[str, str] | None:
    """The param or axis that the cursor is on, inside an expression."""
    line, column = spot.lines[spot.line], spot.column
    start = line.rfind("${{", 0, column)
    end = line.find("}}", max(start, 0))
    if start < 0 or end < column or end - start > MAX_EXPRESSION_LENGTH:
        return None
    names = _NAME.finditer(line, start, end)
    return next((((one[1], one[2] or one[3])) for one in names if one.start() <= column <= one.end()), None)


def _of_name(
    scope: str, name: str, spot: Spot, workspace: Workspace, places: Places
) -> dict[str, Any] | None:
    for doc in chain(spot, workspace):
        for home in _HOMES[scope]:
            found = _key(doc, (*home, name), places)
            if found is not None:
                return found
    return None


def _of_file(spot: Spot, reference: str, places: Places) -> dict[str, Any] | None:
    if why_no_path(reference):
        return None
    path = beside(spot.document.path, reference)
    root, real = root_of(spot.document.path), os.path.realpath(path)
    if not os.path.isfile(real) or os.path.commonpath((real, root)) != root:
        return None
    top = {"line": 0, "character": 0}
    return {"uri": places.uri(path), "range": {"start": top, "end": top}}


def _key(doc: Doc, path: Path, places: Places) -> dict[str, Any] | None:
    source = doc.source
    if source is None or not source.has(path):
        return None
    span = source.span(path, on_key=True)
    place = (span.line, span.column, span.end_line, span.end_column)
    return {"uri": places.uri(source.file), "range": places.stretch(source.file, place, source.text)}
