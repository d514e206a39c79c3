"""podplan.toml: the nearest one between a file and its root, with what it extends."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from podplan.config.files import File, extended, inside, named, nearest
from podplan.core.errors import RequestError
from podplan.core.findings import Severity
from podplan.core.typing import Any, NamedTuple
from podplan.workspace.files import is_in_git_folder

# Settings of a file that add to those of the file it extends; any other replaces.
ADDING = frozenset({"paths", "lowering", "severity", "mandatory", "gitops"})


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


class RenderSettings(NamedTuple):
    """An entry of ``[[render]]``: what is rendered, under which environments, and into which folder.

    Paths are as seen from the user's folder.
    """

    paths: tuple[str, ...]
    env: tuple[str, ...]
    output: str
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
    gitops: Mapping[str, Any] = {}
    render: tuple[RenderSettings, ...] = ()
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
        elif key == "render":
            settings[key] = tuple(_render_settings(file, number, entry) for number, entry in enumerate(value))
        elif key == "severity":
            settings[key] = _severities(value)
        elif key != "extend":
            settings[key] = tuple(dict.fromkeys(value)) if isinstance(value, list) else value
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
        tuple(dict.fromkeys(entry["select"])) if "select" in entry else None,
        tuple(dict.fromkeys(entry.get("extend-select", ()))),
        tuple(dict.fromkeys(entry.get("ignore", ()))),
        _severities(entry.get("severity", {})),
        file.place("paths", number),
    )


def _render_settings(file: File, number: int, entry: Mapping[str, Any]) -> RenderSettings:
    def path(reference: str) -> str:
        return os.path.relpath(inside(file, "render", reference, number))

    output = path(entry["output"])
    if is_in_git_folder(output):
        place = file.place("render", number)
        raise RequestError(f'{place}: render: "{entry["output"]}" is in .git, where only git writes')
    return RenderSettings(
        tuple(path(reference) for reference in entry.get("paths", (".",))),
        tuple(entry.get("env", ())),
        output,
        file.place("render", number),
    )


def _severities(levels: Mapping[str, str]) -> dict[str, Severity]:
    return {code: Severity[level.upper()] for code, level in levels.items()}


def _added(before: Any, value: Any) -> Any:
    if before is None:
        return value
    if not isinstance(value, dict):
        return (*before, *value)
    of_kinds = {key: {**before.get(key, {}), **value[key]} for key in value if _is_kind_table(key, value)}
    return {**before, **value, **of_kinds}


def _is_kind_table(key: str, value: Mapping[str, Any]) -> bool:
    return _is_kind(key) and isinstance(value[key], dict)


def _demand_sense(file: File) -> None:
    """Refuses what has the right form and still means nothing. Raises RequestError."""
    lowering = file.data.get("lowering", {})
    for key, value in lowering.items():
        settings = {(key, id_): below for id_, below in value.items()} if _is_kind(key) else {(key,): value}
        for path, setting in settings.items():
            _demand_meaning(file, path, setting)
    today = file.data.get("today")
    if today is not None:
        from datetime import date

        try:
            date.fromisoformat(today)
        except ValueError:
            raise RequestError(f'{file.place("today")}: today: there is no day "{today}"') from None


def _is_kind(key: str) -> bool:
    """Whether a key of [lowering] is the name of a kind, whose settings are below it."""
    return key[:1].isupper()


def _demand_meaning(file: File, path: tuple[str, ...], value: Any) -> None:
    """Refuses a setting of lowering that cannot be filled in."""
    from podplan.kinds.lowering_options import lacking, settings, unknown_word

    fact, place = settings()[path[-1]], file.place("lowering", *path)
    name = ".".join(("lowering", *path))
    if word := unknown_word(fact, value):
        words = ", ".join(f"{{{known}}}" for known in fact.words)
        raise RequestError(f"{place}: {name}: {{{word}}} stands for nothing; there are {words}")
    if lack := lacking(fact, value):
        raise RequestError(f"{place}: {name} must {lack}")
    if isinstance(value, dict) and any(below is True for below in value.values()):
        raise RequestError(f"{place}: {name}: wants text, or false for what is to be left out")
