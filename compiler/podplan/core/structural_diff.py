"""Structural diff of two documents: mappings by key, lists by what identifies their entries.

``DiffRules`` states what counts as a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from podplan.core.findings import Path
from podplan.core.path_syntax import index_by_key
from podplan.core.typing import Any, NamedTuple


class Absent:
    """The type of ABSENT, which marks a missing value."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()
EntryIndexes = dict[tuple[Any, ...], int]


class Change(NamedTuple):
    """A part that differs: its path and value in both documents, ABSENT if a document lacks it.

    In the document that lacks the part, the path ends with the step that it has in the other. With
    ``order_only`` both are lists with the same entries in another order, and the values are their names.
    """

    old_path: Path
    new_path: Path
    old: Any
    new: Any
    order_only: bool = False


def is_same_data(left: Any, right: Any) -> bool:
    """Whether two values are equal as JSON: 1, 1.0, true and "1" all differ."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(is_same_data(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(is_same_data, left, right))
    return type(left) is type(right) and bool(left == right)


def index_by_place(old: list[Any], new: list[Any]) -> tuple[EntryIndexes, EntryIndexes]:
    """Pair the entries of two lists by their index."""
    return index_by_key(old, ()), index_by_key(new, ())


class DiffRules(NamedTuple):
    """What counts as a difference.

    ``index_entries`` returns the keys of the entries of two lists at a path; entries with equal keys are
    compared; without it, lists are compared as values. ``is_equal`` compares values. Lists for which
    ``is_ordered`` is true differ by their order, too. A part that only one document has is no difference if
    ``is_ignored``, which also gets the mapping or list that contains it; if ``expands``, its children are
    reported instead of the whole.
    """

    index_entries: Callable[[Path, list[Any], list[Any]], tuple[EntryIndexes, EntryIndexes] | None]
    is_equal: Callable[[Path, Any, Any], bool] = lambda _, old, new: is_same_data(old, new)
    is_ordered: Callable[[Path], bool] = lambda _: False
    is_ignored: Callable[[Change, Any], bool] = lambda *_: False
    expands: Callable[[Change], bool] = lambda _: False


def iter_changes(old: Any, new: Any, rules: DiffRules) -> Iterator[Change]:
    """Yield the parts that differ, in the order of ``old``, then the new ones.

    A null in a mapping counts as absent.
    """
    yield from _compare_values(rules, Change((), (), old, new))


def _compare_values(rules: DiffRules, pair: Change) -> Iterator[Change]:
    old, new = pair.old, pair.new
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            values = [side[key] if side.get(key) is not None else ABSENT for side in (old, new)]
            yield from _compare_parts(rules, pair, key, key, *values)
    elif (
        isinstance(old, list)
        and isinstance(new, list)
        and (indexes := rules.index_entries(pair.new_path, old, new))
    ):
        yield from _compare_lists(rules, pair, *indexes)
    elif not rules.is_equal(pair.old_path, old, new):
        yield pair


def _compare_parts(
    rules: DiffRules, whole: Change, old_step: str | int, new_step: str | int, old: Any, new: Any
) -> Iterator[Change]:
    pair = Change((*whole.old_path, old_step), (*whole.new_path, new_step), old, new)
    if old is not ABSENT and new is not ABSENT:
        yield from _compare_values(rules, pair)
    elif old is new or rules.is_ignored(pair, whole.new if old is ABSENT else whole.old):
        return
    elif rules.expands(pair):
        empty = type(new if old is ABSENT else old)()
        yield from _compare_values(
            rules, pair._replace(old=empty) if old is ABSENT else pair._replace(new=empty)
        )
    else:
        yield pair


def _compare_lists(
    rules: DiffRules, pair: Change, old_indexes: EntryIndexes, new_indexes: EntryIndexes
) -> Iterator[Change]:
    old, new = pair.old, pair.new
    if old == new and repr(old) == repr(new):
        return
    for key, old_index in old_indexes.items():
        new_index = new_indexes.get(key)
        new_entry = ABSENT if new_index is None else new[new_index]
        new_step = old_index if new_index is None else new_index
        yield from _compare_parts(rules, pair, old_index, new_step, old[old_index], new_entry)
    for key, new_index in new_indexes.items():
        if key not in old_indexes:
            yield from _compare_parts(rules, pair, new_index, new_index, ABSENT, new[new_index])
    if rules.is_ordered(pair.new_path):
        old_order = [key for key in old_indexes if key in new_indexes]
        new_order = [key for key in new_indexes if key in old_indexes]
        if old_order != new_order:
            names = [[str(key[0]) for key in order] for order in (old_order, new_order)]
            yield pair._replace(old=names[0], new=names[1], order_only=True)


def count_common_ends(old: Sequence[Any], new: Sequence[Any]) -> tuple[int, int]:
    """Return how many entries two lists have in common at the start, and after that at the end."""
    shorter = min(len(old), len(new))
    start = next((number for number in range(shorter) if old[number] != new[number]), shorter)
    remaining = shorter - start
    end = next((number for number in range(remaining) if old[-1 - number] != new[-1 - number]), remaining)
    return start, end
