"""Where the parts of a document stand in its text.

Of each part the marks of libyaml's parser are kept: to ask every one of them for its offset would cost more.
Those of a collection are one list, its *places*: ``start, end, is_mapping``, then a tuple for each entry:
``(key, key start, key end, value start, value end)`` in a mapping, ``(value start, value end)`` in a list.
The end of a key that is written as it is read may be None: its length tells. A value that is a collection has
its own places as value start and None as value end; an alias has an ``Alias``. ``end`` is False for block
collections: libyaml lets their end overshoot.

Offsets, which all others get, are 0-based and in code points.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.lazy_regex import pattern
from podplan.core.typing import Any, NamedTuple

HEAD = 3  # the length of what stands before the entries in a list of places

LINE_BREAK = pattern(r"\r\n?|\n")
_REACH = 256  # how far one looks for the start of a line at first
_BLOCK_SCALAR = pattern(r"(?:[&!]\S*\s+)*[|>]")

Table = dict[str, tuple[Any, ...]]


class Alias(NamedTuple):
    """The place of ``*name``: its own marks, and the places of the collection that it stands for."""

    start: Any
    end: Any
    target: list[Any] | None


class Merge:
    """One occurrence of the key ``<<``; it stands in the data until the mapping is complete."""

    __slots__ = ("start",)

    def __init__(self, start: int) -> None:
        self.start = start


class Entry(NamedTuple):
    """One entry of a collection: the offsets of its key (None in a list), and where its value stands."""

    key_start: Any
    key_end: Any
    start: Any
    end: Any


def entry(place: Any, step: str | int, tables: dict[int, Table]) -> Entry | None:
    """The entry that ``step`` leads to, through an alias if there is one, or None.

    ``tables`` keeps the keys of the mappings that were asked before.
    """
    if isinstance(place, Alias):
        place = place.target
    if not isinstance(place, list):
        return None
    if place[2]:
        found = table(place, tables).get(step) if isinstance(step, str) else None
        if found is None:
            return None
        key, key_start, key_end, start, end = found
        return Entry(key_start.index, _key_end(key, key_start, key_end), start, end)
    if not isinstance(step, int) or not 0 <= step < len(place) - HEAD:
        return None
    return Entry(None, None, *place[HEAD + step])


def _key_end(key: str, start: Any, end: Any) -> Any:
    return start.index + len(key) if end is None else end.index


def table(places: list[Any], tables: dict[int, Table]) -> Table:
    """Each key of a mapping -> its entry in the places that hold it, merged keys included.

    A mapping with merge keys is asked for when it is complete, so that chains of them do not recurse.
    """
    found = tables.get(id(places))
    if found is None:
        found = tables[id(places)] = {}
        for written in places[HEAD:]:
            key, _, _, value, _ = written
            if isinstance(key, Merge):
                for source in _merged(value):
                    found.update(table(source, tables))
            else:
                found[key] = written
    return found


def merged_keys(place: Any, tables: dict[int, Table]) -> frozenset[str]:
    """The keys of a mapping that come through its merge keys."""
    if isinstance(place, Alias):
        place = place.target
    if not isinstance(place, list) or not place[2]:
        return frozenset()
    own = {id(written) for written in place[HEAD:]}
    return frozenset(key for key, written in table(place, tables).items() if id(written) not in own)


def _merged(place: Any) -> list[list[Any]]:
    """The places of the mappings that a merge key takes, the strongest last."""
    if isinstance(place, Alias):
        place = place.target
    if not isinstance(place, list):
        return []
    if place[2]:
        return [place]
    return [source for below, _ in reversed(place[HEAD:]) for source in _merged(below) if source[2]]


def repeated_keys(places: list[Any]) -> Iterator[tuple[str, Any, Any, Any]]:
    """Each key of a mapping that stands there before: the key, its start and end, and the first start."""
    first: dict[str, Any] = {}
    for key, start, end, _, _ in places[HEAD:]:
        if isinstance(key, Merge):
            continue
        if key in first:
            yield key, start.index, _key_end(key, start, end), first[key].index
        else:
            first[key] = start


def offsets(place: Any, end: Any, base: int, text: str) -> tuple[int, int]:
    """Where a value starts and ends in ``text``, its places being relative to ``base``.

    A block ends with its last value, without the blank lines and comments that may follow.
    """
    first = place[0] if isinstance(place, list) else place.start if isinstance(place, Alias) else place
    start = first.index + base
    last, stop = place, end
    while isinstance(last, list) and not last[1]:
        *_, last, stop = last[-1]
    if isinstance(last, list):
        return start, last[1].index + base
    if isinstance(last, Alias):
        return start, last.end.index + base
    return start, scalar_end(text, last.index + base, stop.index + base)


def line_start(text: str, offset: int) -> int:
    """Where the line of an offset begins; what is before that line is not looked at."""
    reach = _REACH
    while True:
        first = max(offset - reach, 0)
        found = max(text.rfind("\n", first, offset), text.rfind("\r", first, offset))
        if found >= 0 or not first:
            return found + 1
        reach *= 8


def scalar_end(text: str, start: int, end: int) -> int:
    """Where a scalar ends, without the blank lines that end a block scalar."""
    if text[end - 1 : end] not in ("\n", "\r", " ", "\t") or not _BLOCK_SCALAR.match(text, start, end):
        return end
    last = start + len(text[start:end].rstrip())
    line_break = LINE_BREAK.search(text, last, end)
    return line_break.start() if line_break else end
