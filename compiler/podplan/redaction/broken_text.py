"""Secrets in text that does not parse, line by line; in doubt, text counts as secret."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import NamedTuple
from podplan.redaction.detection import find_text_secrets, merge_spans
from podplan.redaction.secret_names import is_secret_field, is_secret_name

# A key with its separator, and a list entry whose name, possibly misspelt, is that of a secret.
_KEY = compile_lazily(r"(?<![\w.$-])([A-Za-z_][\w.-]*)[\"']?[ \t]{0,20}[:=](?![/:])")
_NAMED_ENTRY = compile_lazily(
    r"(?<![\w.$-])(?i:n[a-z]{0,5}|[a-z]{1,2}ame|key)[\"']?[ \t]{0,20}[:=]"
    r"[ \t\[{]{0,20}[\"']?([A-Za-z_][\w.-]*)"
)
_LINE = compile_lazily(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_CONTENT = compile_lazily(r"[ \t]*(?:-[ \t]+)*")
# The start of another node: an entry of a list or a mapping, a comment, a document.
_NEXT_NODE = compile_lazily(
    r"[ \t]*(?:-[ \t\r\n]|#|---|\.\.\.|[\"']?[\w./-]{1,200}[\"']?[ \t]{0,20}:(?:[ \t\r\n]|\Z))"
)
_MAX_LINES_BEFORE_NAME = 20  # lines of an entry before its name
# Syntax errors that quote the character at which parsing stopped.
_CHARACTER_QUOTING_PREFIXES = (
    "a value is due before",
    "a value cannot start",
    "a value that starts",
    "this bracket is",
)
# Messages that may quote a tag, the name of an alias or part of a scalar, and their replacement.
_NEUTRAL_MESSAGES = {
    "YAML001": "the text is not YAML from here on; quote the value if it is plain text",
    "YAML002": "this key is there twice; keep one of the two",
    "YAML004": "the tag here is not known to Kubernetes, or the value is not of its type; remove the tag",
    "YAML006": 'an alias leads nowhere, or into itself; define its anchor before it, or quote the "*"',
    "YAML007": "JSON cannot hold this value; write a number, or quote it",
    "YAML008": "a key here is not a string; write a word, or quote the key",
    "YAML009": "a character here is not allowed in YAML; remove it, or save the file as UTF-8",
    "YAML010": "this value is not read as a string; quote it if it is one",
}


def replace_quoting_message(rule: str, message: str) -> str:
    """Return ``message`` of a syntax error of ``rule``, or a replacement that quotes nothing of the text."""
    if rule == "YAML001" and not message.startswith(_CHARACTER_QUOTING_PREFIXES):
        return message
    return _NEUTRAL_MESSAGES.get(rule, message)


class _TextLines(NamedTuple):
    """A text split into lines, with their offsets."""

    texts: list[str]
    starts: list[int]

    def span_from(self, number: int, column: int) -> tuple[int, int]:
        """Return the range of a line from a column on."""
        return self.starts[number] + column, self.starts[number] + len(self.texts[number])


def find_broken_text_secrets(text: str) -> list[tuple[int, int]]:
    """Return where a text may contain secrets: offsets in order, the end exclusive."""
    matches = [(match[0], match.start()) for match in _LINE.finditer(text)]
    lines = _TextLines([line for line, _ in matches], [start for _, start in matches])
    return merge_spans([*find_text_secrets(text), *_find_secret_values(lines), *_find_secret_entries(lines)])


def _find_secret_values(lines: _TextLines) -> Iterator[tuple[int, int]]:
    """Yield the values of keys with names of secrets, with their continuation lines."""
    number = 0
    while number < len(lines.texts):
        line = lines.texts[number]
        value_starts = (match.end() for match in _KEY.finditer(line) if _is_secret_key(match[1]))
        column = next(value_starts, None)
        number += 1
        if column is not None:
            yield lines.span_from(number - 1, column)
            value_end = _find_value_end(lines, number, line, line[column:].strip())
            yield from (lines.span_from(other, 0) for other in range(number, value_end))
            number = value_end


def _is_secret_key(key: str) -> bool:
    return is_secret_field(key) or (key.isupper() and is_secret_name(key))


def _find_value_end(lines: _TextLines, number: int, line: str, value: str) -> int:
    """Return the first line from ``number`` on that does not continue the value that starts on ``line``."""
    texts = lines.texts
    if value[:1] in ("'", '"') and value.count(value[0]) % 2:
        closing_lines = (other for other in range(number, len(texts)) if value[0] in texts[other])
        number = next(closing_lines, number - 1) + 1
    column = _find_content_column(line)
    while number < len(texts):
        indent = _measure_width(texts[number])
        is_entry = not value and indent == column and texts[number].lstrip()[:1] == "-"
        if indent <= column and not is_entry and _NEXT_NODE.match(texts[number]):
            break
        number += 1
    return number


def _find_secret_entries(lines: _TextLines) -> Iterator[tuple[int, int]]:
    """Yield the other text in list entries with names of secrets."""
    next_number = 0
    for number, line in enumerate(lines.texts):
        match = next((one for one in _NAMED_ENTRY.finditer(line) if is_secret_name(one[1])), None)
        if match is None:
            continue
        yield lines.span_from(number, match.end())
        brace = line.find("{", 0, match.start())
        if brace >= 0:
            yield lines.starts[number] + brace, lines.starts[number] + match.start()
        column = _find_content_column(line)
        entry_lines = [
            *_iter_entry_lines_before(lines, number, column),
            *_iter_entry_lines_from(lines, max(number + 1, next_number), column),
        ]
        for other in entry_lines:
            yield lines.span_from(other, lines.texts[other].find(":") + 1)
        next_number = max([next_number, number + 1, *(other + 1 for other in entry_lines)])


def _iter_entry_lines_before(lines: _TextLines, number: int, column: int) -> Iterator[int]:
    """Yield the lines of an entry before that of its name."""
    for line_number in range(number, max(number - _MAX_LINES_BEFORE_NAME, 0), -1):
        if (
            _begins_entry(lines.texts[line_number], column)
            or _find_content_column(lines.texts[line_number - 1]) < column
        ):
            return
        yield line_number - 1


def _iter_entry_lines_from(lines: _TextLines, number: int, column: int) -> Iterator[int]:
    """Yield the lines of an entry from ``number`` on."""
    for line_number in range(number, len(lines.texts)):
        line = lines.texts[line_number]
        if line.strip() and (_begins_entry(line, column) or _find_content_column(line) < column):
            return
        yield line_number


def _begins_entry(line: str, column: int) -> bool:
    """Whether a line starts an entry of the list whose entries have their content in ``column``."""
    indent = _measure_indent(line)
    return indent < column and line[indent] == "-"


def _measure_indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t")) if line.strip() else 0


def _measure_width(line: str) -> int:
    """Return the indentation of a line; a tab advances to the next multiple of eight."""
    return len(line[: _measure_indent(line)].expandtabs())


def _find_content_column(line: str) -> int:
    """Return the column of the content of a line, after the dashes of list entries."""
    match = _CONTENT.match(line)
    return match.end() if match is not None else 0
