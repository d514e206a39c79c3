"""Compares two versions of a document: entries by name, quantities by amount."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from podplan.core.findings import Path
from podplan.core.path_syntax import ENTRY_NAME_KEYS, EntryNameCounts, format_path, index_by_key
from podplan.core.structural_diff import (
    ABSENT,
    Change,
    DiffRules,
    EntryIndexes,
    count_common_ends,
    iter_changes,
)
from podplan.kubernetes.list_keys import IDENTITY_KEYS
from podplan.kubernetes.quantities import parse_quantity

_GENERIC_KEYS = (*ENTRY_NAME_KEYS, "path")
# Lists whose order matters: variables that refer to others, and ranks.
_ORDERED = frozenset({"env", "replicaSpecs"})
_QUANTITIES = frozenset(
    {"limits", "requests", "resources", "sizeLimit", "shm", "allocatable", "quota", "capacity", "storage"}
)
MAX_WORDS = 200  # of a range that is compared word by word, in quadratic time


class Delta(NamedTuple):
    """A part that differs: the formatted paths in both documents, and both values or ABSENT."""

    before_path: Path
    after_path: Path
    part: str
    before: Any
    after: Any


def iter_document_changes(before: Any, after: Any) -> Iterator[Delta]:
    """Yield the parts that differ, in the order of ``before``, then the new ones; none for equal data."""
    name_counts: EntryNameCounts = {}
    for change in iter_changes(before, after, _DIFF_RULES):
        data, path = (before, change.old_path) if change.new is ABSENT else (after, change.new_path)
        part = format_path(data, path, name_counts) + (" (order)" if change.order_only else "")
        word_lists = isinstance(change.old, list) and isinstance(change.new, list) and not change.order_only
        for one in _iter_word_changes(change) if word_lists else (change,):
            yield Delta(one.old_path, one.new_path, part, one.old, one.new)


def _index_entries(
    path: Path, before: list[Any], after: list[Any]
) -> tuple[EntryIndexes, EntryIndexes] | None:
    """Return None for lists of plain values, such as args; index by position if nothing identifies the
    entries."""
    if not any(isinstance(entry, dict | list) for entry in (*before, *after)):
        return None
    keys = _find_keys(str(path[-1]) if path else "", before, after)
    return index_by_key(before, keys), index_by_key(after, keys)


def _find_keys(field: str, before: list[Any], after: list[Any]) -> tuple[str, ...]:
    """Return the keys that identify the entries of both lists; empty if only their position does."""
    entries = [*before, *after]
    if not all(isinstance(entry, dict) for entry in entries):
        return ()
    known = IDENTITY_KEYS.get(field)
    if known and all(entry.get(known[0]) is not None for entry in entries):
        return known
    for key in _GENERIC_KEYS:
        names = [[entry.get(key) for entry in side] for side in (before, after)]
        if all(
            all(isinstance(name, str | int) for name in side) and len(set(side)) == len(side)
            for side in names
        ):
            return (key,)
    return ()


def _is_equal(path: Path, before: Any, after: Any) -> bool:
    """Whether two values are equivalent: quantities are compared by amount."""
    if isinstance(before, list) and isinstance(after, list):
        return before == after and repr(before) == repr(after)
    if isinstance(before, bool) is isinstance(after, bool) and before == after:
        return True
    if not _QUANTITIES.intersection(map(str, path)):
        return False
    size = parse_quantity(before)
    return size is not None and size == parse_quantity(after)


_DIFF_RULES = DiffRules(
    _index_entries, _is_equal, is_ordered=lambda path: bool(_ORDERED.intersection(path[-1:]))
)


def _iter_word_changes(change: Change) -> Iterator[Change]:
    """Yield each range of a list of plain values, such as args, that differs, as a change of a list.

    The value of an option comes with the option: ["--epochs", 90] and not [90].
    """
    before, after = change.old, change.new
    one, other = ([repr(word) for word in side] for side in (before, after))
    for i, j, k, m in _iter_stretches(one, other):
        words = (before[i:j] or after[k:m])[0]
        option = i > 0 and k > 0 and _is_option(before[i - 1]) and not _is_option(words)
        start, begin = (i - 1, k - 1) if option else (i, k)
        paths = (*change.old_path, i), (*change.new_path, k)
        yield Change(*paths, before[start:j] or ABSENT, after[begin:m] or ABSENT)


def _iter_stretches(one: list[str], other: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the ranges where two lists of words differ; long ranges without common words are one."""
    start, end = count_common_ends(one, other)
    left, right = (side[start : len(side) - end] for side in (one, other))
    if max(len(left), len(right)) > MAX_WORDS:
        yield start, len(one) - end, start, len(other) - end
        return
    for how, i, j, k, m in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if how != "equal":
            yield start + i, start + j, start + k, start + m


def _is_option(word: Any) -> bool:
    return isinstance(word, str) and word.startswith("-") and "=" not in word
