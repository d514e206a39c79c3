"""The plugin parameters of an Application, for the form of Argo CD.

Argo CD supports strings, lists and maps; ``itemType`` is the meaning of a string. An announced default is
shown, but never passed (docs/evidence/gitops-argocd.md#parameter-announcements): without a value, that of the
profile applies.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from podplan.core.typing import Any
from podplan.integrations.argocd.application import ApplicationProfile
from podplan.integrations.argocd.parameters import MANIFEST_MODES, PARAM_PREFIX
from podplan.kubernetes.accessors import get_mapping
from podplan.redaction.redactor import redact_data

ParameterSchema = dict[str, Any]
_ITEM_TYPES = {"integer": "number", "number": "number", "boolean": "boolean"}
_MAX_LISTED = 20


def build_parameter_schemas(profiles: Sequence[ApplicationProfile]) -> list[ParameterSchema]:
    """Return the parameters for these profiles: how to render them, and their params."""
    return [*_build_general_parameters(profiles), *_build_param_schemas(profiles)]


def _build_general_parameters(profiles: Sequence[ApplicationProfile]) -> list[ParameterSchema]:
    environments = dict.fromkeys(name for one in profiles for name in one.environments)
    names = ", ".join(sorted({one.name for one in profiles})[:_MAX_LISTED])
    environments_text = ", ".join([*list(environments)[:_MAX_LISTED], "all"])
    return [
        {
            "name": "environment",
            "title": "Environment",
            "tooltip": f"one of {environments_text}"
            if environments
            else "the profiles here have no environments",
            "required": bool(environments),
            "string": "",
        },
        {
            "name": "profiles",
            "title": "Profiles",
            "tooltip": f"names or files; all where none is named: {names}",
            "collectionType": "array",
            "array": [],
        },
        {
            "name": "inventory",
            "title": "ClusterInventory",
            "tooltip": "a file, from this folder, or with a leading / from the top of the repository",
            "string": "",
        },
        {
            "name": "manifests",
            "title": "Manifests beside the profiles",
            "tooltip": f"{' or '.join(MANIFEST_MODES)}; needed where there are some",
            "string": "",
        },
    ]


def _build_param_schemas(profiles: Iterable[ApplicationProfile]) -> list[ParameterSchema]:
    """Return the params of all profiles by name; if several declare one, as in the first."""
    declared: dict[str, list[tuple[ApplicationProfile, dict[str, Any]]]] = {}
    for profile in profiles:
        for name, fragment in profile.params.items():
            declared.setdefault(name, []).append((profile, fragment if isinstance(fragment, dict) else {}))
    return [_build_param_schema(name, those) for name, those in sorted(declared.items())]


def _build_param_schema(
    name: str, declaring: Sequence[tuple[ApplicationProfile, dict[str, Any]]]
) -> ParameterSchema:
    profile, fragment = declaring[0]
    fragment = _remove_secret_default(profile, name, fragment)
    names = ", ".join(dict.fromkeys(one.name for one, _ in declaring))
    title = fragment.get("title")
    schema: ParameterSchema = {
        "name": PARAM_PREFIX + name,
        "title": title if isinstance(title, str) else name,
        "tooltip": "; ".join(filter(None, [_describe_value(fragment), f"of {names}"])),
        "required": any(_is_required(one, below) for one, below in declaring),
    }
    return {**schema, **_build_value_schema(fragment)}


def _remove_secret_default(
    profile: ApplicationProfile, name: str, fragment: dict[str, Any]
) -> dict[str, Any]:
    """Return the declaration of a param without a secret default: a form shows it, and may submit it."""
    profile_data = {"spec": {**get_mapping(profile.item.doc.data, "spec"), "params": {name: fragment}}}
    redacted: dict[str, Any] = redact_data(profile_data)["spec"]["params"][name]
    is_secret = redacted.get("default") != fragment.get("default")
    return {key: value for key, value in redacted.items() if not (is_secret and key == "default")}


def _is_required(profile: ApplicationProfile, fragment: dict[str, Any]) -> bool:
    """Whether only the parameter can set the value; environments may also set it."""
    return "default" not in fragment and not profile.environments


def _build_value_schema(fragment: dict[str, Any]) -> ParameterSchema:
    declared, default = fragment.get("type"), fragment.get("default")
    if declared == "array":
        values = default if isinstance(default, list) else []
        return {"collectionType": "array", "array": [_format_value(value) for value in values]}
    if declared == "object":
        entries = default.items() if isinstance(default, dict) else ()
        return {"collectionType": "map", "map": {str(key): _format_value(value) for key, value in entries}}
    item_type = _ITEM_TYPES.get(declared) if isinstance(declared, str) else None
    typed = {"itemType": item_type} if item_type else {}
    return {**typed, "string": "" if default is None else _format_value(default)}


def _describe_value(fragment: dict[str, Any]) -> str:
    """Describe the valid values in a few words: Argo CD's form supports neither choices nor bounds."""
    parts = [fragment["description"]] if isinstance(fragment.get("description"), str) else []
    choices = fragment.get("enum")
    if isinstance(choices, list):
        parts.append("one of " + ", ".join(_format_value(choice) for choice in choices[:_MAX_LISTED]))
    elif isinstance(fragment.get("type"), str):
        parts.append(fragment["type"])
    for keyword, words in (("minimum", "at least"), ("maximum", "at most"), ("pattern", "like")):
        if isinstance(fragment.get(keyword), int | float | str):
            parts.append(f"{words} {_format_value(fragment[keyword])}")
    return ", ".join(parts)


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
