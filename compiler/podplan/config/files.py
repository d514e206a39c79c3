"""The files of a configuration: the nearest one, and those that it extends."""

from __future__ import annotations

import os
from collections.abc import Sequence

from podplan.config.plain import parse_plain_toml
from podplan.core.errors import UsageError
from podplan.core.findings import Path
from podplan.core.limits import MAX_EXTENDS_DEPTH, LimitExceeded, limit_exceeded
from podplan.core.typing import Any, NamedTuple
from podplan.workspace.files import (
    CONFIG_NAMES,
    PYPROJECT,
    OutsideRoot,
    find_root,
    iter_ancestors,
    iter_configs,
    read_inside_root,
    require_inside_repository,
    to_user_path,
)
from podplan.yaml.conflicts import find_conflict

MAX_CONFIG_BYTES = 256 * 1024
MAX_NESTING = 20
MAX_LINE_DOTS = 256  # dots in a line; tomllib needs time and memory quadratic in the parts of a key
_MAX_REPORTED = 10


class ConfigFile(NamedTuple):
    """One configuration file: its path, the path as shown to users, its data, and the line of each key."""

    path: str
    display_path: str
    data: dict[str, Any]
    lines: dict[Path, int]

    def locate(self, *path: str | int) -> str:
        """Return a position such as ``podplan.toml:3``, for the nearest ancestor of a path that has a
        line."""
        for cut in range(len(path), 0, -1):
            if path[:cut] in self.lines:
                return f"{self.display_path}:{self.lines[path[:cut]]}"
        return self.display_path


def find_nearest_config(path: str) -> ConfigFile | None:
    """Return the configuration for a path: the nearest file up to its root.

    Raises UsageError: if it is invalid.
    """
    folder = os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path) or ".")
    top = find_root(path)
    while True:
        for name in (*CONFIG_NAMES, PYPROJECT):
            candidate = os.path.join(folder, name)
            file = (
                _read_file(candidate, top, to_user_path(candidate, path))
                if os.path.lexists(candidate)
                else None
            )
            if file is not None:
                return file
        if folder == top or os.path.dirname(folder) == folder:
            return None
        folder = os.path.dirname(folder)


def list_unused_configs(paths: Sequence[str], used_file: str) -> list[str]:
    """Return messages about the configurations that a user may expect to apply, and that do not.

    The configuration of the first path holds for all. ``used_file`` is its path as shown to users, or "".
    """
    messages: dict[str, str] = {}
    used = os.path.realpath(used_file) if used_file else ""
    first_root = find_root(paths[0])
    for path in dict.fromkeys((*(_folder_of(path) for path in paths), os.path.realpath(os.curdir))):
        for number, candidate in enumerate(_list_nearest_configs(path)):
            if os.path.realpath(candidate) == used:
                continue
            if number:
                reason = "there is another configuration in its folder, which takes precedence"
            elif used:
                reason = f"{used_file} is the configuration of the first path, which holds for all"
            else:
                reason = f"the first path is in {first_root}, which has no configuration above that path"
            messages.setdefault(candidate, f"{to_user_path(candidate, used_file)} is not used: {reason}")
    return list(messages.values())


def _folder_of(path: str) -> str:
    return os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path) or os.curdir)


def _list_nearest_configs(folder: str) -> list[str]:
    """Return the configurations in the nearest folder with any, up to the root of ``folder``."""
    root = find_root(folder)
    for ancestor in iter_ancestors(folder):
        if configs := list(iter_configs(ancestor)):
            return configs
        if ancestor == root:
            break
    return []


def read_config(file: str) -> ConfigFile:
    """Read the configuration in the file that ``--config`` names.

    Raises UsageError: if it is invalid, or a link leads out of the repository that contains the file.
    """
    try:
        require_inside_repository(file)
    except OutsideRoot as error:
        raise UsageError(str(error)) from None
    if not os.path.isfile(file):
        raise UsageError(f"{file}: no such file")
    path = os.path.realpath(file)
    config_file = _read_file(path, find_root(path), file)
    if config_file is None:
        raise UsageError(f"{file} has no table [tool.podplan]")
    return config_file


def read_extended(file: ConfigFile) -> list[ConfigFile]:
    """Return a file and those that it extends, the nearest first. Raises UsageError: if one is invalid."""
    files = [file]
    root = find_root(file.path)
    while (reference := files[-1].data.get("extend")) is not None:
        last = files[-1]
        path = resolve_inside_root(last, "extend", reference)
        if any(os.path.realpath(path) == os.path.realpath(one.path) for one in files):
            raise UsageError(f'{last.locate("extend")}: extend = "{reference}" leads in a circle')
        if len(files) > MAX_EXTENDS_DEPTH:
            message = f"{last.locate('extend')}: more than {MAX_EXTENDS_DEPTH} files extend each other"
            raise LimitExceeded(limit_exceeded("extends-depth", message), last.display_path)
        base = _read_file(path, root, to_user_path(path, file.display_path)) if os.path.isfile(path) else None
        if base is None:
            reason = "no table [tool.podplan]" if os.path.isfile(path) else "no such file"
            raise UsageError(f'{last.locate("extend")}: extend = "{reference}": {reason}')
        files.append(base)
    return files


