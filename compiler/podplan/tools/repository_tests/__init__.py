"""Tests of a user's repository: the examples of its policies, and golden renders of its profiles."""

from __future__ import annotations

from podplan.core.typing import NamedTuple


class FailedTest(NamedTuple):
    """A failed test: a sentence with a location (1-based line and column), and the lines of a diff if any."""

    file: str
    line: int
    column: int
    test: str
    message: str
    diff: tuple[str, ...] = ()


class CoveredItem(NamedTuple):
    """A policy or a profile, and its tests.

    ``tests`` are the verdicts of the examples of a policy, or the golden file of a profile. ``is_covered`` is
    whether they satisfy ``--require-tests``.
    """

    category: str
    name: str
    file: str
    tests: tuple[str, ...]
    is_covered: bool


class SuiteOutcome(NamedTuple):
    """The result of tests: how many ran, what they cover, failures, and the golden files that were written.

    ``limit_messages`` are about exceeded limits, each also the message of a failure.
    """

    test_count: int = 0
    covered_items: tuple[CoveredItem, ...] = ()
    failures: tuple[FailedTest, ...] = ()
    written: tuple[str, ...] = ()
    limit_messages: tuple[str, ...] = ()


def merge_outcomes(outcomes: tuple[SuiteOutcome, ...]) -> SuiteOutcome:
    """Merge several outcomes."""
    return SuiteOutcome(
        sum(one.test_count for one in outcomes),
        tuple(tested for one in outcomes for tested in one.covered_items),
        tuple(failure for one in outcomes for failure in one.failures),
        tuple(file for one in outcomes for file in one.written),
        tuple(sentence for one in outcomes for sentence in one.limit_messages),
    )
