"""Two trees of plain data, compared: maps by key, lists by what names their entries, quantities by size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from podplan.core.findings import Path
from podplan.core.path_syntax import ENTRY_NAME_KEYS, EntryNameCounts, format_path, index_by_key
from podplan.kinds.common.merge import MERGE_KEYS
from podplan.kubernetes import quantities
from podplan.tools.diff.model import ABSENT

# What tells entries of a list apart that are not maps of Kubernetes' own with a merge key.
_KEYS = {**MERGE_KEYS, "tolerations": ("key", "operator", "value", "effect"), "ports": ("name",)}
_GENERIC = (*ENTRY_NAME_KEYS, "path")
# The order of these says something: of variables that refer to others, and of ranks.
_ORDERED = frozenset({"env", "replicaSpecs"})
_SIZED = frozenset(
    {"limits", "requests", "resources", "sizeLimit", "shm", "allocatable", "quota", "capacity", "storage"}
)
MAX_WORDS = 200  # of a stretch that is compared word by word: that takes the square of their number


class Delta(NamedTuple):
    """A part that differs: the paths in both documents, as far as it is there, and both values."""

    before_path: Path
    after_path: Path
    part: str
    before: Any
    after: Any


class _Pair(NamedTuple):
    """The two documents, with what names their entries, for the parts as people write them."""

    before: Any
    after: Any
    names: EntryNameCounts


def compared(before: Any, after: Any) -> Iterator[Delta]:
    """The parts that differ, in the order of ``before``, then what is new; none for equal data."""
    yield from _values(_Pair(before, after, {}), (), (), before, after)


def _values(pair: _Pair, left: Path, right: Path, before: Any, after: Any) -> Iterator[Delta]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            if before.get(key) is None and after.get(key) is None:
                continue
            one, other = (side[key] if side.get(key) is not None else ABSENT for side in (before, after))
            yield from _values(pair, (*left, key), (*right, key), one, other)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _lists(pair, left, right, before, after)
    elif not equal(left or right, before, after):
        yield _delta(pair, left, right, before, after)


def _delta(pair: _Pair, left: Path, right: Path, before: Any, after: Any) -> Delta:
    data, path = (pair.before, left) if after is ABSENT else (pair.after, right)
    return Delta(left, right, format_path(data, path, pair.names), before, after)


def equal(path: Path, before: Any, after: Any) -> bool:
    """Whether two values mean the same: quantities by their size, where there are some."""
    if isinstance(before, bool) is isinstance(after, bool) and before == after:
        return True
    if before is ABSENT or after is ABSENT or not _SIZED.intersection(map(str, path)):
        return False
    size = quantities.parse_quantity(before)
    return size is not None and size == quantities.parse_quantity(after)


def _lists(pair: _Pair, left: Path, right: Path, before: list[Any], after: list[Any]) -> Iterator[Delta]:
    if before == after and repr(before) == repr(after):
        return
    if not any(isinstance(entry, dict | list) for entry in (*before, *after)):
        yield from _words(pair, left, right, before, after)
        return
    keys = _keys(str(right[-1]) if right else "", [*before, *after], before, after)
    ours = index_by_key(before, keys)
    theirs = index_by_key(after, keys)
    for key, number in ours.items():
        if key in theirs:
            other = theirs[key]
            one = (*left, number), (*right, other)
            yield from _values(pair, *one, before[number], after[other])
        else:
            yield _delta(pair, (*left, number), right, before[number], ABSENT)
    for key, number in theirs.items():
        if key not in ours:
            yield _delta(pair, left, (*right, number), ABSENT, after[number])
    if right and right[-1] in _ORDERED and keys:
        one_order, other_order = [k for k in ours if k in theirs], [k for k in theirs if k in ours]
        if one_order != other_order:
            said = [[str(key[0]) for key in order] for order in (one_order, other_order)]
            found = _delta(pair, left, right, *said)
            yield found._replace(part=f"{found.part} (order)")


def _keys(field: str, entries: list[Any], before: list[Any], after: list[Any]) -> tuple[str, ...]:
    """The keys that name the entries of both lists; empty where nothing does but their place."""
    if not all(isinstance(entry, dict) for entry in entries):
        return ()
    known = _KEYS.get(field)
    if known and all(entry.get(known[0]) is not None for entry in entries):
        return known
    for key in _GENERIC:
        names = [[entry.get(key) for entry in side] for side in (before, after)]
        if all(
            all(isinstance(name, str | int) for name in side) and len(set(side)) == len(side)
            for side in names
        ):
            return (key,)
    return ()


def _words(pair: _Pair, left: Path, right: Path, before: list[Any], after: list[Any]) -> Iterator[Delta]:
    """A list of plain values, such as args: each stretch that differs is one delta, told as a list.

    The value of an option comes with the option: ["--epochs", 90] and not [90].
    """
    one, other = ([repr(word) for word in side] for side in (before, after))
    for i, j, k, m in _stretches(one, other):
        words = (before[i:j] or after[k:m])[0]
        option = i > 0 and k > 0 and _is_option(before[i - 1]) and not _is_option(words)
        start, begin = (i - 1, k - 1) if option else (i, k)
        found = _delta(pair, left, right, before[start:j] or ABSENT, after[begin:m] or ABSENT)
        yield found._replace(before_path=(*left, i), after_path=(*right, k))


def _stretches(one: list[str], other: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Where two lists of words differ; what is long and has nothing around it in common, as one stretch."""
    start, end = around(one, other)
    left, right = (side[start : len(side) - end] for side in (one, other))
    if max(len(left), len(right)) > MAX_WORDS:
        yield start, len(one) - end, start, len(other) - end
        return
    for how, i, j, k, m in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if how != "equal":
            yield start + i, start + j, start + k, start + m


def around(one: Sequence[str], other: Sequence[str]) -> tuple[int, int]:
    """How many entries two lists have in common at their beginning, and behind that at their end."""
    shorter = min(len(one), len(other))
    start = next((number for number in range(shorter) if one[number] != other[number]), shorter)
    rest = shorter - start
    end = next((number for number in range(rest) if one[-1 - number] != other[-1 - number]), rest)
    return start, end


def _is_option(word: Any) -> bool:
    return isinstance(word, str) and word.startswith("-") and "=" not in word