def resolve_inside_root(file: ConfigFile, key: str, reference: str, *steps: str | int) -> str:
    """Return the absolute path of ``reference`` under ``key``, relative to its file.

    Raises UsageError: if it leads out of the root of the file, links followed, or cannot be a path.
    """
    if "\0" in reference:
        raise UsageError(f"{file.locate(key, *steps)}: {key}: a path has no null character (\\u0000)")
    path = os.path.normpath(os.path.join(os.path.dirname(file.path), reference))
    top = find_root(file.path)
    if os.path.commonpath((os.path.realpath(path), top)) != top:
        raise UsageError(f'{file.locate(key, *steps)}: {key}: "{reference}" leads out of the repository')
    return path


def _read_file(path: str, root: str, display_path: str) -> ConfigFile | None:
    """Read and validate a configuration file; None for a pyproject.toml without a table for podplan."""
    is_pyproject = os.path.basename(path) == PYPROJECT
    try:
        content = read_inside_root(root, path)
    except OutsideRoot as error:
        raise UsageError(f"{display_path}: {error.reason}") from None
    except OSError as error:
        raise UsageError(f"{display_path}: {(error.strerror or str(error)).lower()}") from None
    if is_pyproject and b"podplan" not in content:
        return None
    return _parse_file(path, display_path, content, is_pyproject)


def _parse_file(path: str, display_path: str, content: bytes, is_pyproject: bool) -> ConfigFile | None:
    if any(line.count(b".") > MAX_LINE_DOTS for line in content.split(b"\n")):
        raise UsageError(f"{display_path}: a line has more than {MAX_LINE_DOTS} dots")
    try:
        if len(content) > MAX_CONFIG_BYTES:
            raise UsageError(
                f"{display_path}: has {len(content):,} bytes, and at most {MAX_CONFIG_BYTES:,} are read"
            )
        text = content.decode().removeprefix("\ufeff").replace("\r\n", "\n")
        data: Any
        data, lines = parse_plain_toml(text) or _parse_with_tomllib(text)
    except (ValueError, RecursionError) as error:
        from tomllib import TOMLDecodeError

        if is_pyproject and b"tool.podplan" not in content:
            return None
        if not isinstance(error, UnicodeDecodeError) and (conflict := find_conflict(text)) is not None:
            line, end_line = (text.count("\n", 0, at) + 1 for at in (conflict.first, conflict.last))
            raise UsageError(f"{display_path}:{line}: {conflict.message(line, end_line)}") from None
        if isinstance(error, UnicodeDecodeError):
            line, byte = content.count(b"\n", 0, error.start) + 1, content[error.start]
            reason = f"byte 0x{byte:02X} is not UTF-8; save the file as UTF-8"
            raise UsageError(f"{display_path}:{line}: {reason}") from None
        if isinstance(error, RecursionError):
            reason = "nested too deeply"
        elif isinstance(error, TOMLDecodeError):
            reason = str(error)
        else:  # of int(), which is quadratic in the number of digits
            reason = "a number has thousands of digits"
        raise UsageError(f"{display_path}: {reason}") from None
    if _is_deeper(data, MAX_NESTING):
        raise UsageError(f"{display_path}: nested too deeply")
    if is_pyproject:
        tool = data.get("tool")
        data = tool.get("podplan") if isinstance(tool, dict) else None
        if not isinstance(data, dict):
            return None
        lines = {key[2:]: line for key, line in lines.items() if key[:2] == ("tool", "podplan") and key[2:]}
    file = ConfigFile(path, display_path, _convert_dates(data), lines)
    _validate_file(file)
    return file


def _parse_with_tomllib(text: str) -> tuple[dict[str, Any], dict[Path, int]]:
    import tomllib

    from podplan.config.toml_lines import find_key_lines

    return tomllib.loads(text), find_key_lines(text)


def _validate_file(file: ConfigFile) -> None:
    from podplan.schema import validate_against

    diagnostics = validate_against("Config", file.data)
    if diagnostics:
        messages = [
            f"{file.locate(*problem.path)}: {problem.message}" for problem in diagnostics[:_MAX_REPORTED]
        ]
        raise UsageError("\n".join(messages))


def _is_deeper(data: Any, max_levels: int) -> bool:
    """Whether tables and lists are nested deeper than ``max_levels``."""
    level = [data]
    for _ in range(max_levels):
        level = [
            below
            for value in level
            if isinstance(value, dict | list)
            for below in (value.values() if isinstance(value, dict) else value)
        ]
    return bool(level)


def _convert_dates(value: Any) -> Any:
    """Return ``value`` with TOML dates as text, as in JSON."""
    if isinstance(value, dict):
        return {key: _convert_dates(below) for key, below in value.items()}
    if isinstance(value, list):
        return [_convert_dates(below) for below in value]
    return value if value is None or isinstance(value, str | int | float | bool) else value.isoformat()
