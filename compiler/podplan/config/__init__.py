"""podplan.toml: the nearest one between a file and its root, with the files that it extends."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from podplan.config.files import (
    ConfigFile,
    find_nearest_config,
    read_config,
    read_extended,
    resolve_inside_root,
)
from podplan.core.errors import UsageError
from podplan.core.findings import Severity
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.registry import OPERATOR_VERSIONS
from podplan.workspace.files import is_in_git_folder

# Settings of a file that are added to those of the file it extends; all others replace them.
MERGED_SETTINGS = frozenset({"paths", "lowering", "severity", "mandatory", "gitops", "runtimes"})


class PathSettings(NamedTuple):
    """An entry of ``[[paths]]``: patterns below ``folder`` (absolute), and settings for the files that
    match."""

    folder: str
    match: tuple[str, ...]
    preset: str | None
    preview: bool | None
    select: tuple[str, ...] | None
    extend_select: tuple[str, ...]
    ignore: tuple[str, ...]
    severity: Mapping[str, Severity]
    location: str


class RenderSettings(NamedTuple):
    """An entry of ``[[render]]``: which files are rendered, under which environments, and into which folder.

    Paths are relative to the current folder of the user.
    """

    paths: tuple[str, ...]
    env: tuple[str, ...]
    output: str
    location: str


class Config(NamedTuple):
    """The configuration of a run; see schemas/Config.json for the meaning of each key.

    ``lowering`` replaces values of behaviors by id; ``inventory``, ``inventory_objects``, ``baseline``,
    ``policies`` and the ``paths`` of ``runtimes`` are paths relative to the current folder of the user.
    ``locations`` has the file and line of each key that is set, and of each lowering option.
    """

    file: str = ""
    k8s_version: str = ""
    fail_on: str = ""
    inventory: str = ""
    inventory_objects: tuple[str, ...] = ()
    runtimes: Mapping[str, Any] = {}
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
    locations: Mapping[str, str] = {}


def load_config_for(path: str) -> Config:
    """Return the configuration for a path, or the defaults if there is no file.

    Raises UsageError: if it is invalid.
    """
    file = find_nearest_config(path)
    return _build_config(read_extended(file)) if file is not None else Config()


def load_config_file(file: str) -> Config:
    """Return the configuration of the file that ``--config`` names. Raises UsageError: if it is invalid."""
    return _build_config(read_extended(read_config(file)))


def _build_config(files: Sequence[ConfigFile]) -> Config:
    settings: dict[str, Any] = {}
    locations: dict[str, str] = {}
    for file in reversed(files):
        _validate_values(file)
        for key, value in _collect_settings(file).items():
            settings[key] = _merge_setting(settings.get(key), value) if key in MERGED_SETTINGS else value
            locations[key] = file.locate(key if key in file.data else "inventory", 0)
            if key == "lowering":
                locations |= {".".join(path): file.locate(*path) for path in _iter_option_paths(value)}
    fields = {key.replace("-", "_"): value for key, value in settings.items()}
    return Config(file=files[0].display_path, locations=locations, **fields)


def _iter_option_paths(lowering: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the path of each lowering option, also of those below a kind or an API group."""
    for key, value in lowering.items():
        yield ("lowering", key)
        if _is_section_table(key, lowering):
            yield from (("lowering", key, id_) for id_ in value)


def _collect_settings(file: ConfigFile) -> dict[str, Any]:
    """Return the settings of a file, by the field names of Config."""
    settings: dict[str, Any] = {}
    for key, value in file.data.items():
        if key == "inventory" and isinstance(value, dict):
            if "file" in value:
                settings[key] = os.path.relpath(resolve_inside_root(file, key, value["file"], "file"))
            if "objects" in value:
                settings["inventory-objects"] = tuple(
                    _resolve_folder(file, key, path, "objects", number)
                    for number, path in enumerate(value["objects"])
                )
        elif key in ("inventory", "baseline"):
            settings[key] = os.path.relpath(resolve_inside_root(file, key, value))
        elif key in ("policies", "inventory-objects"):
            settings[key] = tuple(
                _resolve_folder(file, key, path, number) for number, path in enumerate(value)
            )
        elif key == "runtimes":
            folders = tuple(
                _resolve_folder(file, key, path, "paths", number)
                for number, path in enumerate(value.get("paths", ()))
            )
            settings[key] = {"paths": folders} if folders else {}
        elif key == "paths":
            settings[key] = tuple(
                _parse_path_settings(file, number, entry) for number, entry in enumerate(value)
            )
        elif key == "render":
            settings[key] = tuple(
                _parse_render_settings(file, number, entry) for number, entry in enumerate(value)
            )
        elif key == "severity":
            settings[key] = _parse_severities(value)
        elif key != "extend":
            settings[key] = tuple(dict.fromkeys(value)) if isinstance(value, list) else value
    return settings


