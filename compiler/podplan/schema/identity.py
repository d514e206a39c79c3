"""The identity of a custom resource: its kind, and the dialect of a kind with several.

Source of kinds and dialects: the T9k API reference and docs/evidence/t9k-common.md#kinds-and-short-names,
docs/evidence/t9k-colossalaijob.md#dialects.
"""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.findings import Diagnostic
from podplan.core.suggestions import suggest_name, suggest_phrase
from podplan.core.typing import Any
from podplan.kinds.registry import (
    KINDS_BY_NAME,
    GroupVersionKind,
    family_of,
    find_kind,
    list_families_with,
    load_spec,
)

# Kinds by the names of their Lists.
LIST_KINDS = {f"{name}List": kind for name, kind in KINDS_BY_NAME.items()}


def is_known_but_not_lowered(data: Mapping[str, Any]) -> bool:
    """Whether a document is, or is a List, of a kind that podplan does not lower yet."""
    kind = data.get("kind")
    return isinstance(kind, str) and kind.removesuffix("List") in family_of(data).not_lowered


def validate_api_version(data: Mapping[str, Any]) -> list[Diagnostic]:
    """Return the diagnostics of the apiVersion of a CR."""
    declared_version, family = data.get("apiVersion"), family_of(data)
    if declared_version == family.api_version:
        return []
    if not isinstance(declared_version, str):
        candidates = [one.api_version for one in list_families_with(data.get("kind"))]
        help = f"write apiVersion: {' or '.join(candidates or [family.api_version])}"
        return [Diagnostic("SCHEMA003", 'required field "apiVersion" is missing', help=help)]
    message = f'the job kinds are in {family.api_version}, not in "{declared_version}"'
    help = f"write apiVersion: {family.api_version}"
    return [Diagnostic("SCHEMA010", message, ("apiVersion",), help=help)]


def identify_kind(data: Mapping[str, Any]) -> tuple[str, list[Diagnostic]]:
    """Return the intended kind, "" if there is none, and the diagnostics of its spelling."""
    declared_kind, family = data.get("kind"), family_of(data)
    names = [kind + suffix for kind in family.kinds for suffix in ("", "List")]
    if declared_kind in names:
        return str(declared_kind), []
    kinds_help = f"the kinds are: {', '.join(family.kinds)}"
    if not isinstance(declared_kind, str):
        return "", [Diagnostic("SCHEMA003", 'required field "kind" is missing', help=kinds_help)]

    from podplan.schema.old_spellings import find_current_kind

    renamed_kind = find_current_kind(declared_kind)
    intended_kind = renamed_kind or {kind.lower(): kind for kind in names}.get(declared_kind.lower(), "")
    if intended_kind:
        message = (
            f'kind "{declared_kind}" is called "{intended_kind}"; the API server rejects the written name'
        )
        help = f"write kind: {intended_kind}" + (", or run podplan migrate" if renamed_kind else "")
        return intended_kind, [Diagnostic("SCHEMA011", message, ("kind",), help=help)]
    message = f'{family.api_version} has no kind "{declared_kind}"{suggest_phrase(declared_kind, names)}'
    return "", [Diagnostic("SCHEMA010", message, ("kind",), help=kinds_help)]


def find_intended_kind(data: Mapping[str, Any], kind: str) -> GroupVersionKind | None:
    """Return the kind that a CR, or a List, with this ``kind`` is of, for any apiVersion."""
    return find_kind(family_of({**data, "kind": kind}).api_version, kind.removesuffix("List"))


def identify_dialect(known: GroupVersionKind, spec: Any) -> tuple[str, list[Diagnostic]]:
    """Return the dialect by the fields of ``spec``, and a diagnostic if they match none or two."""
    dialects, kind = load_spec(known).dialects, known.kind
    if not dialects or not isinstance(spec, dict):
        return next(iter(dialects), ""), []
    present_fields = {
        name: written for name, fields in dialects.items() if (written := _find_present_fields(spec, fields))
    }
    if len(present_fields) == 1:
        return next(iter(present_fields)), []
    dialect_fields = ", or ".join(
        " and ".join(f'"{field}"' for field in fields) for fields in dialects.values()
    )
    if present_fields:
        order = list(spec)
        first, second = sorted(present_fields.values(), key=lambda fields: order.index(fields[0]))
        message = f'"{second[0]}" and "{first[0]}" belong to two dialects of {kind} that exclude each other'
        related = tuple((("spec", field), f'"{field}" belongs to the other dialect') for field in first)
        return "", [
            Diagnostic("SCHEMA009", message, ("spec", second[0]), True, f"write {dialect_fields}", related)
        ]
    misspelt_dialect = _find_misspelt_dialect(kind, dialects, spec)
    if misspelt_dialect:
        return misspelt_dialect, []
    return "", [Diagnostic("SCHEMA003", f"spec of a {kind} needs {dialect_fields}", ("spec",))]


def _find_present_fields(spec: dict[str, Any], fields: tuple[str, ...]) -> list[str]:
    return [field for field in spec if field in fields and spec[field] is not None]


def _find_misspelt_dialect(kind: str, dialects: Mapping[str, tuple[str, ...]], spec: dict[str, Any]) -> str:
    """Return the dialect with a field of which ``spec`` has an old spelling or a typo."""
    from podplan.schema.old_spellings import find_old_spelling

    for name, fields in dialects.items():
        for key in spec:
            old_spelling = find_old_spelling(kind, ("spec", key))
            if (old_spelling.current_name if old_spelling else suggest_name(key, list(fields))) in fields:
                return name
    return ""
