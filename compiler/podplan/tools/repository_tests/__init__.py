"""Tests of a user's own repository: the examples of its policies, and golden renders of its profiles."""

from __future__ import annotations

from podplan.core.typing import NamedTuple


class Failure(NamedTuple):
    """What a test found: a sentence at a place (1-based line and column), with the lines of a diff if any."""

    file: str
    line: int
    column: int
    test: str
    message: str
    diff: tuple[str, ...] = ()


class Tested(NamedTuple):
    """A policy or a profile, and the tests that it has.

    ``tests`` are the verdicts of the examples of a policy, or the golden file of a profile. ``enough`` is
    whether ``--require-tests`` is content with them.
    """

    what: str
    name: str
    file: str
    tests: tuple[str, ...]
    enough: bool


class Outcome(NamedTuple):
    """What came of tests: how many ran, what they are of, failures, and the golden files that are new.

    ``given_up`` are the sentences about bounds that were reached, each of a failure as well.
    """

    ran: int = 0
    tested: tuple[Tested, ...] = ()
    failures: tuple[Failure, ...] = ()
    written: tuple[str, ...] = ()
    given_up: tuple[str, ...] = ()


def together(outcomes: tuple[Outcome, ...]) -> Outcome:
    """Several outcomes as one."""
    return Outcome(
        sum(one.ran for one in outcomes),
        tuple(tested for one in outcomes for tested in one.tested),
        tuple(failure for one in outcomes for failure in one.failures),
        tuple(file for one in outcomes for file in one.written),
        tuple(sentence for one in outcomes for sentence in one.given_up),
    )
