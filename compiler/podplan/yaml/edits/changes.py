"""A change to a document of a file as edits of its text: nothing else in the file moves.

Positions come from the reader, so comments, quotes and the layout around a change stay as they are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import lru_cache

from podplan.core.findings import Change, Edit, Path, value_at
from podplan.core.lazy_regex import pattern
from podplan.core.typing import Any
from podplan.yaml import Document, Span
from podplan.yaml.positions import LINE_BREAK, line_start
from podplan.yaml.writer import emit_document

# An amount as people write it; no reader of YAML takes it for a number.
_QUANTITY = pattern("[1-9][0-9]{0,9}(?:Ki|Mi|Gi|Ti|Pi|m)")
_BLANKS = pattern(r"[ \t\r\n]*")
_NOT_PLAIN = "\"'|>&!*[{"


class Refused(Exception):
    """Why a change cannot be made where it would have to be; a sentence without a full stop."""


def edits_for(document: Document, change: Change) -> tuple[Edit, ...]:
    """The edits that make a change whose path is one of ``document``. Raises Refused."""
    edit = _edit_for(document, change)
    if _is_above_tab(document.text, edit.end):
        raise Refused("an empty line below it has a tab, which YAML allows only behind what stands there now")
    return (edit,)


def _edit_for(document: Document, change: Change) -> Edit:
    path = change.path
    if change.op == "set" and not document.has(path):
        _demand_own(document, path[:-1])
        return _inserted(document, path[:-1], str(path[-1]), change.value)
    _demand_own(document, path)
    if change.op == "rename":
        if change.value in value_at(document.data, path[:-1]):
            raise Refused(f'there is a "{change.value}" beside it already')
        _demand_unmerged(document, path)
        return _edit(document, document.span(path, on_key=True), written(change.value))
    if change.op == "quote":
        return _quoted(document, path)
    if change.op == "remove":
        return _removed(document, path)
    if change.op == "prepend":
        return _prepended(document, path, change.value)
    return _replaced(document, path, change.value)


def _is_above_tab(text: str, offset: int) -> bool:
    """Whether among the blanks behind ``offset`` one that begins a line has a tab."""
    blanks = _BLANKS.match(text, offset)
    found = blanks[0] if blanks else ""
    return "\t" in (found if text[offset - 1 : offset] in ("\n", "\r") else found.lstrip(" \t"))


def written(value: Any) -> str:
    """A value in one line, as it can stand in flow and in block collections."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{written(key)}: {written(below)}" for key, below in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(written(entry) for entry in value) + "]"
    if isinstance(value, str) and "\n" in value:
        raise Refused("the new value has several lines")
    if isinstance(value, str) and _QUANTITY.fullmatch(value):
        return value
    return emit_document([value]).removeprefix("- ").rstrip("\n")


def _demand_own(document: Document, path: Path) -> None:
    """Refuse what stands at another place than the path says: behind an alias or a merge key."""
    for length in range(1, len(path) + 1):
        here, above = document.span(path[:length]), document.span(path[: length - 1])
        if not above.start <= here.start <= here.end <= above.end:
            raise Refused(f"the value in line {here.line} is used in other places too, through an alias")
    if document.text[document.span(path).start : document.span(path).start + 1] == "*":
        raise Refused("an alias stands there")


def _demand_unmerged(document: Document, path: Path) -> None:
    """Refuse to take away a key that comes through a merge key: another one could bring it back."""
    if path[-1] in _merged_keys(document, path[:-1]):
        raise Refused('it comes through a merge key "<<"')


@lru_cache(maxsize=1)  # as for _entries
def _merged_keys(document: Document, parent: Path) -> frozenset[str]:
    return document.merged_keys(parent)


def _edit(document: Document, span: Span, text: str) -> Edit:
    return Edit(
        document.file, span.line, span.column, span.end_line, span.end_column, span.start, span.end, text
    )


def _cut(document: Document, start: int, end: int, text: str = "") -> Edit:
    return _edit(document, document.between(start, end), text)


def _replaced(document: Document, path: Path, value: Any) -> Edit:
    now = value_at(document.data, path)
    if isinstance(now, dict | list) and now:
        raise Refused("a whole block would have to be written anew")
    span = document.span(path)
    return _edit(document, span, _before_value(document, path) + written(value))


def _before_value(document: Document, path: Path) -> str:
    """What comes before a new value at ``path``: where nothing is written, a blank, or the colon too."""
    span = document.span(path)
    if span.start != span.end:
        return ""
    key = document.heading(path) if isinstance(path[-1], str) else None
    if key is None or ":" in document.text[key.end : span.start]:
        return " "
    if key.line != key.end_line or document.text[: key.start].rstrip()[-1:] == "?":
        raise Refused('no ":" stands behind its key')
    return ": "


def _quoted(document: Document, path: Path) -> Edit:
    span = document.span(path)
    text = document.text[span.start : span.end]
    if not text or text[0] in _NOT_PLAIN or "\n" in text:
        raise Refused("it is not a plain word")
    quoted = f"'{text.replace(chr(39), chr(39) * 2)}'" if '"' in text or "\\" in text else f'"{text}"'
    return _edit(document, span, quoted)


