"""Completion: fields and values by the schema at the cursor, and names that are defined elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.errors import RequestError
from podplan.core.limits import BoundExceeded
from podplan.core.typing import Any
from podplan.integrations.lsp.cursor import Spot
from podplan.integrations.lsp.hover import whole_schema
from podplan.integrations.lsp.name_references import (
    bases,
    expression,
    in_expression,
    inventory_names,
    part_of_inventory,
)
from podplan.integrations.lsp.outline import Cursor
from podplan.integrations.lsp.positions import Encoding, span
from podplan.integrations.lsp.workspace import Workspace
from podplan.kinds.registry import FAMILIES, find_family
from podplan.schema import fields
from podplan.workspace.documents import PROFILE_KINDS
from podplan.workspace.files import OutsideRoot
from podplan.yaml.edits.changes import written

PROFILES = "podplan/v1"
TOP = ("apiVersion", "kind", "metadata", "spec")
_FIELD, _ENUM, _NAME, _VARIABLE = 10, 20, 18, 6  # CompletionItemKind

Item = dict[str, Any]


def items(spot: Spot, workspace: Workspace, encoding: Encoding) -> list[Item]:
    """What can be written at a place, best first."""
    begun = expression(spot.before)
    if begun is not None:
        names = in_expression(begun.steps, spot, workspace)
        return [_item(spot, encoding, name, _VARIABLE, name, begun.word) for name in names]
    cursor = spot.outline.cursor
    if cursor is None:
        return []
    found: list[Item] = []
    if cursor.at_key:
        found += _keys(spot, cursor, workspace, encoding)
    if not cursor.at_key or cursor.fresh:
        found += _values(spot, cursor, workspace, encoding)
    for number, item in enumerate(found):
        item["sortText"] = f"{number:04}"
    return found


def _keys(spot: Spot, cursor: Cursor, workspace: Workspace, encoding: Encoding) -> Iterator[Item]:
    taken = set(spot.outline.keys.get(cursor.path, ()))
    whole = whole_schema(spot.kind, _version(spot, workspace))
    end = "" if spot.lines[spot.line][spot.column :].startswith(cursor.rest + ":") else ":"
    if not whole:
        if not cursor.path and taken <= set(TOP):
            for name in TOP:
                if name not in taken:
                    yield _item(
                        spot, encoding, name, _FIELD, f"{name}{end}{' ' if end and name in TOP[:2] else ''}"
                    )
        return
    here = fields.at(whole, cursor.path)
    required = {name for part in here for name in part.get("required", ())}
    known = fields.fields(here, whole)
    for name in sorted(known, key=lambda name: name not in required):
        if name in taken:
            continue
        kinds = fields.types([known[name]], whole)
        block = kinds == ["object"] and not _in_flow(spot)
        text = f"{name}{end}{'' if block or not end else ' '}"
        item = _item(spot, encoding, name, _FIELD, text)
        yield _told(item, " or ".join(kinds), fields.description([known[name]], whole))
    if cursor.path[:2] == ("spec", "environments") and cursor.path[-1:] == ("values",):
        for name in in_expression(("params",), spot, workspace):
            if name not in taken:
                yield _told(
                    _item(spot, encoding, name, _VARIABLE, f"{name}{end}{' ' if end else ''}"), "param", ""
                )


def _values(spot: Spot, cursor: Cursor, workspace: Workspace, encoding: Encoding) -> Iterator[Item]:
    pad = " " if spot.before.endswith(":") else ""
    quoted = spot.before[: len(spot.before) - len(cursor.word)].endswith(('"', "'"))

    def item(value: Any, kind: int, detail: str = "", documentation: str = "") -> Item:
        text = str(value) if quoted else pad + written(value)
        label = written(value) if isinstance(value, bool) else str(value)
        return _told(_item(spot, encoding, label, kind, text), detail, documentation)

    if cursor.path == ("apiVersion",):
        yield item(PROFILES, _ENUM, "profiles and inventories of podplan")
        yield from (item(family.api_version, _ENUM, "training jobs") for family in FAMILIES)
        return
    if cursor.path == ("kind",) and spot.api_version:
        yield from (item(kind, _ENUM) for kind in _kinds(spot.api_version))
        return
    whole = whole_schema(spot.kind, _version(spot, workspace))
    here = fields.at(whole, cursor.path)
    chosen = [*fields.choices(here, whole), *fields.words(here, whole)]
    yield from (item(value, _ENUM) for value in dict.fromkeys(filter(_is_scalar, chosen)))
    is_profile = spot.api_version.startswith("podplan/")
    if part := part_of_inventory(cursor.path, is_profile):
        with_keys = is_profile and "env" in cursor.path
        for name, said in inventory_names(part, spot, workspace).items():
            if with_keys:
                yield from (item(f"{name}/{key}", _NAME, part) for key in _keys_of(said))
            else:
                yield item(name, _NAME, _amount(said) or part, _described(said))
    if is_profile and cursor.path[:2] == ("spec", "extends"):
        yield from (item(name, _NAME, "base") for name in bases(spot, workspace))


def _kinds(api_version: str) -> list[str]:
    if family := find_family(api_version):
        return sorted(family.packages)
    return list(PROFILE_KINDS) if api_version.startswith("podplan/") else []


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _keys_of(said: Any) -> list[str]:
    keys = said.get("keys") if isinstance(said, dict) else None
    return [key for key in keys if isinstance(key, str)] if isinstance(keys, list) else []


def _described(said: Any) -> str:
    return str(said.get("description", "")) if isinstance(said, dict) else ""


def _amount(said: Any) -> str:
    """What a hardware class gives, in a few words."""
    if not isinstance(said, dict) or not {"gpus", "cpu", "memory"} & said.keys():
        return ""
    gpus = said.get("gpus")
    parts = [f"{number} × {name}" for name, number in gpus.items()] if isinstance(gpus, dict) else []
    parts += [f"{said['cpu']} cpu"] if "cpu" in said else []
    parts += [f"{said['memory']} memory"] if "memory" in said else []
    return ", ".join(parts)


def _in_flow(spot: Spot) -> bool:
    before = spot.before
    return before.count("{") > before.count("}")


def _version(spot: Spot, workspace: Workspace) -> str:
    try:
        return workspace.asked(spot.document.path).settings.k8s_version
    except (RequestError, BoundExceeded, OutsideRoot):
        from podplan import kubernetes

        return kubernetes.DEFAULT_VERSION


def _told(item: Item, detail: str, documentation: str) -> Item:
    return (
        item
        | ({"detail": detail} if detail else {})
        | ({"documentation": documentation} if documentation else {})
    )


def _item(spot: Spot, encoding: Encoding, label: str, kind: int, text: str, word: str | None = None) -> Item:
    """An item that takes the place of the word at the cursor."""
    cursor = spot.outline.cursor
    rest = cursor.rest if cursor is not None and word is None else ""
    before = word if word is not None else cursor.word if cursor is not None else ""
    place = (spot.line + 1, spot.column + 1 - len(before), spot.line + 1, spot.column + 1 + len(rest))
    return {
        "label": label,
        "kind": kind,
        "textEdit": {"range": span(spot.lines, place, encoding), "newText": text},
    }
