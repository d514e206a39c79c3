"""Which profiles of an Application are rendered, and with which values: the parameters made to fit them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from podplan.core.errors import RequestError
from podplan.core.suggestions import meant_or_known, nearest
from podplan.core.typing import Any, NamedTuple
from podplan.integrations.argocd.application import Profile
from podplan.integrations.argocd.parameters import OF_PARAMS, Given, Value
from podplan.yaml.scalars import resolve


class Chosen(NamedTuple):
    """A profile, the environments to render it under (None for as written), and ``--set`` flags for it."""

    profile: Profile
    environments: tuple[str, ...] | None
    sets: dict[str, str]


def chosen(profiles: Sequence[Profile], asked: Given) -> list[Chosen]:
    """The profiles that an Application asks for. Raises RequestError for what none of them has."""
    wanted = _named(profiles, asked.profiles)
    declaring = {name: [one for one in wanted if name in one.params] for name in asked.params}
    for name, those in declaring.items():
        if not those and wanted and all(one.whole for one in wanted):
            known = {known for one in wanted for known in one.params}
            raise RequestError(f'unknown parameter "{OF_PARAMS}{name[:60]}"{_meant(name, known)}')
    return [Chosen(one, _environments(one, asked.environment), _sets(one, asked.params)) for one in wanted]


def _meant(name: str, known: set[str]) -> str:
    """The param that was probably meant, by the names alone: what they all begin with makes none likely."""
    near = nearest(name, known)
    if near:
        return f'; did you mean "{OF_PARAMS}{near}"?'
    listed = ", ".join(f"{OF_PARAMS}{one}" for one in sorted(known)[:8])
    return f"; there is {listed}" if known else "; the profiles have no params"


def _named(profiles: Sequence[Profile], names: Iterable[str]) -> list[Profile]:
    """The profiles of these names or in these files, in the order of the files; all if none is named."""
    wanted = list(names)
    if not wanted:
        return list(profiles)
    known = {one.name for one in profiles} | {one.item.doc.name for one in profiles}
    for name in wanted:
        if name not in known:
            meant = meant_or_known(name, known - {""})
            raise RequestError(f'the parameter "profiles" names "{name[:60]}", and there is no such{meant}')
    return [one for one in profiles if one.name in wanted or one.item.doc.name in wanted]


def _environments(profile: Profile, asked: str) -> tuple[str, ...] | None:
    known = profile.environments
    if not known or not profile.whole:  # without its bases, nobody knows what there is
        return (asked,) if asked and known else None
    file = profile.item.doc.name
    if not asked:
        raise RequestError(
            f"{file} has environments: set the parameter environment to {_or([*known, 'all'])}"
        )
    if asked == "all":
        return known
    if asked not in known:
        raise RequestError(f'{file} has no environment "{asked[:60]}"{meant_or_known(asked, known)}')
    return (asked,)


def _sets(profile: Profile, values: Mapping[str, Value]) -> dict[str, str]:
    return {
        f"params.{_escaped(name)}": _text(name, values[name], profile)
        for name in profile.params
        if name in values
    }


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace(".", "\\.")


def _text(name: str, value: Value, profile: Profile) -> str:
    """A value as ``--set`` wants it: text as it is, lists and maps as JSON of the declared types."""
    if isinstance(value, str):
        return value
    fragment = profile.params[name]
    declared = fragment if isinstance(fragment, dict) else {}
    form, word = ("array", "a list") if isinstance(value, list) else ("object", "a map")
    if declared.get("type") != form:
        there = declared.get("type", "any one value")
        raise RequestError(f'the parameter "{OF_PARAMS}{name}" is {word}, and {profile.name} wants {there}')
    if isinstance(value, list):
        return json.dumps([_typed(below, declared.get("items")) for below in value])
    properties = declared.get("properties")
    known = properties if isinstance(properties, dict) else {}
    others = declared.get("additionalProperties")
    return json.dumps({key: _typed(below, known.get(key, others)) for key, below in value.items()})


def _typed(text: str, fragment: Any) -> Any:
    """Text as the value that a fragment of JSON Schema wants; Argo CD has nothing but text."""
    declared = fragment.get("type") if isinstance(fragment, dict) else None
    return resolve(text) if declared in ("integer", "number", "boolean") else text


def _or(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
