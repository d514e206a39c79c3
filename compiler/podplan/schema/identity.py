"""The identity of a custom resource: its kind, and the dialect of a kind with several.

Source of kinds and dialects: the T9k API reference and docs/evidence/t9k-common.md#kinds-and-short-names,
docs/evidence/t9k-colossalaijob.md#dialects.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from podplan.core.findings import Diagnostic
from podplan.core.suggestions import suggest_name, suggest_phrase
from podplan.core.typing import Any
from podplan.core.wording import add_article, join_words
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
    families = list_families_with(data.get("kind"))
    versions = [one.api_version for one in families if one.group == family.group]
    subject = f"{data.get('kind')} is" if len(versions) > 1 else "the job kinds are"
    versions = versions if len(versions) > 1 else [family.api_version]
    message = f'{subject} in {" and ".join(versions)}, not in "{declared_version}"'
    help = f"write apiVersion: {' or '.join(versions)}"
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
    suggestion = suggest_phrase(declared_kind, names)
    others = [other.api_version for other in list_families_with(declared_kind)]
    if others and not suggestion:
        message = f'{family.api_version} has no kind "{declared_kind}", which is in {" and ".join(others)}'
        help = f"write apiVersion: {' or '.join(others)}"
        return "", [Diagnostic("SCHEMA010", message, ("kind",), help=help)]
    message = f'{family.api_version} has no kind "{declared_kind}"{suggestion}'
    return "", [Diagnostic("SCHEMA010", message, ("kind",), help=kinds_help)]


def find_intended_kind(data: Mapping[str, Any], kind: str) -> GroupVersionKind | None:
    """Return the kind that a CR, or a List, with this ``kind`` is of, for any apiVersion."""
    return find_kind(family_of({**data, "kind": kind}).api_version, kind.removesuffix("List"))


def identify_dialect(known: GroupVersionKind, spec: Any) -> tuple[str, list[Diagnostic]]:
    """Return the dialect by the fields of ``spec``, and a diagnostic if they match none or two."""
    dialects, kind = load_spec(known).dialects, known.kind
    if not dialects or not isinstance(spec, dict):
        return next(iter(dialects), ""), []
    fields = _list_present_fields(spec, dict.fromkeys(itertools.chain(*dialects.values())))
    fitting = [name for name, known_fields in dialects.items() if set(fields) <= set(known_fields)]
    if fields and fitting:
        return fitting[0], []
    dialect_fields = ", or ".join(
        join_words([f'"{field}"' for field in known_fields]) for known_fields in dialects.values()
    )
    if fields:
        return "", [_diagnose_conflict(kind, dialects, fields, f"write {dialect_fields}")]
    misspelt_dialect = _find_misspelt_dialect(kind, dialects, spec)
    if misspelt_dialect:
        return misspelt_dialect, []
    return "", [Diagnostic("SCHEMA003", f"spec of {add_article(kind)} needs {dialect_fields}", ("spec",))]


def _diagnose_conflict(
    kind: str, dialects: Mapping[str, tuple[str, ...]], fields: list[str], help: str
) -> Diagnostic:
    """Build the diagnostic of fields, in the order written, that no dialect has together."""
    fits = next(
        number
        for number in range(len(fields), 0, -1)
        if any(set(fields[:number]) <= set(known_fields) for known_fields in dialects.values())
    )
    second = fields[fits]
    excluded = [
        field
        for field in fields
        if not any({field, second} <= set(known_fields) for known_fields in dialects.values())
    ]
    message = f'"{second}" and "{excluded[0]}" belong to two dialects of {kind} that exclude each other'
    related = tuple(
        (("spec", *field.split(".")), f'"{field}" belongs to the other dialect') for field in excluded
    )
    return Diagnostic("SCHEMA009", message, ("spec", *second.split(".")), True, help, related)


def _list_present_fields(spec: dict[str, Any], fields: Iterable[str]) -> list[str]:
    """Return those of ``fields`` that are written, in the order of ``spec``; A.B is field B of field A."""
    order = list(spec)
    present_fields = []
    for field in fields:
        value: Any = spec
        for step in field.split("."):
            value = value.get(step) if isinstance(value, dict) else None
        if value is not None:
            present_fields.append(field)
    return sorted(present_fields, key=lambda field: order.index(field.partition(".")[0]))


def _find_misspelt_dialect(kind: str, dialects: Mapping[str, tuple[str, ...]], spec: dict[str, Any]) -> str:
    """Return the dialect with a field of which ``spec`` has an old spelling or a typo."""
    from podplan.schema.old_spellings import find_old_spelling

    for name, fields in dialects.items():
        for key in spec:
            old_spelling = find_old_spelling(kind, ("spec", key))
            if (old_spelling.current_name if old_spelling else suggest_name(key, list(fields))) in fields:
                return name
    return ""
