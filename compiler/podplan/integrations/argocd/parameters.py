"""The parameters of an Application, from the JSON in ARGOCD_APP_PARAMETERS.

The variables ``PARAM_…`` are ignored: they do not distinguish ``-``, ``.``, ``_`` and case, so two parameters
may have the same variable (docs/evidence/gitops-argocd.md#parameters).
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from podplan.core.errors import UsageError
from podplan.core.suggestions import suggest_or_list
from podplan.core.truncation import truncate
from podplan.core.typing import Any, NamedTuple

PARAMETERS_VARIABLE = "ARGOCD_APP_PARAMETERS"
PARAM_PREFIX = "params."  # the prefix of params of profiles in parameter names
MANIFEST_MODES = ("include", "ignore")  # how manifests other than profiles are treated
# parameter -> the field of Argo CD with its value
PARAMETER_TYPES = {"environment": "string", "profiles": "array", "inventory": "string", "manifests": "string"}

ParameterValue = str | list[str] | dict[str, str]


class PluginParameters(NamedTuple):
    """The parameters of an Application; "" and () if not set.

    ``params`` are values for the params of profiles, by name. ``namespace`` is the default namespace
    (ARGOCD_APP_NAMESPACE), which is no parameter.
    """

    environment: str = ""
    profiles: tuple[str, ...] = ()
    inventory: str = ""
    manifests: str = ""
    params: Mapping[str, ParameterValue] = {}
    namespace: str = ""


def parse_parameters(text: str | None) -> PluginParameters:
    """Parse the value of ARGOCD_APP_PARAMETERS; None if it is not set.

    It is not set for an Application without a ``plugin``, ``null`` for one without parameters, and else a
    list (docs/evidence/gitops-argocd.md#parameters).

    Raises UsageError: for anything unknown, because a misspelt parameter must not be ignored.
    """
    values: dict[str, ParameterValue] = {}
    for entry in _load_entries(text):
        name, value = _parse_parameter(entry)
        if name in values:
            raise UsageError(f'the parameter "{_truncate_name(name)}" is given twice; leave out one')
        values[name] = value
    params = {name.removeprefix(PARAM_PREFIX): values.pop(name) for name in list(values) if _is_param(name)}
    for name, value in values.items():
        if name not in PARAMETER_TYPES:
            suggestion = suggest_or_list(name, [*PARAMETER_TYPES, f"{PARAM_PREFIX}NAME"])
            raise UsageError(f'unknown parameter "{_truncate_name(name)}"{suggestion}')
        if _name_type(value) != PARAMETER_TYPES[name]:
            raise UsageError(
                f'the parameter "{name}" wants {PARAMETER_TYPES[name]}:, not {_name_type(value)}:'
            )
    manifest_mode = values.get("manifests", "")
    if manifest_mode and manifest_mode not in MANIFEST_MODES:
        shown_mode = _truncate_name(str(manifest_mode))
        raise UsageError(
            f'the parameter "manifests" is "{shown_mode}", and must be one of {", ".join(MANIFEST_MODES)}'
        )
    return PluginParameters(**{name: _convert_value(value) for name, value in values.items()}, params=params)


def _load_entries(text: str | None) -> list[Any]:
    try:
        entries = json.loads(text or "null")
    except (ValueError, RecursionError):
        raise UsageError(
            f"{PARAMETERS_VARIABLE} is no JSON; Argo CD sets it from spec.source.plugin.parameters"
        ) from None
    if entries is None:
        return []
    if not isinstance(entries, list):
        raise UsageError(f"{PARAMETERS_VARIABLE} is no list of parameters, such as [{_PARAMETER_EXAMPLE}]")
    return entries


_PARAMETER_EXAMPLE = '{"name": "environment", "string": "prod"}'


def _parse_parameter(entry: Any) -> tuple[str, ParameterValue]:
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str) or not name:
        raise UsageError(
            f"{PARAMETERS_VARIABLE} has a parameter without a name; one is written as {_PARAMETER_EXAMPLE}"
        )
    values = [entry[form] for form in ("string", "array", "map") if entry.get(form) is not None]
    if len(values) != 1:
        raise UsageError(
            f'the parameter "{_truncate_name(name)}" needs exactly one of string:, array: and map:'
        )
    if not _is_text(values[0]):
        raise UsageError(
            f'the parameter "{_truncate_name(name)}" holds something else than text; put it in quotes'
        )
    value: ParameterValue = values[0]
    return name, value


def _is_text(value: Any) -> bool:
    """Whether a value is a string, a list of strings or a map of strings."""
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(below, str) for below in value)
    )


def _is_param(name: str) -> bool:
    return name.startswith(PARAM_PREFIX) and len(name) > len(PARAM_PREFIX)


def _name_type(value: ParameterValue) -> str:
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "map"


def _convert_value(value: ParameterValue) -> Any:
    return tuple(dict.fromkeys(value)) if isinstance(value, list) else value


def _truncate_name(text: str) -> str:
    return truncate(text, 60)
