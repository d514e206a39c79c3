"""Settings into the text of a configuration file: only the lines of those settings change."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping

from podplan.config.toml_lines import lines_of
from podplan.core.errors import RequestError
from podplan.core.typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def with_settings(text: str, file: str, kind: str, values: Mapping[str, Any]) -> str:
    """``text`` with values for settings of lowering of one kind of job.

    ``file`` is what the file is called, which tells whether its tables begin with ``tool.podplan``. Raises
    RequestError where that cannot be written into what is there.
    """
    head = ("tool", "podplan") if os.path.basename(file) == "pyproject.toml" else ()
    table = (*head, "lowering", kind)
    changed = text
    for id_, value in values.items():
        changed = _with_value(changed, table, id_, toml(value))
    if _told(changed, table) != {**_told(text, table), **values}:
        lines = "\n".join(
            [f"[{_dotted(table)}]", *(f'"{id_}" = {toml(value)}' for id_, value in values.items())]
        )
        raise RequestError(f"{file}: cannot be changed without changing more; write by hand:\n{lines}")
    return changed


def toml(value: Any) -> str:
    """A value of a setting in TOML, on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {toml(below)}" for key, below in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(below) for below in value) + "]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _with_value(text: str, table: tuple[str, ...], id_: str, value: str) -> str:
    lines = text.splitlines(keepends=True)
    known = lines_of(text)
    entry = f'"{id_}" = {value}\n'
    if (*table, id_) in known:
        first = known[*table, id_] - 1
        return "".join([*lines[:first], _kept_comment(lines[first], entry), *lines[_after(lines, first) :]])
    if table in known:
        last = (
            max((line for path, line in known.items() if path[: len(table)] == table), default=known[table])
            - 1
        )
        end = _after(lines, last) if last != known[table] - 1 else last + 1
        return "".join([*_ended(lines[:end]), entry, *lines[end:]])
    gap = ["\n"] if lines and lines[-1].strip() else []
    return "".join([*_ended(lines), *gap, f"[{_dotted(table)}]\n", entry])


def _after(lines: list[str], first: int) -> int:
    """The index of the line after the statement that begins in a line."""
    depth, number = 0, first
    while number < len(lines):
        bare = re.sub(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'|#.*', "", lines[number])
        depth += sum(bare.count(sign) for sign in "[{") - sum(bare.count(sign) for sign in "]}")
        number += 1
        if depth <= 0:
            break
    return number


def _kept_comment(old: str, entry: str) -> str:
    """``entry`` with the comment that stood behind the old one."""
    found = re.fullmatch(r"[^#]*?(?P<comment>\s+#[^\"\]}]*)\n?", old)
    return entry.rstrip("\n") + found["comment"].rstrip("\n") + "\n" if found else entry


def _ended(lines: list[str]) -> list[str]:
    return [*lines[:-1], lines[-1] + "\n"] if lines and not lines[-1].endswith("\n") else lines


def _told(text: str, table: tuple[str, ...]) -> dict[str, Any]:
    """What a text says in a table; what is no TOML says nothing."""
    import tomllib

    try:
        data: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}
    for step in table:
        data = data.get(step, {}) if isinstance(data, dict) else {}
    return data if isinstance(data, dict) else {}


def _dotted(path: tuple[str, ...]) -> str:
    return ".".join(map(_key, path))


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
