"""The files that a configuration is in: the nearest one, and those that it extends."""

from __future__ import annotations

import os

from podplan.config.plain import plain
from podplan.core.errors import RequestError
from podplan.core.findings import Path
from podplan.core.limits import MAX_EXTENDS_DEPTH, BoundExceeded, beyond
from podplan.core.typing import Any, NamedTuple
from podplan.workspace.files import OutsideRoot, demand_inside, in_user_terms, read_inside, root_of
from podplan.yaml.conflicts import find_conflict

NAMES = ("podplan.toml", ".podplan.toml")
PYPROJECT = "pyproject.toml"
MAX_BYTES = 256 * 1024
MAX_DEPTH = 20
MAX_DOTS = 256  # in a line; tomllib takes time and memory by the square of the parts of a key
_MOST_TOLD = 10


class File(NamedTuple):
    """One configuration file: where it is, how people call it, what it says, and the line of each key."""

    path: str
    shown: str
    data: dict[str, Any]
    lines: dict[Path, int]

    def place(self, *path: str | int) -> str:
        """Such as ``podplan.toml:3``, for the nearest key on the way to a path."""
        for cut in range(len(path), 0, -1):
            if path[:cut] in self.lines:
                return f"{self.shown}:{self.lines[path[:cut]]}"
        return self.shown


def nearest(path: str) -> File | None:
    """The configuration for a path: the nearest file up to its root. Raises RequestError."""
    folder = os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path) or ".")
    top = root_of(path)
    while True:
        for name in (*NAMES, PYPROJECT):
            found = os.path.join(folder, name)
            file = _read(found, top, in_user_terms(found, path)) if os.path.lexists(found) else None
            if file is not None:
                return file
        if folder == top or os.path.dirname(folder) == folder:
            return None
        folder = os.path.dirname(folder)


def named(file: str) -> File:
    """The configuration in the file that ``--config`` names.

    Raises RequestError, also where a link leads out of the repository that the file seems to be in.
    """
    try:
        demand_inside(file)
    except OutsideRoot as error:
        raise RequestError(str(error)) from None
    if not os.path.isfile(file):
        raise RequestError(f"{file}: no such file")
    path = os.path.realpath(file)
    found = _read(path, root_of(path), file)
    if found is None:
        raise RequestError(f"{file} has no table [tool.podplan]")
    return found


def extended(file: File) -> list[File]:
    """A file and those that it extends, the nearest first. Raises RequestError."""
    files = [file]
    root = root_of(file.path)
    while (reference := files[-1].data.get("extend")) is not None:
        last = files[-1]
        path = inside(last, "extend", reference)
        if any(os.path.realpath(path) == os.path.realpath(one.path) for one in files):
            raise RequestError(f'{last.place("extend")}: extend = "{reference}" leads in a circle')
        if len(files) > MAX_EXTENDS_DEPTH:
            message = f"{last.place('extend')}: more than {MAX_EXTENDS_DEPTH} files extend each other"
            raise BoundExceeded(beyond("extends-depth", message), last.shown)
        base = _read(path, root, in_user_terms(path, file.shown)) if os.path.isfile(path) else None
        if base is None:
            lacks = "no table [tool.podplan]" if os.path.isfile(path) else "no such file"
            raise RequestError(f'{last.place("extend")}: extend = "{reference}": {lacks}')
        files.append(base)
    return files


def inside(file: File, key: str, reference: str, *more: str | int) -> str:
    """The absolute path that ``reference`` under ``key`` stands for, relative to its file.

    Raises RequestError where it leads out of the root of the file, links followed, or can be no path.
    """
    if "\0" in reference:
        raise RequestError(f"{file.place(key, *more)}: {key}: a path has no null character (\\u0000)")
    path = os.path.normpath(os.path.join(os.path.dirname(file.path), reference))
    top = root_of(file.path)
    if os.path.commonpath((os.path.realpath(path), top)) != top:
        raise RequestError(f'{file.place(key, *more)}: {key}: "{reference}" leads out of the repository')
    return path


