"""Where two lists of lines differ: as difflib says it of short ones, and in proportion for long ones."""

from __future__ import annotations

from collections.abc import Callable
from difflib import unified_diff
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podplan.core.text_diff import MAX_COMPARED_PAIRS, iter_diff_ranges, iter_unified_diff
from tests.work_counts import work

Shape = Callable[[int], tuple[list[str], list[str]]]
LINES = st.lists(st.sampled_from("abcdefgh"), max_size=30)


def made(before: list[str], after: list[str]) -> list[str]:
    """``before`` with its stretches replaced, and those that are not told shown to be the same."""
    out: list[str] = []
    at = 0
    for start, end, new_start, new_end in iter_diff_ranges(before, after):
        assert start >= at
        out += before[at:start] + after[new_start:new_end]
        assert after[: len(out)] == out
        at = end
    return out + before[at:]


@given(LINES, LINES, st.integers(min_value=1, max_value=20))
def test_the_stretches_make_one_list_of_the_other(before: list[str], after: list[str], times: int) -> None:
    assert made(before, after) == after
    numbered = [f"{number} {line}" for number in range(times) for line in before]
    assert made(before * times + numbered, numbered + after * times) == numbered + after * times


@given(LINES)
def test_equal_lists_have_no_difference(lines: list[str]) -> None:
    assert list(iter_diff_ranges(lines, lines)) == []
    assert list(iter_unified_diff(lines, lines, ("a", "b"))) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("abc", ""),
        ("", "abc"),
        ("a", "b"),
        ("abcdefghijkl", "abcdeXghijkl"),
        ("abcdefghijklmno", "Xbcdefghijklmn"),
    ],
)
@pytest.mark.parametrize("around", [0, 1, 3])
def test_a_unified_diff_is_written_as_difflib_writes_it(before: str, after: str, around: int) -> None:
    said = iter_unified_diff(list(before), list(after), ("one", "other"), "", around)
    assert list(said) == list(unified_diff(before, after, "one", "other", lineterm="", n=around))


class Line(str):
    """A line of which each look at it is a call."""

    def __hash__(self) -> int:
        return str.__hash__(self)

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other)


def alternating(number: int) -> tuple[list[str], list[str]]:
    """Every other line differs."""
    before = [f"line {each}" for each in range(number)]
    return before, [line if each % 2 else f"{line}!" for each, line in enumerate(before)]


def two_words(number: int) -> tuple[list[str], list[str]]:
    """Nothing is there once, and nearly everything often."""
    return ["xy"[each % 3 == 0] for each in range(number)], ["xy"[each % 5 == 0] for each in range(number)]


def one_anchor_after_the_other(number: int) -> tuple[list[str], list[str]]:
    """Each line is there twice, and once in what is left when the one before it was the anchor."""
    before = [f"{each + 2 * (place == 0) - place}" for each in range(number // 2) for place in (0, 1)]
    return before, [line for each, line in enumerate(before) for line in (line, f"new {each}")]


@pytest.mark.parametrize("shape", [alternating, two_words, one_anchor_after_the_other])
def test_four_times_the_lines_take_four_times_the_work(shape: Shape) -> None:
    def compared(number: int) -> None:
        before, after = shape(number)
        list(iter_diff_ranges([*map(Line, before)], [*map(Line, after)]))

    few, many = (work(partial(compared, number)) for number in (500, 2_000))
    assert many < 6 * few


def test_what_has_no_anchor_is_compared_where_it_is_short() -> None:
    side = int(MAX_COMPARED_PAIRS**0.5)
    for length, whole in ((side, False), (side + 20, True)):
        before, after = two_words(length)
        assert made(before, after) == after
        assert (len(list(iter_diff_ranges(before, after))) == 1) == whole
