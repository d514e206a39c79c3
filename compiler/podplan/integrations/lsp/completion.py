"""Completion: fields and values from the schema at the cursor, and names that are defined elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.errors import UsageError
from podplan.core.limits import LimitExceeded
from podplan.core.typing import Any
from podplan.integrations.lsp.cursor import CursorContext
from podplan.integrations.lsp.hover import (
    SchemaVersions,
    find_schema_name,
    find_schema_versions,
    load_kind_schema,
)
from podplan.integrations.lsp.name_references import (
    find_inventory_section,
    find_open_expression,
    list_base_files,
    list_expression_names,
    list_inventory_names,
    list_runtimes,
)
from podplan.integrations.lsp.outline import OutlineCursor
from podplan.integrations.lsp.positions import Encoding, to_protocol_range
from podplan.integrations.lsp.workspace import Workspace
from podplan.kinds.registry import FAMILIES, find_family
from podplan.schema import fields
from podplan.workspace.documents import PROFILE_KINDS
from podplan.workspace.files import OutsideRoot
from podplan.yaml.edits.changes import format_inline

PROFILE_API_VERSION = "podplan/v1"
TOP_LEVEL_KEYS = ("apiVersion", "kind", "metadata", "spec")
_FIELD_KIND, _ENUM_KIND, _NAME_KIND, _VARIABLE_KIND = 10, 20, 18, 6  # CompletionItemKind

CompletionItem = dict[str, Any]


def build_items(context: CursorContext, workspace: Workspace, encoding: Encoding) -> list[CompletionItem]:
    """Return the completion items at a position, best first."""
    partial_expression = find_open_expression(context.text_before)
    if partial_expression is not None:
        names = list_expression_names(partial_expression.steps, context, workspace)
        return [
            _build_item(context, encoding, name, _VARIABLE_KIND, name, partial_expression.word)
            for name in names
        ]
    cursor = context.outline.cursor
    if cursor is None:
        return []
    completion_items: list[CompletionItem] = []
    if cursor.at_key:
        completion_items += _iter_key_items(context, cursor, workspace, encoding)
    if not cursor.at_key or cursor.is_new:
        completion_items += _iter_value_items(context, cursor, workspace, encoding)
    for number, item in enumerate(completion_items):
        item["sortText"] = f"{number:04}"
    return completion_items


def _iter_key_items(
    context: CursorContext, cursor: OutlineCursor, workspace: Workspace, encoding: Encoding
) -> Iterator[CompletionItem]:
    existing_keys = set(context.outline.keys.get(cursor.path, ()))
    kind_schema = load_kind_schema(find_schema_name(context), _find_versions(context, workspace))
    colon = "" if context.lines[context.line][context.column :].startswith(cursor.suffix + ":") else ":"
    if not kind_schema:
        if not cursor.path and existing_keys <= set(TOP_LEVEL_KEYS):
            for name in TOP_LEVEL_KEYS:
                if name not in existing_keys:
                    yield _build_item(
                        context,
                        encoding,
                        name,
                        _FIELD_KIND,
                        f"{name}{colon}{' ' if colon and name in TOP_LEVEL_KEYS[:2] else ''}",
                    )
        return
    schemas = fields.find_schemas_at(kind_schema, cursor.path)
    required = {name for part in schemas for name in part.get("required", ())}
    known_fields = fields.collect_fields(schemas, kind_schema)
    for name in sorted(known_fields, key=lambda name: name not in required):
        if name in existing_keys:
            continue
        kinds = fields.collect_types([known_fields[name]], kind_schema)
        block = kinds == ["object"] and not _in_flow(context)
        text = f"{name}{colon}{'' if block or not colon else ' '}"
        item = _build_item(context, encoding, name, _FIELD_KIND, text)
        yield _add_details(
            item, " or ".join(kinds), fields.find_description([known_fields[name]], kind_schema)
        )
    if cursor.path[:2] == ("spec", "environments") and cursor.path[-1:] == ("values",):
        for name in list_expression_names(("params",), context, workspace):
            if name not in existing_keys:
                yield _add_details(
                    _build_item(
                        context, encoding, name, _VARIABLE_KIND, f"{name}{colon}{' ' if colon else ''}"
                    ),
                    "param",
                    "",
                )


def _iter_value_items(
    context: CursorContext, cursor: OutlineCursor, workspace: Workspace, encoding: Encoding
) -> Iterator[CompletionItem]:
    pad = " " if context.text_before.endswith(":") else ""
    quoted = context.text_before[: len(context.text_before) - len(cursor.word)].endswith(('"', "'"))

    def item(value: Any, kind: int, detail: str = "", documentation: str = "") -> CompletionItem:
        text = str(value) if quoted else pad + format_inline(value)
        label = format_inline(value) if isinstance(value, bool) else str(value)
        return _add_details(_build_item(context, encoding, label, kind, text), detail, documentation)

    if cursor.path == ("apiVersion",):
        yield item(PROFILE_API_VERSION, _ENUM_KIND, "profiles and inventories of podplan")
        api_versions = dict.fromkeys(family.api_version for family in FAMILIES)
        yield from (item(api_version, _ENUM_KIND, "training jobs") for api_version in api_versions)
        return
    if cursor.path == ("kind",) and context.api_version:
        yield from (item(kind, _ENUM_KIND) for kind in _list_kinds(context.api_version))
        return
    kind_schema = load_kind_schema(find_schema_name(context), _find_versions(context, workspace))
    schemas = fields.find_schemas_at(kind_schema, cursor.path)
    choices = [
        *fields.collect_choices(schemas, kind_schema),
        *fields.collect_extra_words(schemas, kind_schema),
    ]
    yield from (item(value, _ENUM_KIND) for value in dict.fromkeys(filter(_is_scalar, choices)))
    is_profile = context.api_version.startswith("podplan/")
    if section := find_inventory_section(cursor.path, is_profile):
        with_keys = is_profile and "env" in cursor.path
        for name, entry in list_inventory_names(section, context, workspace).items():
            if with_keys:
                yield from (item(f"{name}/{key}", _NAME_KIND, section) for key in _list_secret_keys(entry))
            else:
                yield item(name, _NAME_KIND, _format_amount(entry) or section, _describe_entry(entry))
    for runtime_kind, name in list_runtimes(cursor.path, context, workspace):
        yield item(name, _NAME_KIND, runtime_kind)
    if is_profile and cursor.path[:2] == ("spec", "extends"):
        yield from (item(name, _NAME_KIND, "base") for name in list_base_files(context, workspace))


def _list_kinds(api_version: str) -> list[str]:
    if family := find_family(api_version):
        return sorted(family.packages)
    return list(PROFILE_KINDS) if api_version.startswith("podplan/") else []


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _list_secret_keys(entry: Any) -> list[str]:
    keys = entry.get("keys") if isinstance(entry, dict) else None
    return [key for key in keys if isinstance(key, str)] if isinstance(keys, list) else []


def _describe_entry(entry: Any) -> str:
    return str(entry.get("description", "")) if isinstance(entry, dict) else ""


def _format_amount(entry: Any) -> str:
    """Describe a hardware class in a few words."""
    if not isinstance(entry, dict) or not {"gpus", "cpu", "memory"} & entry.keys():
        return ""
    gpus = entry.get("gpus")
    parts = [f"{number} × {name}" for name, number in gpus.items()] if isinstance(gpus, dict) else []
    parts += [f"{entry['cpu']} cpu"] if "cpu" in entry else []
    parts += [f"{entry['memory']} memory"] if "memory" in entry else []
    return ", ".join(parts)


def _in_flow(context: CursorContext) -> bool:
    before = context.text_before
    return before.count("{") > before.count("}")


def _find_versions(context: CursorContext, workspace: Workspace) -> SchemaVersions:
    try:
        return find_schema_versions(workspace.find_settings(context.document.path).settings)
    except (UsageError, LimitExceeded, OutsideRoot):
        from podplan import kubernetes

        return SchemaVersions(kubernetes.DEFAULT_VERSION)


def _add_details(item: CompletionItem, detail: str, documentation: str) -> CompletionItem:
    return (
        item
        | ({"detail": detail} if detail else {})
        | ({"documentation": documentation} if documentation else {})
    )


def _build_item(
    context: CursorContext, encoding: Encoding, label: str, kind: int, text: str, word: str | None = None
) -> CompletionItem:
    """Build an item that replaces the word at the cursor."""
    cursor = context.outline.cursor
    replaced_suffix = cursor.suffix if cursor is not None and word is None else ""
    before = word if word is not None else cursor.word if cursor is not None else ""
    replaced_range = (
        context.line + 1,
        context.column + 1 - len(before),
        context.line + 1,
        context.column + 1 + len(replaced_suffix),
    )
    return {
        "label": label,
        "kind": kind,
        "textEdit": {"range": to_protocol_range(context.lines, replaced_range, encoding), "newText": text},
    }
