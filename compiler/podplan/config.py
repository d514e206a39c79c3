"""podplan.toml: the nearest one between a file and its root; one file wins, nothing is merged."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from podplan.reading.files import root_of
from podplan.requests import RequestError

NAMES = ("podplan.toml", ".podplan.toml")


class Config(NamedTuple):
    """The configuration of a run; see schemas/Config.json for what each key means.

    ``lowering`` gives facts other values by fact id; ``inventory`` is a path as seen from the user's folder.
    """

    file: str = ""
    k8s_version: str = ""
    fail_on: str = ""
    inventory: str = ""
    exclude: tuple[str, ...] = ()
    lowering: Mapping[str, Any] = {}


def config_for(path: str) -> Config:
    """The configuration that holds for a path; the defaults where there is no file. Raises RequestError."""
    folder = os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path) or ".")
    top = root_of(path)
    while True:
        for name in (*NAMES, "pyproject.toml"):
            found = os.path.join(folder, name)
            if os.path.isfile(found):
                data = _section(found)
                if data is not None:
                    return _config(found, data)
        if folder == top or os.path.dirname(folder) == folder:
            return Config()
        folder = os.path.dirname(folder)


def config_from(file: str) -> Config:
    """The configuration of the file that ``--config`` names. Raises RequestError."""
    if not os.path.isfile(file):
        raise RequestError(f"{file}: no such file")
    return _config(file, _section(file) or {})


def _section(file: str) -> dict[str, Any] | None:
    import tomllib

    try:
        with open(file, "rb") as stream:
            data = tomllib.load(stream)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        if os.path.basename(file) == "pyproject.toml":
            return None
        raise RequestError(f"{file}: {error}") from None
    if os.path.basename(file) == "pyproject.toml":
        section = data.get("tool", {}).get("podplan")
        return section if isinstance(section, dict) else None
    return data


def _config(file: str, data: dict[str, Any]) -> Config:
    from podplan.schema import check_against

    shown = os.path.relpath(file)
    problems = check_against("Config", data)
    if problems:
        key = ".".join(map(str, problems[0].path))
        raise RequestError(f"{shown}: {key + ': ' if key else ''}{problems[0].message}")
    lowering = data.get("lowering", {})
    _known_facts(shown, lowering)
    inventory = data.get("inventory", "")
    return Config(
        shown,
        data.get("k8s-version", ""),
        data.get("fail-on", ""),
        os.path.relpath(os.path.join(os.path.dirname(file), inventory)) if inventory else "",
        tuple(data.get("exclude", ())),
        lowering,
    )


def _known_facts(shown: str, lowering: Mapping[str, Any]) -> None:
    """Refuses values for facts that do not exist, have none, or have one of another type."""
    from podplan import facts
    from podplan.provenance import Fact

    known = {f.id: f for f in vars(facts).values() if isinstance(f, Fact) and f.value is not None}
    for id_, value in lowering.items():
        if id_ not in known:
            names = ", ".join(sorted(known))
            raise RequestError(f'{shown}: lowering: "{id_}" is not a setting; there are {names}')
        if type(value) is not type(known[id_].value):
            wanted = type(known[id_].value).__name__
            raise RequestError(f"{shown}: lowering.{id_}: wants a value of type {wanted}")
