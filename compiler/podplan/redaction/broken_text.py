"""Secrets in text that cannot be read as data, line by line: rather too much of it than too little."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.lazy_regex import pattern
from podplan.core.typing import NamedTuple
from podplan.redaction.detection import find_text_secrets, merge_spans
from podplan.redaction.secret_names import field_names_secret, names_secret

# A key and what separates it from its value, and an entry that is called like a secret.
_KEY = pattern(r"(?<![\w.$-])([A-Za-z_][\w.-]*)[\"']?[ \t]{0,20}[:=](?![/:])")
_NAME = pattern(r"(?<![\w.$-])(?:name|key)[\"']?[ \t]{0,20}[:=][ \t]{0,20}[\"']?([A-Za-z_][\w.-]*)")
_LINE = pattern(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_CONTENT = pattern(r"[ \t]*(?:-[ \t]+)*")
# What begins something else: an entry of a list or a map, a comment, a document.
_NEXT = pattern(r"[ \t]*(?:-[ \t\r\n]|#|---|\.\.\.|[\"']?[\w./-]{1,200}[\"']?[ \t]{0,20}:(?:[ \t\r\n]|\Z))")
_FARTHEST = 20  # lines of an entry before its name
# Of the messages about syntax, those that quote the sign at which reading ended.
_QUOTING_A_SIGN = ("a value is due before", "a value cannot start", "a value that starts", "this bracket is")
# Messages of faults that may quote a tag, the name of an alias or part of a scalar, and what is said instead.
_QUOTING = {
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
    """``message`` of a fault of ``rule``, or one in its place that quotes nothing of the text."""
    if rule == "YAML001" and not message.startswith(_QUOTING_A_SIGN):
        return message
    return _QUOTING.get(rule, message)


class _Lines(NamedTuple):
    """A text in lines: what is in them, and where they begin."""

    texts: list[str]
    starts: list[int]

    def span(self, number: int, column: int) -> tuple[int, int]:
        """A line from a column on."""
        return self.starts[number] + column, self.starts[number] + len(self.texts[number])


def find_broken_text_secrets(text: str) -> list[tuple[int, int]]:
    """Where a text may hold secrets: offsets in order, the end exclusive."""
    found = [(match[0], match.start()) for match in _LINE.finditer(text)]
    lines = _Lines([line for line, _ in found], [start for _, start in found])
    return merge_spans([*find_text_secrets(text), *_values(lines), *_entries(lines)])


def _values(lines: _Lines) -> Iterator[tuple[int, int]]:
    """The values of keys that are called like secrets, with the lines that go on with them."""
    number = 0
    while number < len(lines.texts):
        line = lines.texts[number]
        ends = (match.end() for match in _KEY.finditer(line) if _is_secret(match[1]))
        column = next(ends, None)
        number += 1
        if column is not None:
            yield lines.span(number - 1, column)
            behind = _behind_value(lines, number, line, line[column:].strip())
            yield from (lines.span(other, 0) for other in range(number, behind))
            number = behind


def _is_secret(key: str) -> bool:
    return field_names_secret(key) or (key.isupper() and names_secret(key))


def _behind_value(lines: _Lines, number: int, line: str, value: str) -> int:
    """The first line from ``number`` on that does not go on with the value that ``line`` begins."""
    texts = lines.texts
    if value[:1] in ("'", '"') and value.count(value[0]) % 2:
        closed = (other for other in range(number, len(texts)) if value[0] in texts[other])
        number = next(closed, number - 1) + 1
    column = _column(line)
    while number < len(texts):
        here = _width(texts[number])
        is_entry = not value and here == column and texts[number].lstrip()[:1] == "-"
        if here <= column and not is_entry and _NEXT.match(texts[number]):
            break
        number += 1
    return number


def _entries(lines: _Lines) -> Iterator[tuple[int, int]]:
    """What else stands in entries of lists that are called like secrets."""
    done = 0
    for number, line in enumerate(lines.texts):
        match = next((one for one in _NAME.finditer(line) if names_secret(one[1])), None)
        if match is None:
            continue
        yield lines.span(number, match.end())
        opened = line.find("{", 0, match.start())
        if opened >= 0:
            yield lines.starts[number] + opened, lines.starts[number] + match.start()
        column = _column(line)
        others = [*_before(lines, number, column), *_behind(lines, max(number + 1, done), column)]
        for other in others:
            yield lines.span(other, lines.texts[other].find(":") + 1)
        done = max([done, number + 1, *(other + 1 for other in others)])


def _before(lines: _Lines, number: int, column: int) -> Iterator[int]:
    """The lines of an entry before that of its name."""
    for other in range(number, max(number - _FARTHEST, 0), -1):
        if _begins_entry(lines.texts[other], column) or _column(lines.texts[other - 1]) < column:
            return
        yield other - 1


def _behind(lines: _Lines, number: int, column: int) -> Iterator[int]:
    """The lines of an entry from ``number`` on."""
    for other in range(number, len(lines.texts)):
        line = lines.texts[other]
        if line.strip() and (_begins_entry(line, column) or _column(line) < column):
            return
        yield other


def _begins_entry(line: str, column: int) -> bool:
    """Whether a line begins an entry of the list whose entries have their content in ``column``."""
    here = _indentation(line)
    return here < column and line[here] == "-"


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" \t")) if line.strip() else 0


def _width(line: str) -> int:
    """How far a line is indented, where a tab goes to the next column that eight divides."""
    return len(line[: _indentation(line)].expandtabs())


def _column(line: str) -> int:
    """The column in which the content of a line begins, behind the marks of list entries."""
    match = _CONTENT.match(line)
    return match.end() if match is not None else 0
