"""Line diff of two texts in time that grows with their lengths.

difflib is quadratic if every other line differs, and cubic at worst. Here lines that occur once in each list
are the anchors, as in Bram Cohen's patience diff (https://bramcohen.livejournal.com/73318.html), and difflib
compares only the lines between them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from podplan.core.typing import NamedTuple

MAX_COMPARED_PAIRS = 4_096  # pairs of lines between two anchors; longer ranges are reported as replaced
MAX_ANCHOR_ROUNDS = 20  # of anchors between anchors


class DiffRange(NamedTuple):
    """Lines ``start`` to ``end`` (0-based, end exclusive) that lines ``new_start`` to ``new_end`` replace."""

    start: int
    end: int
    new_start: int
    new_end: int


def iter_diff_ranges(before: Sequence[str], after: Sequence[str]) -> Iterator[DiffRange]:
    """Yield the ranges that differ, in order; the lines between two of them are equal in both lists."""
    stack = [(DiffRange(0, len(before), 0, len(after)), MAX_ANCHOR_ROUNDS)]
    while stack:
        whole, rounds = stack.pop()
        diff_range = _trim_common_lines(whole, before, after)
        anchors = (
            _find_anchors(diff_range, before, after)
            if rounds and _count_pairs(diff_range) > MAX_COMPARED_PAIRS
            else []
        )
        if anchors:
            ends = [
                (diff_range.start - 1, diff_range.new_start - 1),
                *anchors,
                (diff_range.end, diff_range.new_end),
            ]
            stack += [
                (DiffRange(a + 1, b, c + 1, d), rounds - 1) for (a, c), (b, d) in reversed([*pairwise(ends)])
            ]
        elif 0 < _count_pairs(diff_range) <= MAX_COMPARED_PAIRS:
            yield from _compare_lines(diff_range, before, after)
        elif diff_range.start < diff_range.end or diff_range.new_start < diff_range.new_end:
            yield diff_range


def iter_unified_diff(
    before: Sequence[str],
    after: Sequence[str],
    labels: tuple[str, str],
    line_end: str = "\n",
    context_lines: int = 3,
) -> Iterator[str]:
    """Yield the lines of a unified diff as difflib writes them; header lines end with ``line_end``."""
    for number, hunk in enumerate(_group_hunks(iter_diff_ranges(before, after), 2 * context_lines)):
        if number == 0:
            yield from (f"--- {labels[0]}{line_end}", f"+++ {labels[1]}{line_end}")
        start, last = max(hunk[0].start - context_lines, 0), hunk[-1]
        new_start = hunk[0].new_start - (hunk[0].start - start)
        trailing = min(context_lines, len(before) - last.end)
        spans = _format_range(start, last.end + trailing), _format_range(new_start, last.new_end + trailing)
        yield f"@@ -{spans[0]} +{spans[1]} @@{line_end}"
        for diff_range in hunk:
            yield from (f" {line}" for line in before[start : diff_range.start])
            yield from (f"-{line}" for line in before[diff_range.start : diff_range.end])
            yield from (f"+{line}" for line in after[diff_range.new_start : diff_range.new_end])
            start = diff_range.end
        yield from (f" {line}" for line in before[start : start + trailing])


def _trim_common_lines(diff_range: DiffRange, before: Sequence[str], after: Sequence[str]) -> DiffRange:
    """Return a range without the lines that are equal at its start and at its end."""
    start, end, new_start, new_end = diff_range
    while start < end and new_start < new_end and before[start] == after[new_start]:
        start, new_start = start + 1, new_start + 1
    while start < end and new_start < new_end and before[end - 1] == after[new_end - 1]:
        end, new_end = end - 1, new_end - 1
    return DiffRange(start, end, new_start, new_end)


def _count_pairs(diff_range: DiffRange) -> int:
    return (diff_range.end - diff_range.start) * (diff_range.new_end - diff_range.new_start)


def _find_anchors(
    diff_range: DiffRange, before: Sequence[str], after: Sequence[str]
) -> list[tuple[int, int]]:
    """Return the positions in both lists of lines that occur once in each, the longest sequence in the
    same order in both."""
    old, new = before[diff_range.start : diff_range.end], after[diff_range.new_start : diff_range.new_end]
    old_counts, new_counts = Counter(old), Counter(new)
    new_positions = {
        line: place for place, line in enumerate(new, diff_range.new_start) if new_counts[line] == 1
    }
    anchors = [
        (place, new_positions[line])
        for place, line in enumerate(old, diff_range.start)
        if line in new_positions and old_counts[line] == 1
    ]
    return _longest_increasing(anchors)


def _longest_increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest subsequence of pairs whose second numbers increase."""
    ends: list[int] = []  # the smallest second number at the end of a subsequence of each length
    numbers: list[int] = []  # the number of that pair
    predecessors: list[int] = []  # the pair before each pair
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        predecessors.append(numbers[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        numbers[length : length + 1] = [number]
    chosen = []
    current = numbers[-1] if numbers else -1
    while current >= 0:
        chosen.append(pairs[current])
        current = predecessors[current]
    return chosen[::-1]


def _compare_lines(diff_range: DiffRange, before: Sequence[str], after: Sequence[str]) -> Iterator[DiffRange]:
    from difflib import SequenceMatcher

    old, new = before[diff_range.start : diff_range.end], after[diff_range.new_start : diff_range.new_end]
    for operation, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if operation != "equal":
            yield DiffRange(
                diff_range.start + i, diff_range.start + j, diff_range.new_start + k, diff_range.new_start + m
            )


def _group_hunks(diff_ranges: Iterator[DiffRange], max_gap: int) -> Iterator[list[DiffRange]]:
    """Group ranges with at most ``max_gap`` lines between them."""
    hunk: list[DiffRange] = []
    for diff_range in diff_ranges:
        if hunk and diff_range.start - hunk[-1].end > max_gap:
            yield hunk
            hunk = []
        hunk.append(diff_range)
    if hunk:
        yield hunk


def _format_range(start: int, end: int) -> str:
    """Format a range of a hunk header, such as ``3,2``: first line (1-based) and count."""
    length = end - start
    return str(start + 1) if length == 1 else f"{start + 1 if length else start},{length}"