def _resolve_folder(file: ConfigFile, key: str, path: str, *steps: str | int) -> str:
    folder = resolve_inside_root(file, key, path, *steps)
    if not os.path.isdir(folder):
        raise UsageError(f'{file.locate(key)}: {key}: there is no folder "{path}"')
    return os.path.relpath(folder)


def _parse_path_settings(file: ConfigFile, number: int, entry: Mapping[str, Any]) -> PathSettings:
    return PathSettings(
        os.path.dirname(os.path.realpath(file.path)),
        tuple(entry["match"]),
        entry.get("preset"),
        entry.get("preview"),
        tuple(dict.fromkeys(entry["select"])) if "select" in entry else None,
        tuple(dict.fromkeys(entry.get("extend-select", ()))),
        tuple(dict.fromkeys(entry.get("ignore", ()))),
        _parse_severities(entry.get("severity", {})),
        file.locate("paths", number),
    )


def _parse_render_settings(file: ConfigFile, number: int, entry: Mapping[str, Any]) -> RenderSettings:
    def resolve_path(reference: str) -> str:
        return os.path.relpath(resolve_inside_root(file, "render", reference, number))

    output = resolve_path(entry["output"])
    if is_in_git_folder(output):
        place = file.locate("render", number)
        raise UsageError(f'{place}: render: "{entry["output"]}" is in .git, where only git writes')
    return RenderSettings(
        tuple(resolve_path(reference) for reference in entry.get("paths", (".",))),
        tuple(entry.get("env", ())),
        output,
        file.locate("render", number),
    )


def _parse_severities(levels: Mapping[str, str]) -> dict[str, Severity]:
    return {code: Severity[level.upper()] for code, level in levels.items()}


def _merge_setting(before: Any, value: Any) -> Any:
    if before is None:
        return value
    if not isinstance(value, dict):
        return (*before, *value)
    section_tables = {
        key: {**before.get(key, {}), **value[key]} for key in value if _is_section_table(key, value)
    }
    return {**before, **value, **section_tables}


def _is_section_table(key: str, value: Mapping[str, Any]) -> bool:
    return _is_section(key) and isinstance(value[key], dict)


def _validate_values(file: ConfigFile) -> None:
    """Reject values that fit the schema and are still invalid. Raises UsageError: for the first one."""
    lowering = file.data.get("lowering", {})
    for key, value in lowering.items():
        settings = (
            {(key, id_): below for id_, below in value.items()} if _is_section(key) else {(key,): value}
        )
        for path, setting in settings.items():
            if path[-1] != "version":  # of the operator, which the schema checks
                _validate_lowering_option(file, path, setting)
    today = file.data.get("today")
    if today is not None:
        from datetime import date

        try:
            date.fromisoformat(today)
        except ValueError:
            raise UsageError(f'{file.locate("today")}: today: there is no day "{today}"') from None


def _is_section(key: str) -> bool:
    """Whether a key of [lowering] is the name of a kind or an API group, whose settings are below it."""
    return key.rpartition("/")[2][:1].isupper() or key in OPERATOR_VERSIONS


def _validate_lowering_option(file: ConfigFile, path: tuple[str, ...], value: Any) -> None:
    """Reject a lowering option whose placeholders cannot be filled in."""
    from podplan.kinds.lowering_options import explain_missing_word, find_unknown_word, list_lowering_options

    behavior, location = list_lowering_options()[path[-1]], file.locate("lowering", *path)
    name = ".".join(("lowering", *path))
    if word := find_unknown_word(behavior, value):
        words = ", ".join(f"{{{known}}}" for known in behavior.placeholders)
        raise UsageError(f"{location}: {name}: {{{word}}} stands for nothing; there are {words}")
    if requirement := explain_missing_word(behavior, value):
        raise UsageError(f"{location}: {name} must {requirement}")
    if isinstance(value, dict) and any(below is True for below in value.values()):
        raise UsageError(f"{location}: {name}: wants text, or false for what is to be left out")
