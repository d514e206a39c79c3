"""The parameters of an Application, as Argo CD hands them over in the JSON of ARGOCD_APP_PARAMETERS.

The variables ``PARAM_…`` that come with them are not read: they fold ``-``, ``.``, ``_`` and case into one,
so that two parameters may have one name (docs/evidence/gitops-argocd.md#parameters).
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from podplan.core.errors import RequestError
from podplan.core.suggestions import meant_or_known
from podplan.core.truncation import shortened
from podplan.core.typing import Any, NamedTuple

VARIABLE = "ARGOCD_APP_PARAMETERS"
OF_PARAMS = "params."  # what the params of profiles are called as parameters
TREATMENTS = ("include", "ignore")  # of manifests beside the profiles
# parameter -> the field of Argo CD that its value comes in
FORMS = {"environment": "string", "profiles": "array", "inventory": "string", "manifests": "string"}

Value = str | list[str] | dict[str, str]


class Given(NamedTuple):
    """What an Application asks for; "" and () where it does not say.

    ``params`` are values for the params of profiles, by their names. ``namespace`` is where what has none
    of its own goes (ARGOCD_APP_NAMESPACE), which is no parameter.
    """

    environment: str = ""
    profiles: tuple[str, ...] = ()
    inventory: str = ""
    manifests: str = ""
    params: Mapping[str, Value] = {}
    namespace: str = ""


def given(text: str | None) -> Given:
    """The parameters in ``text``, the value of ARGOCD_APP_PARAMETERS; None where it is not set.

    It is not set for an Application without a ``plugin``, ``null`` for one without parameters, and else a
    list (docs/evidence/gitops-argocd.md#parameters). Raises RequestError for anything that is not understood:
    a parameter that
    is misspelt must not become a default.
    """
    values: dict[str, Value] = {}
    for entry in _entries(text):
        name, value = _parameter(entry)
        if name in values:
            raise RequestError(f'the parameter "{_short(name)}" is given twice; leave out one')
        values[name] = value
    params = {name.removeprefix(OF_PARAMS): values.pop(name) for name in list(values) if _is_param(name)}
    for name, value in values.items():
        if name not in FORMS:
            meant = meant_or_known(name, [*FORMS, f"{OF_PARAMS}NAME"])
            raise RequestError(f'unknown parameter "{_short(name)}"{meant}')
        if _form(value) != FORMS[name]:
            raise RequestError(f'the parameter "{name}" wants {FORMS[name]}:, not {_form(value)}:')
    treatment = values.get("manifests", "")
    if treatment and treatment not in TREATMENTS:
        shown = _short(str(treatment))
        raise RequestError(
            f'the parameter "manifests" is "{shown}", and must be one of {", ".join(TREATMENTS)}'
        )
    return Given(**{name: _plain(value) for name, value in values.items()}, params=params)


def _entries(text: str | None) -> list[Any]:
    try:
        entries = json.loads(text or "null")
    except (ValueError, RecursionError):
        raise RequestError(
            f"{VARIABLE} is no JSON; Argo CD sets it from spec.source.plugin.parameters"
        ) from None
    if entries is None:
        return []
    if not isinstance(entries, list):
        raise RequestError(f"{VARIABLE} is no list of parameters, such as [{_EXAMPLE}]")
    return entries


_EXAMPLE = '{"name": "environment", "string": "prod"}'


def _parameter(entry: Any) -> tuple[str, Value]:
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str) or not name:
        raise RequestError(f"{VARIABLE} has a parameter without a name; one is written as {_EXAMPLE}")
    values = [entry[form] for form in ("string", "array", "map") if entry.get(form) is not None]
    if len(values) != 1:
        raise RequestError(f'the parameter "{_short(name)}" needs exactly one of string:, array: and map:')
    if not _is_text(values[0]):
        raise RequestError(f'the parameter "{_short(name)}" holds something else than text; put it in quotes')
    value: Value = values[0]
    return name, value


def _is_text(value: Any) -> bool:
    """Whether a value is a string, a list of strings or a map of strings."""
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(below, str) for below in value)
    )


def _is_param(name: str) -> bool:
    return name.startswith(OF_PARAMS) and len(name) > len(OF_PARAMS)


def _form(value: Value) -> str:
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "map"


def _plain(value: Value) -> Any:
    return tuple(dict.fromkeys(value)) if isinstance(value, list) else value


def _short(text: str) -> str:
    return shortened(text, 60)