def _read(path: str, root: str, shown: str) -> File | None:
    """A configuration file of the right form; None for a pyproject.toml without anything for podplan."""
    is_pyproject = os.path.basename(path) == PYPROJECT
    try:
        content = read_inside(root, path)
    except OutsideRoot as error:
        raise RequestError(f"{shown}: {error.reason}") from None
    except OSError as error:
        raise RequestError(f"{shown}: {(error.strerror or str(error)).lower()}") from None
    if is_pyproject and b"podplan" not in content:
        return None
    return _parsed(path, shown, content, is_pyproject)


def _parsed(path: str, shown: str, content: bytes, is_pyproject: bool) -> File | None:
    if any(line.count(b".") > MAX_DOTS for line in content.split(b"\n")):
        raise RequestError(f"{shown}: a line has more than {MAX_DOTS} dots")
    try:
        if len(content) > MAX_BYTES:
            raise RequestError(f"{shown}: has {len(content):,} bytes, and at most {MAX_BYTES:,} are read")
        text = content.decode().removeprefix("\ufeff").replace("\r\n", "\n")
        data: Any
        data, lines = plain(text) or _read_by_tomllib(text)
    except (ValueError, RecursionError) as error:
        from tomllib import TOMLDecodeError

        if is_pyproject and b"tool.podplan" not in content:
            return None
        if not isinstance(error, UnicodeDecodeError) and (conflict := find_conflict(text)) is not None:
            line, end_line = (text.count("\n", 0, at) + 1 for at in (conflict.first, conflict.last))
            raise RequestError(f"{shown}:{line}: {conflict.message(line, end_line)}") from None
        if isinstance(error, UnicodeDecodeError):
            line, byte = content.count(b"\n", 0, error.start) + 1, content[error.start]
            reason = f"byte 0x{byte:02X} is not UTF-8; save the file as UTF-8"
            raise RequestError(f"{shown}:{line}: {reason}") from None
        if isinstance(error, RecursionError):
            reason = "nested too deeply"
        elif isinstance(error, TOMLDecodeError):
            reason = str(error)
        else:  # of int(), which takes time by the square of the digits
            reason = "a number has thousands of digits"
        raise RequestError(f"{shown}: {reason}") from None
    if _is_deeper(data, MAX_DEPTH):
        raise RequestError(f"{shown}: nested too deeply")
    if is_pyproject:
        tool = data.get("tool")
        data = tool.get("podplan") if isinstance(tool, dict) else None
        if not isinstance(data, dict):
            return None
        lines = {key[2:]: line for key, line in lines.items() if key[:2] == ("tool", "podplan") and key[2:]}
    file = File(path, shown, _with_dates_as_text(data), lines)
    _demand_form(file)
    return file


def _read_by_tomllib(text: str) -> tuple[dict[str, Any], dict[Path, int]]:
    import tomllib

    from podplan.config.toml_lines import lines_of

    return tomllib.loads(text), lines_of(text)


def _demand_form(file: File) -> None:
    from podplan.schema import check_against

    problems = check_against("Config", file.data)
    if problems:
        told = [f"{file.place(*problem.path)}: {problem.message}" for problem in problems[:_MOST_TOLD]]
        raise RequestError("\n".join(told))


def _is_deeper(data: Any, most: int) -> bool:
    """Whether tables and lists are nested beyond ``most`` levels."""
    level = [data]
    for _ in range(most):
        level = [
            below
            for value in level
            if isinstance(value, dict | list)
            for below in (value.values() if isinstance(value, dict) else value)
        ]
    return bool(level)


def _with_dates_as_text(value: Any) -> Any:
    """``value`` with the dates of TOML written out, as JSON has them."""
    if isinstance(value, dict):
        return {key: _with_dates_as_text(below) for key, below in value.items()}
    if isinstance(value, list):
        return [_with_dates_as_text(below) for below in value]
    return value if value is None or isinstance(value, str | int | float | bool) else value.isoformat()