def _inserted(document: Document, parent: Path, key: str, value: Any) -> Edit:
    """A new entry at the end of the mapping at ``parent``."""
    if not document.has(parent):
        raise Refused("what it belongs to is not written there either")
    entry = f"{written(key)}: {written(value)}"
    siblings = value_at(document.data, parent)
    span = document.span(parent)
    if not siblings:
        return _edit(document, span, f"{_before_value(document, parent)}{{{entry}}}")
    if not isinstance(siblings, dict):
        raise Refused("what it belongs to is no mapping")
    own = [name for name in siblings if _is_own(document, (*parent, name))]
    if not own:
        raise Refused("all that is written there comes through an alias")
    last = document.span(_last(document, parent, own))
    if document.text[span.start : span.start + 1] == "{":
        return _cut(document, last.end, last.end, f", {entry}")
    keys = (document.span((*parent, name), on_key=True) for name in own)
    first = min(keys, key=lambda place: (place.column, place.start))  # what << brings stands further right
    if "?" in document.text[line_start(document.text, first.start) : first.start]:
        raise Refused('its keys stand behind a "?"')
    end = _line_end(document.text, last.end)
    if end == len(document.text) and _is_block(document, _last(document, parent, own)):
        raise Refused("a line break at the end of the file would become part of the value above it")
    return _cut(document, end, end, f"{_line_break(document.text)}{' ' * (first.column - 1)}{entry}")


def _prepended(document: Document, path: Path, values: list[Any]) -> Edit:
    """New entries in front of those of the list at ``path``."""
    if not value_at(document.data, path):
        return _replaced(document, path, values)
    text, start = document.text, document.span(path).start
    if text[start : start + 1] == "[":
        return _cut(document, start + 1, start + 1, "".join(f"{written(value)}, " for value in values))
    first = _start(document, (*path, 0))
    if text[line_start(text, first) : first].strip(" "):
        raise Refused("other text stands in the same line")
    indent = text[line_start(text, first) : first]
    entries = "".join(f"- {written(value)}{_line_break(text)}{indent}" for value in values)
    return _cut(document, first, first, entries)


def _last(document: Document, parent: Path, names: Iterable[str | int]) -> Path:
    """The one of the entries that ends behind the others."""
    return max(((*parent, name) for name in names), key=lambda path: document.span(path).end)


def _is_block(document: Document, path: Path) -> bool:
    """Whether what ends the value at ``path`` is a block scalar, which takes in the line breaks behind it."""
    while value := value_at(document.data, path):
        if isinstance(value, str):
            return document.text[document.span(path).start] in "|>"
        if not isinstance(value, dict | list):
            return False
        path = _last(document, path, value if isinstance(value, dict) else range(len(value)))
    return False


def _is_own(document: Document, path: Path) -> bool:
    try:
        _demand_own(document, path)
    except Refused:
        return False
    return True


def _removed(document: Document, path: Path) -> Edit:
    """An entry taken out, with its line; with its collection where nothing else is in that."""
    if not path:
        raise Refused("it is the whole document")
    _demand_unmerged(document, path)
    parent = path[:-1]
    starts = _entries(document, parent)
    mine = _start(document, path), document.span(path).end
    place = bisect_left(starts, mine)
    if len(starts) == 1:
        if _is_chosen_by_name(document.data, parent):
            return _emptied(document, parent)
        if parent and document.has(parent):
            return _removed(document, parent)
        raise Refused("nothing would be left")
    if document.text[document.span(parent).start : document.span(parent).start + 1] in ("{", "["):
        if place + 1 < len(starts):
            return _cut(document, mine[0], starts[place + 1][0])
        return _cut(document, starts[place - 1][1], mine[1])
    return _removed_lines(document, mine, starts[place + 1][0] if place + 1 < len(starts) else None)


@lru_cache(maxsize=1)  # many entries of one collection are asked for one after the other
def _entries(document: Document, parent: Path) -> list[tuple[int, int]]:
    """Where the entries of a collection begin and end, in order."""
    value = value_at(document.data, parent)
    names = list(value) if isinstance(value, dict) else list(range(len(value)))
    return sorted((_start(document, (*parent, name)), document.span((*parent, name)).end) for name in names)


def _is_chosen_by_name(data: Any, path: Path) -> bool:
    """Whether the entry says something even when it is empty: an environment is there to be chosen."""
    return len(path) == 3 and path[:2] == ("spec", "environments") and isinstance(value_at(data, path), dict)


def _emptied(document: Document, path: Path) -> Edit:
    """The braces of an empty mapping in the place of a mapping; comments behind its key stay."""
    span, key = document.span(path), document.span(path, on_key=True)
    first = document.text[span.start : span.start + 1]
    if first == "{":
        return _edit(document, span, "{}")
    before, colon, head = document.text[key.end : span.start].partition(":")
    if first in ("&", "!") or not colon:
        raise Refused("nothing would be left")
    end = _line_end(document.text, span.end)
    return _cut(document, key.end, end, f"{before}: {{}}{head.rstrip()}")


def _removed_lines(document: Document, mine: tuple[int, int], following: int | None) -> Edit:
    text = document.text
    start = line_start(text, mine[0])
    head = text[start : mine[0]]
    if head.strip(" ") not in ("", "-"):
        raise Refused("other text stands in the same line")
    if head.strip(" ") == "-" and following is not None and text[mine[0]] != "-":
        return _cut(document, mine[0], following)  # the first field of an entry of a list
    line_break = LINE_BREAK.search(text, mine[1])
    return _cut(document, start, line_break.end() if line_break else len(text))


def _start(document: Document, path: Path) -> int:
    """Where an entry begins: at its key, or at the dash of a block list."""
    if isinstance(path[-1], str):
        return document.span(path, on_key=True).start
    start = document.span(path).start
    parent = document.span(path[:-1])
    if document.text[parent.start : parent.start + 1] == "[":
        return start
    return document.text.rfind("-", 0, start)


def _line_end(text: str, offset: int) -> int:
    line_break = LINE_BREAK.search(text, offset)
    return line_break.start() if line_break else len(text)


def _line_break(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
