"""The positions of the parts of a document in its text.

The marks of libyaml's parser are kept as they are, because asking each for its offset would cost more. The
*positions* of a collection are one list: ``start, end, is_mapping``, then a tuple for each entry: ``(key, key
start, key end, value start, value end)`` in a mapping, ``(value start, value end)`` in a list. The end of a
key that is written literally may be None: its length gives it. A value that is a collection has its own
positions as value start and None as value end; an alias has an ``AliasPosition``. ``end`` is False for block
collections, because libyaml reports an end that is too late.

All public offsets are 0-based and in code points.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any, NamedTuple

HEADER_LENGTH = 3  # the length of the header before the entries

LINE_BREAK = compile_lazily(r"\r\n?|\n")
_INITIAL_REACH = 256  # distance of the first search for the start of a line
_BLOCK_SCALAR = compile_lazily(r"(?:[&!]\S*\s+)*[|>]")

KeyTable = dict[str, tuple[Any, ...]]


class AliasPosition(NamedTuple):
    """The position of ``*name``: its own marks, and the positions of its collection."""

    start: Any
    end: Any
    target: list[Any] | None


class MergeKey:
    """One occurrence of the key ``<<``, which is in the data until the mapping is complete."""

    __slots__ = ("start",)

    def __init__(self, start: int) -> None:
        self.start = start


class EntryPosition(NamedTuple):
    """One entry of a collection: the offsets of its key (None in a list), and the position of its value."""

    key_start: Any
    key_end: Any
    start: Any
    end: Any


def find_entry(position: Any, step: str | int, key_tables: dict[int, KeyTable]) -> EntryPosition | None:
    """Return the entry for ``step``, through an alias if there is one, or None.

    ``key_tables`` caches the keys of mappings.
    """
    if isinstance(position, AliasPosition):
        position = position.target
    if not isinstance(position, list):
        return None
    if position[2]:
        item = build_key_table(position, key_tables).get(step) if isinstance(step, str) else None
        if item is None:
            return None
        key, key_start, key_end, start, end = item
        return EntryPosition(key_start.index, _find_key_end(key, key_start, key_end), start, end)
    if not isinstance(step, int) or not 0 <= step < len(position) - HEADER_LENGTH:
        return None
    return EntryPosition(None, None, *position[HEADER_LENGTH + step])


def _find_key_end(key: str, start: Any, end: Any) -> Any:
    return start.index + len(key) if end is None else end.index


def build_key_table(positions: list[Any], key_tables: dict[int, KeyTable]) -> KeyTable:
    """Return the entries of a mapping by key, including those of merge keys.

    It is called for a mapping with merge keys when that is complete, so that chains of them do not recurse.
    """
    key_table = key_tables.get(id(positions))
    if key_table is None:
        key_table = key_tables[id(positions)] = {}
        for item in positions[HEADER_LENGTH:]:
            key, _, _, value, _ = item
            if isinstance(key, MergeKey):
                for source in _find_merge_sources(value):
                    key_table.update(build_key_table(source, key_tables))
            else:
                key_table[key] = item
    return key_table


def find_merged_keys(position: Any, key_tables: dict[int, KeyTable]) -> frozenset[str]:
    """Return the keys of a mapping that come from its merge keys."""
    if isinstance(position, AliasPosition):
        position = position.target
    if not isinstance(position, list) or not position[2]:
        return frozenset()
    own_items = {id(written) for written in position[HEADER_LENGTH:]}
    return frozenset(
        key for key, written in build_key_table(position, key_tables).items() if id(written) not in own_items
    )


def _find_merge_sources(position: Any) -> list[list[Any]]:
    """Return the positions of the mappings that a merge key includes; the last one takes precedence."""
    if isinstance(position, AliasPosition):
        position = position.target
    if not isinstance(position, list):
        return []
    if position[2]:
        return [position]
    return [
        source
        for below, _ in reversed(position[HEADER_LENGTH:])
        for source in _find_merge_sources(below)
        if source[2]
    ]


def iter_repeated_keys(positions: list[Any]) -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield each repeated key of a mapping: the key, its start and end, and the start of the first."""
    first_starts: dict[str, Any] = {}
    for key, start, end, _, _ in positions[HEADER_LENGTH:]:
        if isinstance(key, MergeKey):
            continue
        if key in first_starts:
            yield key, start.index, _find_key_end(key, start, end), first_starts[key].index
        else:
            first_starts[key] = start


def find_offsets(position: Any, end: Any, base: int, text: str) -> tuple[int, int]:
    """Return where a value starts and ends in ``text``, for positions relative to ``base``.

    A block ends with its last value, without blank lines and comments after it.
    """
    first_mark = (
        position[0]
        if isinstance(position, list)
        else position.start
        if isinstance(position, AliasPosition)
        else position
    )
    start = first_mark.index + base
    last, stop = position, end
    while isinstance(last, list) and not last[1]:
        *_, last, stop = last[-1]
    if isinstance(last, list):
        return start, last[1].index + base
    if isinstance(last, AliasPosition):
        return start, last.end.index + base
    return start, find_scalar_end(text, last.index + base, stop.index + base)


def find_line_start(text: str, offset: int) -> int:
    """Return the start of the line of an offset, without reading earlier lines."""
    reach = _INITIAL_REACH
    while True:
        search_start = max(offset - reach, 0)
        line_break = max(text.rfind("\n", search_start, offset), text.rfind("\r", search_start, offset))
        if line_break >= 0 or not search_start:
            return line_break + 1
        reach *= 8


def find_scalar_end(text: str, start: int, end: int) -> int:
    """Return where a scalar ends, without the blank lines at the end of a block scalar."""
    if text[end - 1 : end] not in ("\n", "\r", " ", "\t") or not _BLOCK_SCALAR.match(text, start, end):
        return end
    content_end = start + len(text[start:end].rstrip())
    line_break = LINE_BREAK.search(text, content_end, end)
    return line_break.start() if line_break else end
