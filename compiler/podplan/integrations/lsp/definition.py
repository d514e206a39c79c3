"""Go to definition: from a name to its definition."""

from __future__ import annotations

import os
import re
from itertools import islice

from podplan.core.findings import Path
from podplan.core.limits import MAX_EXPRESSION_LENGTH
from podplan.core.provenance import TracedDocument, trace_to_source
from podplan.core.typing import Any
from podplan.integrations.lsp.cursor import CursorContext
from podplan.integrations.lsp.diagnostics import RangeMapper
from podplan.integrations.lsp.field_effects import MAX_PLANS
from podplan.integrations.lsp.name_references import find_inventory_section, iter_base_chain
from podplan.integrations.lsp.workspace import Workspace
from podplan.workspace.files import explain_invalid_path, find_root, resolve_reference

_NAME_REFERENCE = re.compile(r"(params|matrix)(?:\.([\w-]+)|\['([^']+)'\])")
_DEFINITION_PATHS: dict[str, tuple[Path, ...]] = {
    "params": (("spec", "params"),),
    "matrix": (("spec", "matrix", "axes"), ("spec", "matrix", "include")),
}


def find_definition(
    context: CursorContext, workspace: Workspace, ranges: RangeMapper
) -> dict[str, Any] | None:
    """Return the Location of the definition of the name at a position, or None."""
    name_reference = _find_name_in_expression(context)
    if name_reference is not None:
        return _find_name_definition(*name_reference, context, workspace, ranges)
    path = context.path
    if not path:
        return None
    value = context.get_text(path)
    is_profile = context.api_version.startswith("podplan/")
    if is_profile and path[:2] == ("spec", "extends") and value:
        return _locate_file(context, value, ranges)
    if is_profile and path[-2:-1] == ("values",) and isinstance(path[-1], str):
        return _find_name_definition("params", path[-1], context, workspace, ranges)
    if (referenced := _find_referenced(context, path, workspace, ranges)) is not None:
        return referenced
    section = find_inventory_section(path, is_profile)
    inventory = workspace.find_inventory(context.document.path) if section and value else None
    name = value.partition("/")[0] if "env" in path else value
    return _locate_key(inventory, ("spec", section, name), ranges) if inventory is not None else None


def _find_referenced(
    context: CursorContext, path: Path, workspace: Workspace, ranges: RangeMapper
) -> dict[str, Any] | None:
    """Return the Location of the document that the value at a path refers to, such as a runtime."""
    if context.item is None or context.item.category not in ("cr", "profile") or not context.get_text(path):
        return None
    for plan in islice(workspace.iter_plans(context.document), MAX_PLANS):
        if plan.cr is None or not context.is_at(plan.item.doc):
            continue
        for reference, doc in plan.references:
            if trace_to_source(plan.cr, reference.path)[-1].path == path:
                return _locate_key(doc, ("metadata", "name"), ranges)
    return None


def _find_name_in_expression(context: CursorContext) -> tuple[str, str] | None:
    """Return the param or axis at the cursor, inside an expression."""
    line, column = context.lines[context.line], context.column
    start = line.rfind("${{", 0, column)
    end = line.find("}}", max(start, 0))
    if start < 0 or end < column or end - start > MAX_EXPRESSION_LENGTH:
        return None
    names = _NAME_REFERENCE.finditer(line, start, end)
    return next((((one[1], one[2] or one[3])) for one in names if one.start() <= column <= one.end()), None)


def _find_name_definition(
    scope: str, name: str, context: CursorContext, workspace: Workspace, ranges: RangeMapper
) -> dict[str, Any] | None:
    for doc in iter_base_chain(context, workspace):
        for parent_path in _DEFINITION_PATHS[scope]:
            definition = _locate_key(doc, (*parent_path, name), ranges)
            if definition is not None:
                return definition
    return None


def _locate_file(context: CursorContext, reference: str, ranges: RangeMapper) -> dict[str, Any] | None:
    if explain_invalid_path(reference):
        return None
    path = resolve_reference(context.document.path, reference)
    root, real = find_root(context.document.path), os.path.realpath(path)
    if not os.path.isfile(real) or os.path.commonpath((real, root)) != root:
        return None
    file_start = {"line": 0, "character": 0}
    return {"uri": ranges.uri(path), "range": {"start": file_start, "end": file_start}}


def _locate_key(doc: TracedDocument, path: Path, ranges: RangeMapper) -> dict[str, Any] | None:
    source = doc.source
    if source is None or not source.has_path(path):
        return None
    span = source.span(path, on_key=True)
    key_range = (span.line, span.column, span.end_line, span.end_column)
    return {"uri": ranges.uri(source.file), "range": ranges.map_span(source.file, key_range, source.text)}
