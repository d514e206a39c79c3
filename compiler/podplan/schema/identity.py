"""What a custom resource says that it is: its kind, and the dialect of a kind that has several.

Source of kinds and dialects: the T9k API reference and docs/evidence/t9k-common.md#kinds-and-short-names,
docs/evidence/t9k-colossalaijob.md#dialects.
"""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.findings import Problem
from podplan.core.suggestions import did_you_mean, nearest
from podplan.core.typing import Any
from podplan.kinds.registry import FAMILIES, KIND_NAMES, PACKAGES, family_of, load_spec

LISTS = {f"{kind}List": kind for kind in KIND_NAMES}


def has_schema(kind: str) -> bool:
    """Whether podplan has a schema of ``kind``, or of the kind in its List."""
    return LISTS.get(kind, kind) in LISTS.values()


def known_but_not_lowered(kind: str) -> bool:
    """Whether ``kind``, or the kind in its List, is one that podplan cannot lower yet."""
    return any(kind.removesuffix("List") in family.not_lowered for family in FAMILIES)


def api_version(data: Mapping[str, Any]) -> list[Problem]:
    """What is wrong with the apiVersion of a CR."""
    written, family = data.get("apiVersion"), family_of(data)
    if written == family.api_version:
        return []
    help = f"write apiVersion: {family.api_version}"
    if not isinstance(written, str):
        return [Problem("SCHEMA003", 'required field "apiVersion" is missing', help=help)]
    message = f'the job kinds are in {family.api_version}, not in "{written}"'
    return [Problem("SCHEMA010", message, ("apiVersion",), help=help)]


def kind_of(data: Mapping[str, Any]) -> tuple[str, list[Problem]]:
    """The kind that is meant, "" when none is, and what is wrong with the way it is written."""
    written, family = data.get("kind"), family_of(data)
    names = [kind + suffix for kind in family.kinds for suffix in ("", "List")]
    if written in names:
        return str(written), []
    known = f"the kinds are: {', '.join(family.kinds)}"
    if not isinstance(written, str):
        return "", [Problem("SCHEMA003", 'required field "kind" is missing', help=known)]

    from podplan.schema.old_spellings import old_kind

    old = old_kind(written)
    meant = old or {kind.lower(): kind for kind in names}.get(written.lower(), "")
    if meant:
        message = f'kind "{written}" is called "{meant}"; as written, the API server refuses it'
        help = f"write kind: {meant}" + (", or let podplan migrate do it" if old else "")
        return meant, [Problem("SCHEMA011", message, ("kind",), help=help)]
    message = f'{family.api_version} has no kind "{written}"{did_you_mean(written, names)}'
    return "", [Problem("SCHEMA010", message, ("kind",), help=known)]


def dialects_of(kind: str) -> Mapping[str, tuple[str, ...]]:
    """The dialects of a kind, with the fields of ``spec`` that tell each; empty where there is one form."""
    return next((load_spec(known).dialects for known in PACKAGES if known.kind == kind), {})


def dialect_of(kind: str, spec: Any) -> tuple[str, list[Problem]]:
    """The dialect that the fields of ``spec`` tell, or the problem that they tell none or two."""
    dialects = dialects_of(kind)
    if not dialects or not isinstance(spec, dict):
        return next(iter(dialects), ""), []
    told = {name: written for name, fields in dialects.items() if (written := _written(spec, fields))}
    if len(told) == 1:
        return next(iter(told)), []
    forms = ", or ".join(" and ".join(f'"{field}"' for field in fields) for fields in dialects.values())
    if told:
        order = list(spec)
        first, second = sorted(told.values(), key=lambda fields: order.index(fields[0]))
        message = f'"{second[0]}" and "{first[0]}" belong to two forms of {kind} that exclude each other'
        related = tuple((("spec", field), f'"{field}" is of the other form') for field in first)
        return "", [Problem("SCHEMA009", message, ("spec", second[0]), True, f"write {forms}", related)]
    misspelt = _misspelt_dialect(kind, dialects, spec)
    if misspelt:
        return misspelt, []
    return "", [Problem("SCHEMA003", f"spec of a {kind} needs {forms}", ("spec",))]


def _written(spec: dict[str, Any], fields: tuple[str, ...]) -> list[str]:
    return [field for field in spec if field in fields and spec[field] is not None]


def _misspelt_dialect(kind: str, dialects: Mapping[str, tuple[str, ...]], spec: dict[str, Any]) -> str:
    """The dialect that has a field of which some field of ``spec`` is an old spelling or a slip."""
    from podplan.schema.old_spellings import old_field

    for name, fields in dialects.items():
        for key in spec:
            old = old_field(kind, ("spec", key))
            if (old.now if old else nearest(key, list(fields))) in fields:
                return name
    return ""
