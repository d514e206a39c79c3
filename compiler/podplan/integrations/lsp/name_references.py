"""Names that are defined in another place: hardware classes, queues, claims, params."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from podplan.core.findings import Diagnostic, Path, value_at
from podplan.core.limits import MAX_BASES, LimitExceeded
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any, NamedTuple
from podplan.integrations.lsp.cursor import CursorContext
from podplan.integrations.lsp.dependents import MAX_SCANNED_FILES
from podplan.integrations.lsp.workspace import Workspace
from podplan.kinds.registry import FAMILIES
from podplan.profile.resolve import INVENTORY_FIELDS
from podplan.workspace.documents import classify_documents
from podplan.workspace.files import OutsideRoot, files_below, find_root, is_in_repository, read_inside_root
from podplan.yaml import parse_yaml

EXPRESSION_SCOPE = ("params", "matrix", "metadata", "environment", "inventory")
_MAX_NAME = 200
# The last field of a path -> the section of the inventory with its names.
_PROFILE_FIELDS = {"hardware": "hardware", "queue": "queues", "pvc": "pvcs"}
_DATA_FIELDS = {"secret": "secrets", "configMap": "configMaps"}
_CR_FIELDS = {"claimName": "pvcs", "queue": "queues", "secretName": "secrets"}
_KEY_REFERENCES = ("secretKeyRef", "configMapKeyRef", "secretRef", "configMapRef")


class PartialExpression(NamedTuple):
    """The part of an expression before the cursor: names up to the last dot, and the word after it."""

    steps: tuple[str, ...]
    word: str


def find_open_expression(line_start: str) -> PartialExpression | None:
    """Return the expression that is open at the end of a line up to the cursor, if any."""
    opening = line_start.rfind("${{")
    if opening < 0 or "}}" in line_start[opening:]:
        return None
    name = re.search(r"[\w.-]*$", line_start[opening + 3 :][-_MAX_NAME:])
    *steps, word = (name[0] if name else "").split(".")
    return PartialExpression(tuple(steps), word)


def find_inventory_section(path: Path, is_profile: bool) -> str:
    """Return the section of the inventory in which the name at a path is looked up, or ""."""
    if not path:
        return ""
    last, parent = path[-1], path[-2:-1]
    if not is_profile:
        if last == "name" and parent and parent[0] in _KEY_REFERENCES:
            return "secrets" if str(parent[0]).startswith("secret") else "configMaps"
        return _CR_FIELDS.get(str(last), "")
    if last in _DATA_FIELDS and ("data" in path or "env" in path):
        return _DATA_FIELDS[str(last)]
    is_reference = (
        path[-1:] == ("hardware",) or parent == ("schedule",) or (parent and isinstance(parent[0], int))
    )
    return _PROFILE_FIELDS.get(str(last), "") if is_reference else ""


def list_inventory_names(section: str, context: CursorContext, workspace: Workspace) -> dict[str, Any]:
    """Return the names in a section of the inventory, with their entries."""
    inventory = workspace.find_inventory(context.document.path)
    entries = value_at(inventory.data, ("spec", section)) if inventory is not None else None
    return entries if isinstance(entries, dict) else {}


def iter_base_chain(context: CursorContext, workspace: Workspace) -> Iterator[TracedDocument]:
    """Yield the document itself, or its outline if it does not parse, and its base profiles, nearest
    first."""
    reader = workspace.create_reader(context.document.path)
    waiting = [context.item.doc if context.item is not None else _build_outline_doc(context)]
    visited: set[tuple[str, int]] = set()
    while waiting and len(visited) < MAX_BASES:
        doc = waiting.pop(0)
        if (doc.name, id(doc.data)) in visited:
            continue
        visited.add((doc.name, id(doc.data)))
        yield doc
        for reference in _filter_strings(value_at(doc.data, ("spec", "extends"))):
            base = reader.load_base(reference, doc)
            waiting += [] if isinstance(base, Diagnostic) else [base]


def _build_outline_doc(context: CursorContext) -> TracedDocument:
    """Build a document that does not parse, with only its ``extends``."""
    base_references = [
        text for path, text in context.outline.values.items() if path[:2] == ("spec", "extends")
    ]
    return TracedDocument(context.document.path, {"spec": {"extends": base_references}})


def _filter_strings(entries: Any) -> list[str]:
    return [entry for entry in entries if isinstance(entry, str)] if isinstance(entries, list) else []


def list_expression_names(steps: tuple[str, ...], context: CursorContext, workspace: Workspace) -> list[str]:
    """Return the names that may follow in an expression."""
    if not steps:
        return list(EXPRESSION_SCOPE)
    if steps == ("inventory",):
        return list(INVENTORY_FIELDS)
    if steps[0] == "inventory" and len(steps) == 2:
        return list(list_inventory_names(steps[1], context, workspace))
    if steps == ("metadata",):
        return ["name", "namespace", "labels", "annotations"]
    paths_by_steps: dict[tuple[str, ...], Path] = {
        ("params",): ("spec", "params"),
        ("matrix",): ("spec", "matrix", "axes"),
        ("metadata", "labels"): ("metadata", "labels"),
        ("metadata", "annotations"): ("metadata", "annotations"),
    }
    if steps not in paths_by_steps:
        return []
    names = dict.fromkeys(context.list_keys(paths_by_steps[steps]))
    for doc in iter_base_chain(context, workspace):
        mapping = value_at(doc.data, paths_by_steps[steps])
        names |= dict.fromkeys(mapping) if isinstance(mapping, dict) else {}
    return [*names, *(["id"] if steps == ("matrix",) else [])]


def list_runtimes(path: Path, context: CursorContext, workspace: Workspace) -> list[tuple[str, str]]:
    """Return kind and name of the runtimes in the repository that the field at ``path`` may name.

    The name alone, as a text, means a runtime for the whole cluster.
    """
    if path[-1:] != ("runtime",) and path[-2:] not in (("runtime", "name"), ("runtimeRef", "name")):
        return []
    file = context.document.path
    folders = workspace.find_settings(file).settings.runtime_folders
    reader = workspace.create_reader(file)
    return [
        (kind, name)
        for family in FAMILIES
        for kind in family.referred
        if path[-1] == "name" or kind.startswith("Cluster")
        for name in reader.list_referable(file, family.group, kind, folders)
    ]


def list_base_files(context: CursorContext, workspace: Workspace) -> list[str]:
    """Return the files below the root with a base profile, as ``extends`` of the document would name them."""
    path = context.document.path
    if not is_in_repository(path):
        return []
    root, folder = find_root(path), os.path.dirname(os.path.realpath(path))
    base_files = []
    for number, file in enumerate(files_below(root, workspace.find_settings(path).exclude, [])):
        if number >= MAX_SCANNED_FILES:
            break
        try:
            content = read_inside_root(root, file)
            if b"JobProfileBase" in content and any(
                one.category == "base" for one in classify_documents(parse_yaml(content, file))
            ):
                base_files.append(os.path.relpath(file, folder).replace(os.sep, "/"))
        except (OSError, OutsideRoot, LimitExceeded):  # most files are unrelated
            continue
    return base_files
