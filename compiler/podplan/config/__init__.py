"""podplan.toml: the nearest one between a file and its root, with what it extends."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from podplan.config.files import File, extended, inside, named, nearest
from podplan.findings import Severity
from podplan.requests import RequestError

# Settings of a file that add to those of the file it extends; any other replaces.
ADDING = frozenset({"paths", "lowering", "severity", "mandatory"})


class PathSettings(NamedTuple):
    """An entry of ``[[paths]]``: patterns below ``folder`` (absolute), and settings for what matches."""

    folder: str
    match: tuple[str, ...]
    preset: str | None
    preview: bool | None
    select: tuple[str, ...] | None
    extend_select: tuple[str, ...]
    ignore: tuple[str, ...]
    severity: Mapping[str, Severity]
    place: str


class Config(NamedTuple):
    """The configuration of a run; see schemas/Config.json for what each key means.

    ``lowering`` gives facts other values by id; ``inventory``, ``baseline`` and ``policies`` are paths as
    seen from the user's folder. ``places`` has the file and line of each key that is set.
    """

    file: str = ""
    k8s_version: str = ""
    fail_on: str = ""
    inventory: str = ""
    exclude: tuple[str, ...] = ()
    lowering: Mapping[str, Any] = {}
    policies: tuple[str, ...] = ()
    preset: str = ""
    preview: bool = False
    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = {}
    paths: tuple[PathSettings, ...] = ()
    pss: str = ""
    mandatory: tuple[str, ...] = ()
    require_reasons: bool = True
    baseline: str = ""
    today: str = ""
    places: Mapping[str, str] = {}


def config_for(path: str) -> Config:
    """The configuration that holds for a path; the defaults where there is no file. Raises RequestError."""
    file = nearest(path)
    return _config(extended(file)) if file is not None else Config()


def config_from(file: str) -> Config:
    """The configuration of the file that ``--config`` names. Raises RequestError."""
    return _config(extended(named(file)))


def _config(files: Sequence[File]) -> Config:
    settings: dict[str, Any] = {}
    places: dict[str, str] = {}
    for file in reversed(files):
        _demand_sense(file)
        for key, value in _settings(file).items():
            settings[key] = _added(settings.get(key), value) if key in ADDING else value
            places[key] = file.place(key, 0)
    fields = {key.replace("-", "_"): value for key, value in settings.items()}
    return Config(file=files[0].shown, places=places, **fields)


def _settings(file: File) -> dict[str, Any]:
    """What a file sets, by key, as Config has it."""
    settings: dict[str, Any] = {}
    for key, value in file.data.items():
        if key in ("inventory", "baseline"):
            settings[key] = os.path.relpath(inside(file, key, value))
        elif key == "policies":
            settings[key] = tuple(_folder(file, number, path) for number, path in enumerate(value))
        elif key == "paths":
            settings[key] = tuple(_path_settings(file, number, entry) for number, entry in enumerate(value))
        elif key == "severity":
            settings[key] = _severities(value)
        elif key != "extend":
            settings[key] = tuple(value) if isinstance(value, list) else value
    return settings


def _folder(file: File, number: int, path: str) -> str:
    found = inside(file, "policies", path, number)
    if not os.path.isdir(found):
        raise RequestError(f'{file.place("policies")}: policies: there is no folder "{path}"')
    return os.path.relpath(found)


def _path_settings(file: File, number: int, entry: Mapping[str, Any]) -> PathSettings:
    return PathSettings(
        os.path.dirname(os.path.realpath(file.path)),
        tuple(entry["match"]),
        entry.get("preset"),
        entry.get("preview"),
        tuple(entry["select"]) if "select" in entry else None,
        tuple(entry.get("extend-select", ())),
        tuple(entry.get("ignore", ())),
        _severities(entry.get("severity", {})),
        file.place("paths", number),
    )


def _severities(levels: Mapping[str, str]) -> dict[str, Severity]:
    return {code: Severity[level.upper()] for code, level in levels.items()}


def _added(before: Any, value: Any) -> Any:
    if before is None:
        return value
    return {**before, **value} if isinstance(value, dict) else (*before, *value)


def _demand_sense(file: File) -> None:
    """Refuses what has the right form and still means nothing. Raises RequestError."""
    _known_facts(file, file.data.get("lowering", {}))
    today = file.data.get("today")
    if today is not None:
        from datetime import date

        try:
            date.fromisoformat(today)
        except ValueError:
            raise RequestError(f'{file.place("today")}: today: there is no day "{today}"') from None


def _known_facts(file: File, lowering: Mapping[str, Any]) -> None:
    """Refuses values for facts that do not exist, have none, or have one of another type."""
    if not lowering:
        return
    from podplan import facts
    from podplan.provenance import Fact

    known = {f.id: f for f in vars(facts).values() if isinstance(f, Fact) and f.value is not None}
    for id_, value in lowering.items():
        place = file.place("lowering", id_)
        if id_ not in known:
            names = ", ".join(sorted(known))
            raise RequestError(f'{place}: lowering: "{id_}" is not a setting; there are {names}')
        if type(value) is not type(known[id_].value):
            wanted = type(known[id_].value).__name__
            raise RequestError(f"{place}: lowering.{id_}: wants a value of type {wanted}")
