"""Selects the profiles of an Application to render, with their environments and values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from podplan.core.errors import UsageError
from podplan.core.suggestions import suggest_name, suggest_or_list
from podplan.core.typing import Any, NamedTuple
from podplan.integrations.argocd.application import ApplicationProfile
from podplan.integrations.argocd.parameters import PARAM_PREFIX, ParameterValue, PluginParameters
from podplan.yaml.scalars import resolve_plain


class SelectedProfile(NamedTuple):
    """A profile, its environments to render (None for as written), and its ``--set`` flags."""

    profile: ApplicationProfile
    environments: tuple[str, ...] | None
    sets: dict[str, str]


def select_profiles(
    profiles: Sequence[ApplicationProfile], parameters: PluginParameters
) -> list[SelectedProfile]:
    """Return the profiles that an Application selects.

    Raises UsageError: for a parameter that fits none of them.
    """
    selected = _filter_by_name(profiles, parameters.profiles)
    declaring = {name: [one for one in selected if name in one.params] for name in parameters.params}
    for name, declaring_profiles in declaring.items():
        if not declaring_profiles and selected and all(one.is_complete for one in selected):
            known_params = {known for one in selected for known in one.params}
            raise UsageError(
                f'unknown parameter "{PARAM_PREFIX}{name[:60]}"{_suggest_param(name, known_params)}'
            )
    return [
        SelectedProfile(
            one, _select_environments(one, parameters.environment), _build_sets(one, parameters.params)
        )
        for one in selected
    ]


def _suggest_param(name: str, known_params: set[str]) -> str:
    """Return the param that was probably meant, ignoring the common prefix of all parameters."""
    suggestion = suggest_name(name, known_params)
    if suggestion:
        return f'; did you mean "{PARAM_PREFIX}{suggestion}"?'
    params_text = ", ".join(f"{PARAM_PREFIX}{one}" for one in sorted(known_params)[:8])
    return f"; there is {params_text}" if known_params else "; the profiles have no params"


def _filter_by_name(profiles: Sequence[ApplicationProfile], names: Iterable[str]) -> list[ApplicationProfile]:
    """Return the profiles with these names or in these files, in the order of the files; all without
    names."""
    requested = list(names)
    if not requested:
        return list(profiles)
    known_names = {one.name for one in profiles} | {one.item.doc.name for one in profiles}
    for name in requested:
        if name not in known_names:
            suggestion = suggest_or_list(name, known_names - {""})
            raise UsageError(
                f'the parameter "profiles" names "{name[:60]}", and there is no such{suggestion}'
            )
    return [one for one in profiles if one.name in requested or one.item.doc.name in requested]


def _select_environments(profile: ApplicationProfile, requested: str) -> tuple[str, ...] | None:
    declared = profile.environments
    if not declared or not profile.is_complete:  # without its base profiles, its params are unknown
        return (requested,) if requested and declared else None
    file = profile.item.doc.name
    if not requested:
        raise UsageError(
            f"{file} has environments: set the parameter environment to"
            f" {_join_alternatives([*declared, 'all'])}"
        )
    if requested == "all":
        return declared
    if requested not in declared:
        raise UsageError(
            f'{file} has no environment "{requested[:60]}"{suggest_or_list(requested, declared)}'
        )
    return (requested,)


def _build_sets(profile: ApplicationProfile, values: Mapping[str, ParameterValue]) -> dict[str, str]:
    return {
        f"params.{_escape_name(name)}": _format_value(name, values[name], profile)
        for name in profile.params
        if name in values
    }


def _escape_name(name: str) -> str:
    return name.replace("\\", "\\\\").replace(".", "\\.")


def _format_value(name: str, value: ParameterValue, profile: ApplicationProfile) -> str:
    """Format a value for ``--set``: text unchanged, lists and maps as JSON of the declared types."""
    if isinstance(value, str):
        return value
    fragment = profile.params[name]
    declared = fragment if isinstance(fragment, dict) else {}
    expected_type, type_name = ("array", "a list") if isinstance(value, list) else ("object", "a map")
    if declared.get("type") != expected_type:
        declared_type = declared.get("type", "any one value")
        raise UsageError(
            f'the parameter "{PARAM_PREFIX}{name}" is {type_name}, and {profile.name} wants {declared_type}'
        )
    if isinstance(value, list):
        return json.dumps([_convert_text(below, declared.get("items")) for below in value])
    properties = declared.get("properties")
    property_schemas = properties if isinstance(properties, dict) else {}
    other_schema = declared.get("additionalProperties")
    return json.dumps(
        {key: _convert_text(below, property_schemas.get(key, other_schema)) for key, below in value.items()}
    )


def _convert_text(text: str, fragment: Any) -> Any:
    """Convert text to the type that a JSON Schema requires; Argo CD passes only text."""
    declared = fragment.get("type") if isinstance(fragment, dict) else None
    return resolve_plain(text) if declared in ("integer", "number", "boolean") else text


def _join_alternatives(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
