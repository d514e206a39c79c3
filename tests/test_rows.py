"""A table of rows is one test, which names every row that fails."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.rows import ROW, each_row


@pytest.fixture(autouse=True)
def without_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ROW, raising=False)


@each_row(("number", "is_even"), [(1, False), pytest.param(2, False, id="two"), (3, True), (4, True)])
def check_parity(number: int, is_even: bool) -> None:
    assert (number % 2 == 0) is is_even


def failure_of(check: object) -> str:
    with pytest.raises(pytest.fail.Exception) as caught:
        check()  # type: ignore[operator]
    return str(caught.value)


def test_every_row_that_fails_is_reported() -> None:
    first, *details = failure_of(check_parity).splitlines()
    test = os.environ["PYTEST_CURRENT_TEST"].partition(" ")[0]
    assert first.startswith("2 of 4 rows fail. To run one of them: PODPLAN_ROW=two ")
    assert first.endswith(f"pytest {test}")
    assert [line for line in details if line.startswith("---")] == ["--- two", "--- 3-True"]
    assert sum(f"{Path(__file__).name}:" in line and "AssertionError" in line for line in details) == 2


def test_one_row_can_be_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ROW, "4-True")
    check_parity()
    monkeypatch.setenv(ROW, "two")
    with pytest.raises(AssertionError):
        check_parity()


def test_an_unknown_row_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ROW, "five")
    with pytest.raises(AssertionError, match="no row 'five'"):
        check_parity()


def test_a_table_without_rows_fails() -> None:
    with pytest.raises(AssertionError, match="no rows"):
        each_row("number", [])(print)()


def test_rows_with_the_same_id_are_all_checked() -> None:
    seen: list[int] = []
    each_row("number", [1, 2], ids=lambda _: "same")(lambda number: seen.append(number))()
    assert seen == [1, 2]


def test_a_failure_by_pytest_is_reported_too() -> None:
    report = failure_of(each_row("number", [1, 2])(lambda number: pytest.fail(f"bad {number}")))
    assert "bad 1" in report
    assert "bad 2" in report


@each_row("number", lambda: range(3))
def test_fixtures_are_passed(number: int, tmp_path: Path) -> None:
    assert tmp_path.is_dir()
    assert number in range(3)


def test_a_sample_and_the_others_are_all_rows() -> None:
    seen: list[int] = []

    @each_row("number", range(7), every=3)
    def check(number: int) -> None:
        seen.append(number)

    (mark,) = check.pytestmark  # type: ignore[attr-defined]
    sample, others = mark.args[1]
    assert (sample.values, sample.marks) == ((True,), ())
    assert (others.values, [one.name for one in others.marks]) == ((False,), ["long"])
    check(is_sampled=True)
    assert seen == [0, 3, 6]
    check(is_sampled=False)
    assert sorted(seen) == list(range(7))
