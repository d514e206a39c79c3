"""Turns a change of a document into edits of its text, which leave everything else unchanged.

Positions come from the parser, so comments, quotes and the layout around a change stay as they are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import lru_cache

from podplan.core.findings import DocumentFix, Edit, Path, value_at
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.yaml import Document, Span
from podplan.yaml.positions import LINE_BREAK, find_line_start
from podplan.yaml.writer import emit_document

# A quantity; no YAML parser takes it for a number.
_QUANTITY = compile_lazily("[1-9][0-9]{0,9}(?:Ki|Mi|Gi|Ti|Pi|m)")
_BLANKS = compile_lazily(r"[ \t\r\n]*")
_BLOCK_SCALAR = compile_lazily(r"(?:[!&]\S*[ \t\r\n]+)*[|>]")  # with its tag and anchor
_NON_PLAIN_STARTS = "\"'|>&!*[{"


class FixRefused(Exception):
    """The reason why a change cannot be made; a sentence without a full stop."""


def build_edits(document: Document, fix: DocumentFix) -> tuple[Edit, ...]:
    """Build the edits for a change at a path of ``document``. Raises FixRefused: if it is impossible."""
    edit = _build_edit(document, fix)
    if _is_above_tab(document.text, edit.end):
        raise FixRefused(
            "an empty line below it has a tab, which YAML allows only behind what stands there now"
        )
    return (edit,)


def _build_edit(document: Document, fix: DocumentFix) -> Edit:
    path = fix.path
    if fix.op == "set" and not document.has_path(path):
        _require_own_value(document, path[:-1])
        return _insert_field(document, path[:-1], str(path[-1]), fix.value)
    _require_own_value(document, path)
    if fix.op == "rename":
        if fix.value in value_at(document.data, path[:-1]):
            raise FixRefused(f'there is a "{fix.value}" beside it already')
        _require_unmerged(document, path)
        return _edit_span(document, document.span(path, on_key=True), format_inline(fix.value))
    if fix.op == "quote":
        return _quote_value(document, path)
    if fix.op == "remove":
        return _remove_entry(document, path)
    if fix.op == "prepend":
        return _prepend_entries(document, path, fix.value)
    return _replace_value(document, path, fix.value)


def _is_above_tab(text: str, offset: int) -> bool:
    """Whether the indentation of a line in the blanks after ``offset`` contains a tab."""
    blanks = _BLANKS.match(text, offset)
    blank_text = blanks[0] if blanks else ""
    return "\t" in (blank_text if text[offset - 1 : offset] in ("\n", "\r") else blank_text.lstrip(" \t"))


def format_inline(value: Any) -> str:
    """Format a value on one line, valid in flow and in block collections."""
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{format_inline(key)}: {format_inline(below)}" for key, below in value.items())
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(format_inline(entry) for entry in value) + "]"
    if isinstance(value, str) and "\n" in value:
        raise FixRefused("the new value has several lines")
    if isinstance(value, str) and _QUANTITY.fullmatch(value):
        return value
    return emit_document([value]).removeprefix("- ").rstrip("\n")


def _require_own_value(document: Document, path: Path) -> None:
    """Refuse a value that is written elsewhere: after an alias or a merge key."""
    for length in range(1, len(path) + 1):
        span, parent_span = document.span(path[:length]), document.span(path[: length - 1])
        if not parent_span.start <= span.start <= span.end <= parent_span.end:
            raise FixRefused(f"the value in line {span.line} is used in other places too, through an alias")
    if document.text[document.span(path).start : document.span(path).start + 1] == "*":
        raise FixRefused("an alias stands there")


def _require_unmerged(document: Document, path: Path) -> None:
    """Refuse to remove a key that comes from a merge key: another one could define it again."""
    if path[-1] in _cached_merged_keys(document, path[:-1]):
        raise FixRefused('it comes through a merge key "<<"')


@lru_cache(maxsize=1)  # as for _entry_spans
def _cached_merged_keys(document: Document, parent: Path) -> frozenset[str]:
    return document.merged_keys(parent)


def _edit_span(document: Document, span: Span, text: str) -> Edit:
    return Edit(
        document.file, span.line, span.column, span.end_line, span.end_column, span.start, span.end, text
    )


def _edit_range(document: Document, start: int, end: int, text: str = "") -> Edit:
    return _edit_span(document, document.span_between(start, end), text)


def _replace_value(document: Document, path: Path, value: Any) -> Edit:
    current = value_at(document.data, path)
    if isinstance(current, dict | list) and current:
        raise FixRefused("a whole block would have to be written anew")
    span = document.span(path)
    key = document.key_span(path) if path and isinstance(path[-1], str) else None
    if key is not None and span.start < span.end and span.line > key.end_line and span.column <= key.column:
        raise FixRefused("it is a block that is no deeper than its key")  # only "|" and ">" may be there
    return _edit_span(document, span, _value_separator(document, path) + format_inline(value))


def _value_separator(document: Document, path: Path) -> str:
    """Return what precedes a new value at ``path``: a blank, and the colon if it is missing."""
    span = document.span(path)
    if span.start != span.end:
        return ""
    key = document.key_span(path) if isinstance(path[-1], str) else None
    if key is None or ":" in document.text[key.end : span.start]:
        return " "
    if key.line != key.end_line or document.text[: key.start].rstrip()[-1:] == "?":
        raise FixRefused('no ":" stands behind its key')
    return ": "


def _quote_value(document: Document, path: Path) -> Edit:
    span = document.span(path)
    text = document.text[span.start : span.end]
    if not text or text[0] in _NON_PLAIN_STARTS or "\n" in text:
        raise FixRefused("it is not a plain word")
    quoted = f"'{text.replace(chr(39), chr(39) * 2)}'" if '"' in text or "\\" in text else f'"{text}"'
    return _edit_span(document, span, quoted)


def _insert_field(document: Document, parent: Path, key: str, value: Any) -> Edit:
    """Add an entry at the end of the mapping at ``parent``."""
    if not document.has_path(parent):
        raise FixRefused("what it belongs to is not written there either")
    entry = f"{format_inline(key)}: {format_inline(value)}"
    siblings = value_at(document.data, parent)
    span = document.span(parent)
    if not siblings:
        return _edit_span(document, span, f"{_value_separator(document, parent)}{{{entry}}}")
    if not isinstance(siblings, dict):
        raise FixRefused("what it belongs to is no mapping")
    own_keys = [name for name in siblings if _is_own_value(document, (*parent, name))]
    if not own_keys:
        raise FixRefused("all that is written there comes through an alias")
    last_span = document.span(_find_last_entry(document, parent, own_keys))
    if document.text[span.start : span.start + 1] == "{":
        return _edit_range(document, last_span.end, last_span.end, f", {entry}")
    key_spans = (document.span((*parent, name), on_key=True) for name in own_keys)
    first_key = min(
        key_spans, key=lambda place: (place.column, place.start)
    )  # values from << may be indented more
    if "?" in document.text[find_line_start(document.text, first_key.start) : first_key.start]:
        raise FixRefused('its keys stand behind a "?"')
    end = _find_line_end(document.text, last_span.end)
    if end == len(document.text) and _ends_in_block_scalar(
        document, _find_last_entry(document, parent, own_keys)
    ):
        raise FixRefused("a line break at the end of the file would become part of the value above it")
    return _edit_range(
        document, end, end, f"{_detect_line_break(document.text)}{' ' * (first_key.column - 1)}{entry}"
    )


def _prepend_entries(document: Document, path: Path, values: list[Any]) -> Edit:
    """Insert entries before those of the list at ``path``."""
    if not value_at(document.data, path):
        return _replace_value(document, path, values)
    text, start = document.text, document.span(path).start
    if text[start : start + 1] == "[":
        return _edit_range(
            document, start + 1, start + 1, "".join(f"{format_inline(value)}, " for value in values)
        )
    first_start = _entry_start(document, (*path, 0))
    if text[find_line_start(text, first_start) : first_start].strip(" "):
        raise FixRefused("other text stands in the same line")
    indent = text[find_line_start(text, first_start) : first_start]
    entries = "".join(f"- {format_inline(value)}{_detect_line_break(text)}{indent}" for value in values)
    return _edit_range(document, first_start, first_start, entries)


def _find_last_entry(document: Document, parent: Path, names: Iterable[str | int]) -> Path:
    """Return the path of the entry that ends last."""
    return max(((*parent, name) for name in names), key=lambda path: document.span(path).end)


def _ends_in_block_scalar(document: Document, path: Path) -> bool:
    """Whether the value at ``path`` ends with a block scalar, which includes the line breaks after it."""
    while value := value_at(document.data, path):
        if isinstance(value, str):
            return _BLOCK_SCALAR.match(document.text, document.span(path).start) is not None
        if not isinstance(value, dict | list):
            return False
        path = _find_last_entry(document, path, value if isinstance(value, dict) else range(len(value)))
    return False


def _is_own_value(document: Document, path: Path) -> bool:
    try:
        _require_own_value(document, path)
    except FixRefused:
        return False
    return True


def _remove_entry(document: Document, path: Path) -> Edit:
    """Remove an entry with its line; with its collection if that would be empty."""
    if not path:
        raise FixRefused("it is the whole document")
    _require_unmerged(document, path)
    parent = path[:-1]
    entry_spans = _entry_spans(document, parent)
    own_span = _entry_start(document, path), document.span(path).end
    index = bisect_left(entry_spans, own_span)
    if len(entry_spans) == 1:
        if _is_selectable(document.data, parent):
            return _empty_mapping(document, parent)
        if parent and document.has_path(parent):
            return _remove_entry(document, parent)
        raise FixRefused("nothing would be left")
    if document.text[document.span(parent).start : document.span(parent).start + 1] in ("{", "["):
        if index + 1 < len(entry_spans):
            return _edit_range(document, own_span[0], entry_spans[index + 1][0])
        return _edit_range(document, entry_spans[index - 1][1], own_span[1])
    return _remove_lines(
        document, own_span, entry_spans[index + 1][0] if index + 1 < len(entry_spans) else None
    )


@lru_cache(maxsize=1)  # called for many entries of one collection in order
def _entry_spans(document: Document, parent: Path) -> list[tuple[int, int]]:
    """Return where the entries of a collection begin and end, in order."""
    value = value_at(document.data, parent)
    names = list(value) if isinstance(value, dict) else list(range(len(value)))
    return sorted(
        (_entry_start(document, (*parent, name)), document.span((*parent, name)).end) for name in names
    )


def _is_selectable(data: Any, path: Path) -> bool:
    """Whether the entry has a meaning even if it is empty: an environment can be selected."""
    return len(path) == 3 and path[:2] == ("spec", "environments") and isinstance(value_at(data, path), dict)


def _empty_mapping(document: Document, path: Path) -> Edit:
    """Replace a mapping by the braces of an empty one; comments after its key stay."""
    span, key = document.span(path), document.span(path, on_key=True)
    opening = document.text[span.start : span.start + 1]
    if opening == "{":
        return _edit_span(document, span, "{}")
    before, colon, head = document.text[key.end : span.start].partition(":")
    if opening in ("&", "!") or not colon:
        raise FixRefused("nothing would be left")
    end = _find_line_end(document.text, span.end)
    return _edit_range(document, key.end, end, f"{before}: {{}}{head.rstrip()}")


def _remove_lines(document: Document, own_span: tuple[int, int], next_start: int | None) -> Edit:
    text = document.text
    start = find_line_start(text, own_span[0])
    head = text[start : own_span[0]]
    if head.strip(" ") not in ("", "-"):
        raise FixRefused("other text stands in the same line")
    if head.strip(" ") == "-" and next_start is not None:
        return _edit_range(document, own_span[0], next_start)  # the first of what an entry of a list has
    line_break = LINE_BREAK.search(text, own_span[1])
    return _edit_range(document, start, line_break.end() if line_break else len(text))


def _entry_start(document: Document, path: Path) -> int:
    """Return where an entry begins: at its key, or at the dash of a block list."""
    if isinstance(path[-1], str):
        return document.span(path, on_key=True).start
    start = document.span(path).start
    parent = document.span(path[:-1])
    if document.text[parent.start : parent.start + 1] == "[":
        return start
    return document.text.rfind("-", 0, start)


def _find_line_end(text: str, offset: int) -> int:
    line_break = LINE_BREAK.search(text, offset)
    return line_break.start() if line_break else len(text)


def _detect_line_break(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with edits that do not overlap, applied from the last to the first."""
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text
