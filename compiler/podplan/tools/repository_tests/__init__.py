"""Tests of a user's own repository: the examples of its policies, and golden renders of its profiles."""

from __future__ import annotations

from podplan.core.typing import NamedTuple


class FailedTest(NamedTuple):
    """What a test found: a sentence at a place (1-based line and column), with the lines of a diff if any."""

    file: str
    line: int
    column: int
    test: str
    message: str
    diff: tuple[str, ...] = ()


class CoveredItem(NamedTuple):
    """A policy or a profile, and the tests that it has.

    ``tests`` are the verdicts of the examples of a policy, or the golden file of a profile. ``enough`` is
    whether ``--require-tests`` is content with them.
    """

    category: str
    name: str
    file: str
    tests: tuple[str, ...]
    is_covered: bool


class SuiteOutcome(NamedTuple):
    """What came of tests: how many ran, what they are of, failures, and the golden files that are new.

    ``given_up`` are the sentences about bounds that were reached, each of a failure as well.
    """

    test_count: int = 0
    covered_items: tuple[CoveredItem, ...] = ()
    failures: tuple[FailedTest, ...] = ()
    written: tuple[str, ...] = ()
    limit_messages: tuple[str, ...] = ()


def merge_outcomes(outcomes: tuple[SuiteOutcome, ...]) -> SuiteOutcome:
    """Several outcomes as one."""
    return SuiteOutcome(
        sum(one.test_count for one in outcomes),
        tuple(tested for one in outcomes for tested in one.covered_items),
        tuple(failure for one in outcomes for failure in one.failures),
        tuple(file for one in outcomes for file in one.written),
        tuple(sentence for one in outcomes for sentence in one.limit_messages),
    )
