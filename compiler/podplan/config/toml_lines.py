"""The line of each key in a TOML file, which tomllib does not report."""

from __future__ import annotations

import re

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily

_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_KEY_PATTERN = compile_lazily(rf"[ \t]*({_PART}(?:[ \t]*\.[ \t]*{_PART})*)[ \t]*")
_PARTS = compile_lazily(_PART)
_TABLE_HEADER = compile_lazily(rf"[ \t]*(\[\[?)[ \t]*({_PART}(?:[ \t]*\.[ \t]*{_PART})*)[ \t]*\]\]?")
# Strings and comments, in which brackets, line breaks and # have no meaning.
_TOKEN = compile_lazily(
    r'"""(?:[^\\]|\\.)*?"""|'
    + r"'''.*?'''|"
    + r'"(?:[^"\\\n]|\\.)*"|'
    + r"'[^'\n]*'|"
    + r"#[^\n]*|[\[\]{}\n]",
    re.DOTALL,
)
MAX_KEY_PARTS = 8  # of a dotted key that are distinguished


def find_key_lines(text: str) -> dict[Path, int]:
    """Return the 1-based line of each table and key of a valid TOML text; keys in inline tables are
    skipped."""
    key_lines: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    position, line = 0, 1
    while position < len(text):
        header = _TABLE_HEADER.match(text, position)
        key = None if header else _KEY_PATTERN.match(text, position)
        if header:
            table = _resolve_table(_split_key(header[2]), counts)
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            key_lines.setdefault(table, line)
        elif key and text.startswith("=", key.end()):
            names = _split_key(key[1])
            for depth in range(1, min(len(names), MAX_KEY_PARTS) + 1):
                key_lines.setdefault((*table, *names[:depth]), line)
        next_position = _find_statement_end(text, position if not header else header.end())
        line += text.count("\n", position, next_position)
        position = next_position
    return key_lines


def _find_statement_end(text: str, position: int) -> int:
    """Return the start of the line after a statement, whose value may span several lines."""
    depth = 0
    for token in _TOKEN.finditer(text, position):
        if token[0] == "\n" and depth <= 0:
            return token.end()
        depth += (token[0] in "[{") - (token[0] in "]}")
    return len(text)


def _split_key(text: str) -> tuple[str, ...]:
    return tuple(part[1:-1] if part[0] in "\"'" else part for part in _PARTS.findall(text))


def _resolve_table(names: tuple[str, ...], counts: dict[Path, int]) -> Path:
    """Return the path of a table; a table above it may be the last entry of an array of tables."""
    path: Path = ()
    for number, name in enumerate(names):
        path = (*path, name)
        if path in counts and number < len(names) - 1:
            path = (*path, counts[path])
    return path
