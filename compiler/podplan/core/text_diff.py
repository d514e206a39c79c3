"""Where two lists of lines differ, in time that grows with their lengths.

difflib takes the square of them where every other line differs, and the cube at worst. Here lines that each
list has once are the anchors, as in Bram Cohen's patience diff (https://bramcohen.livejournal.com/73318.html),
and difflib has the little that stands between them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from podplan.core.typing import NamedTuple

MAX_COMPARED = 4_096  # pairs of lines of two stretches without an anchor: others differ as a whole
MAX_ROUNDS = 20  # of anchors between anchors


class Stretch(NamedTuple):
    """Lines ``start`` to ``end`` (0-based, the end exclusive), in whose place ``new_start`` to ``new_end``
    are."""

    start: int
    end: int
    new_start: int
    new_end: int


def stretches(before: Sequence[str], after: Sequence[str]) -> Iterator[Stretch]:
    """The stretches that differ, in order; what is between two of them is the same in both lists."""
    waiting = [(Stretch(0, len(before), 0, len(after)), MAX_ROUNDS)]
    while waiting:
        whole, rounds = waiting.pop()
        one = _trimmed(whole, before, after)
        anchors = _anchors(one, before, after) if rounds and _pairs(one) > MAX_COMPARED else []
        if anchors:
            ends = [(one.start - 1, one.new_start - 1), *anchors, (one.end, one.new_end)]
            waiting += [
                (Stretch(a + 1, b, c + 1, d), rounds - 1) for (a, c), (b, d) in reversed([*pairwise(ends)])
            ]
        elif 0 < _pairs(one) <= MAX_COMPARED:
            yield from _compared(one, before, after)
        elif one.start < one.end or one.new_start < one.new_end:
            yield one


def unified(
    before: Sequence[str], after: Sequence[str], names: tuple[str, str], end: str = "\n", around: int = 3
) -> Iterator[str]:
    """The lines of a unified diff, as difflib writes them; those of its own have ``end`` at their end."""
    for number, hunk in enumerate(_hunks(stretches(before, after), 2 * around)):
        if number == 0:
            yield from (f"--- {names[0]}{end}", f"+++ {names[1]}{end}")
        start, last = max(hunk[0].start - around, 0), hunk[-1]
        new_start = hunk[0].new_start - (hunk[0].start - start)
        behind = min(around, len(before) - last.end)
        spans = _span(start, last.end + behind), _span(new_start, last.new_end + behind)
        yield f"@@ -{spans[0]} +{spans[1]} @@{end}"
        for one in hunk:
            yield from (f" {line}" for line in before[start : one.start])
            yield from (f"-{line}" for line in before[one.start : one.end])
            yield from (f"+{line}" for line in after[one.new_start : one.new_end])
            start = one.end
        yield from (f" {line}" for line in before[start : start + behind])


def _trimmed(one: Stretch, before: Sequence[str], after: Sequence[str]) -> Stretch:
    """A stretch without the lines that are the same at its beginning and at its end."""
    start, end, new_start, new_end = one
    while start < end and new_start < new_end and before[start] == after[new_start]:
        start, new_start = start + 1, new_start + 1
    while start < end and new_start < new_end and before[end - 1] == after[new_end - 1]:
        end, new_end = end - 1, new_end - 1
    return Stretch(start, end, new_start, new_end)


def _pairs(one: Stretch) -> int:
    return (one.end - one.start) * (one.new_end - one.new_start)


def _anchors(one: Stretch, before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """The places in both lists of lines that are once in each: as many as follow on one another in both."""
    old, new = before[one.start : one.end], after[one.new_start : one.new_end]
    times, new_times = Counter(old), Counter(new)
    places = {line: place for place, line in enumerate(new, one.new_start) if new_times[line] == 1}
    found = [
        (place, places[line])
        for place, line in enumerate(old, one.start)
        if line in places and times[line] == 1
    ]
    return _rising(found)


def _rising(places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest choice of pairs, in their order, whose second numbers rise."""
    ends: list[int] = []  # the least second number that a choice of each length ends with
    numbers: list[int] = []  # which pair that is
    before: list[int] = []  # the pair before each pair
    for number, (_, place) in enumerate(places):
        length = bisect_left(ends, place)
        before.append(numbers[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        numbers[length : length + 1] = [number]
    chosen = []
    at = numbers[-1] if numbers else -1
    while at >= 0:
        chosen.append(places[at])
        at = before[at]
    return chosen[::-1]


def _compared(one: Stretch, before: Sequence[str], after: Sequence[str]) -> Iterator[Stretch]:
    from difflib import SequenceMatcher

    old, new = before[one.start : one.end], after[one.new_start : one.new_end]
    for how, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if how != "equal":
            yield Stretch(one.start + i, one.start + j, one.new_start + k, one.new_start + m)


def _hunks(found: Iterator[Stretch], apart: int) -> Iterator[list[Stretch]]:
    """Stretches with at most so many lines between them, together."""
    hunk: list[Stretch] = []
    for one in found:
        if hunk and one.start - hunk[-1].end > apart:
            yield hunk
            hunk = []
        hunk.append(one)
    if hunk:
        yield hunk


def _span(start: int, end: int) -> str:
    """Such as ``3,2``: the first line, 1-based, and how many; of none the line before, of one only that."""
    length = end - start
    return str(start + 1) if length == 1 else f"{start + 1 if length else start},{length}"
