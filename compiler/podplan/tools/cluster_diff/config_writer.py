"""Writes lowering options into the text of a configuration file; all other lines stay unchanged."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from podplan.config.toml_lines import find_key_lines
from podplan.config.toml_writer import format_key, format_toml
from podplan.core.errors import UsageError
from podplan.core.typing import Any


def set_options(text: str, file: str, kind: str, values: Mapping[str, Any]) -> str:
    """Return ``text`` with values for the lowering options of one kind.

    ``file`` is the name of the file, which decides whether its tables begin with ``tool.podplan``.

    Raises UsageError: if the existing text does not allow it.
    """
    head = ("tool", "podplan") if os.path.basename(file) == "pyproject.toml" else ()
    table = (*head, "lowering", kind)
    changed = text
    for id_, value in values.items():
        changed = _set_value(changed, table, id_, format_toml(value))
    if _read_table(changed, table) != {**_read_table(text, table), **values}:
        lines = "\n".join(
            [
                f"[{_format_path(table)}]",
                *(f'"{id_}" = {format_toml(value)}' for id_, value in values.items()),
            ]
        )
        raise UsageError(f"{file}: cannot be changed without changing more; write by hand:\n{lines}")
    return changed


def _set_value(text: str, table: tuple[str, ...], id_: str, value: str) -> str:
    lines = text.splitlines(keepends=True)
    line_by_path = find_key_lines(text)
    entry = f'"{id_}" = {value}\n'
    if (*table, id_) in line_by_path:
        first = line_by_path[*table, id_] - 1
        return "".join(
            [*lines[:first], _keep_comment(lines[first], entry), *lines[_find_statement_end(lines, first) :]]
        )
    if table in line_by_path:
        last = (
            max(
                (line for path, line in line_by_path.items() if path[: len(table)] == table),
                default=line_by_path[table],
            )
            - 1
        )
        end = _find_statement_end(lines, last) if last != line_by_path[table] - 1 else last + 1
        return "".join([*_end_last_line(lines[:end]), entry, *lines[end:]])
    gap = ["\n"] if lines and lines[-1].strip() else []
    return "".join([*_end_last_line(lines), *gap, f"[{_format_path(table)}]\n", entry])


def _find_statement_end(lines: list[str], first: int) -> int:
    """Return the index of the line after the statement that begins on a line."""
    depth, number = 0, first
    while number < len(lines):
        bare = re.sub(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'|#.*', "", lines[number])
        depth += sum(bare.count(sign) for sign in "[{") - sum(bare.count(sign) for sign in "]}")
        number += 1
        if depth <= 0:
            break
    return number


def _keep_comment(old: str, entry: str) -> str:
    """Return ``entry`` with the comment of the old one."""
    match = re.fullmatch(r"[^#]*?(?P<comment>\s+#[^\"\]}]*)\n?", old)
    return entry.rstrip("\n") + match["comment"].rstrip("\n") + "\n" if match else entry


def _end_last_line(lines: list[str]) -> list[str]:
    return [*lines[:-1], lines[-1] + "\n"] if lines and not lines[-1].endswith("\n") else lines


def _read_table(text: str, table: tuple[str, ...]) -> dict[str, Any]:
    """Return the data of a table in a text; empty for invalid TOML."""
    import tomllib

    try:
        data: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}
    for step in table:
        data = data.get(step, {}) if isinstance(data, dict) else {}
    return data if isinstance(data, dict) else {}


def _format_path(path: tuple[str, ...]) -> str:
    return ".".join(map(format_key, path))
