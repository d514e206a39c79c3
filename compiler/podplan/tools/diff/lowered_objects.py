"""Compares the lowered objects of one job: replica groups paired by name, and by common indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from podplan.core.indexed_text import Digest, IndexDigits, Indexed, Listing, RepeatedLine
from podplan.core.replica_groups import ReplicaGroup, find_name_text, find_object_name
from podplan.core.structural_diff import ABSENT
from podplan.tools.diff.document_changes import Delta, iter_document_changes

Renamer = Callable[[Any], Any]


class LoweredChange(NamedTuple):
    """A part that differs in ``objects`` of a kind and replica type, with the groups of both sides."""

    kind: str
    role: str
    objects: int
    delta: Delta
    before: ReplicaGroup | None
    after: ReplicaGroup | None


def iter_lowered_changes(
    before: Sequence[ReplicaGroup], after: Sequence[ReplicaGroup], rename: Renamer
) -> Iterator[LoweredChange]:
    """Yield the differences; ``rename`` replaces old names by new ones."""
    left, right = _index_by_name(before, rename), _index_by_name(after, lambda data: data)
    for key in [*left, *(key for key in right if key not in left)]:
        ours, theirs = left.get(key, []), right.get(key, [])
        yield from _iter_one_sided(ours, theirs, rename, gone=True)
        yield from _iter_one_sided(theirs, ours, lambda data: data, gone=False)
        for one in ours:
            for other in theirs:
                count = _overlap(one, other)
                if count:
                    yield from _iter_group_changes(one, other, count, rename)


def _iter_group_changes(
    one: ReplicaGroup, other: ReplicaGroup, count: int, rename: Renamer
) -> Iterator[LoweredChange]:
    if (
        one.doc.data == other.doc.data
        and one.doc.replica_texts == other.doc.replica_texts
        and one.start == other.start
    ):
        return
    for delta in iter_document_changes(rename(symbolize(one)), symbolize(other)):
        yield LoweredChange(str(other.doc.data["kind"]), other.replica_type, count, delta, one, other)


def _iter_one_sided(
    groups: Sequence[ReplicaGroup], others: Sequence[ReplicaGroup], rename: Renamer, *, gone: bool
) -> Iterator[LoweredChange]:
    """Yield the objects that exist on one side only, by name; consecutive indexes as one."""
    stretches: list[tuple[ReplicaGroup, int, int]] = []
    for group in sorted(groups, key=lambda group: group.start):
        for start, count in _iter_free_ranges(group, others):
            if stretches and sum(stretches[-1][1:]) == start:
                first, begin, before = stretches.pop()
                stretches.append((first, begin, before + count))
            else:
                stretches.append((group, start, count))
    for group, start, count in stretches:
        name = find_name_text(group.doc)
        if isinstance(name, Indexed):
            shown = rename(Listing((RepeatedLine(name, start, count),)).folded_text())
        else:
            shown = str(rename(find_object_name(group.doc)))
        delta = Delta((), (), "", shown if gone else ABSENT, ABSENT if gone else shown)
        sides = (group, None) if gone else (None, group)
        yield LoweredChange(str(group.doc.data["kind"]), group.replica_type, count, delta, *sides)


def _index_by_name(
    groups: Sequence[ReplicaGroup], rename: Renamer
) -> dict[tuple[str, str, str], list[ReplicaGroup]]:
    found: dict[tuple[str, str, str], list[ReplicaGroup]] = {}
    for group in groups:
        text = find_name_text(group.doc)
        name = _format_pattern(text) if isinstance(text, Indexed) else find_object_name(group.doc)
        key = str(group.doc.data["kind"]), group.replica_type, str(rename(name))
        found.setdefault(key, []).append(group)
    return found


def _overlap(one: ReplicaGroup, other: ReplicaGroup) -> int:
    """Return how many indexes two groups have in common."""
    first = max(one.start, other.start)
    return max(min(one.start + one.replicas, other.start + other.replicas) - first, 0)


def _iter_free_ranges(group: ReplicaGroup, others: Sequence[ReplicaGroup]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of indexes of a group that none of the others has: the first, and the count."""
    free = [(group.start, group.replicas)]
    for other in others:
        end = other.start + other.replicas
        cut = []
        for start, count in free:
            cut += [
                (start, min(count, other.start - start)),
                (max(start, end), start + count - max(start, end)),
            ]
        free = [(start, count) for start, count in cut if count > 0]
    yield from free


def symbolize(group: ReplicaGroup) -> Any:
    """Return the object of a group with ``{index}`` as the index, so that groups with other indexes
    compare."""
    data = deepcopy(group.doc.data)
    for path, text in group.doc.replica_texts.items():
        parent = data
        for step in path[:-1]:
            parent = parent[step]
        if isinstance(text, Indexed):
            parent[path[-1]] = _format_pattern(text)
        elif isinstance(text, Digest):
            parent[path[-1]] = f"sha1({_format_pattern(text.text)})"
        elif isinstance(text, Listing):
            pieces = (_format_pattern(one) if isinstance(one, Indexed) else one for one in text.pieces)
            parent[path[-1]] = Listing(tuple(pieces)).folded_text()
        else:
            parent[path[-1]] = text.folded_text()
    return data


def _format_pattern(text: Indexed) -> str:
    return "".join(part if isinstance(part, str) else _describe_index(part) for part in text.parts)


def _describe_index(part: int | IndexDigits) -> str:
    if isinstance(part, int):
        return f"{{index{f'+{part}' if part else ''}}}"
    return f"{{{'index' if part.modulus else 'job'}{f'+{part.offset}' if part.offset else ''}}}"
