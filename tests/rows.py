"""Tables of rows that one test checks: every row that fails is reported by its id.

With hundreds of rows a parametrised test would cost more than the check itself.
"""

from __future__ import annotations

import functools
import inspect
import os
import shlex
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

SAMPLED = "is_sampled"  # the parameter of a test whose rows run in two parts
ROW = "PODPLAN_ROW"  # the id of the only row to run, with its whole traceback
FAILURES = (Exception, pytest.fail.Exception)

Check = Callable[..., None]
Rows = Iterable[Any] | Callable[[], Iterable[Any]]
Ids = Iterable[str] | Callable[[Any], object] | None


def each_row(
    names: str | Sequence[str], rows: Rows, ids: Ids = None, *, every: int = 1
) -> Callable[[Check], Check]:
    """Like ``pytest.mark.parametrize``, as one test. Rows that are read from files can be a function.

    With ``every``, only each n-th row runs, and the others with --thorough.
    """
    columns = [names] if isinstance(names, str) else list(names)

    def decorate(check: Check) -> Check:
        @functools.wraps(check)
        def run(**fixtures: Any) -> None:
            is_sampled = fixtures.pop(SAMPLED, None)
            table = list_rows(columns, rows() if callable(rows) else rows, ids)
            if is_sampled is not None and ROW not in os.environ:
                table = {
                    name: row
                    for number, (name, row) in enumerate(table.items())
                    if (number % every == 0) == is_sampled
                }
            check_rows(functools.partial(check, **fixtures), table)

        signature = inspect.signature(check)
        parameters = [one for name, one in signature.parameters.items() if name not in columns]
        if every == 1:
            run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
            return run
        parameters.append(inspect.Parameter(SAMPLED, inspect.Parameter.KEYWORD_ONLY))
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        parts = [pytest.param(True, id="sample"), pytest.param(False, id="others", marks=pytest.mark.long)]
        in_parts: Check = pytest.mark.parametrize(SAMPLED, parts)(run)
        return in_parts

    return decorate


def list_rows(columns: Sequence[str], rows: Iterable[Any], ids: Ids) -> dict[str, dict[str, Any]]:
    """The arguments of each row by its id; rows with the same id are numbered, as pytest does."""
    given = [] if ids is None or callable(ids) else list(ids)
    name_of = ids if callable(ids) else str
    table: dict[str, dict[str, Any]] = {}
    for number, row in enumerate(rows):
        marked = isinstance(row, type(pytest.param()))
        values = row.values if marked else (row,) if len(columns) == 1 else row
        name = row.id if marked else given[number] if given else None
        name = name or "-".join(str(name_of(value)) for value in values)
        table[name if name not in table else f"{name} #{number}"] = dict(zip(columns, values, strict=True))
    return table


def check_rows(check: Check, table: dict[str, dict[str, Any]]) -> None:
    """Fail with the ids of all rows for which ``check`` fails."""
    assert table, "no rows"
    only = os.environ.get(ROW)
    if only is not None:
        assert only in table, f"no row {only!r}"
        check(**table[only])
        return
    failures: dict[str, str] = {}
    for name, arguments in table.items():
        try:
            check(**arguments)
        except FAILURES as error:
            failures[name] = describe_failure(error)
    if failures:
        pytest.fail(report_failures(failures, len(table)), pytrace=False)


def describe_failure(error: BaseException) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{frame.filename}:{frame.lineno}: {type(error).__name__}: {error}"


def report_failures(failures: dict[str, str], total: int) -> str:
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    one = f"{ROW}={shlex.quote(next(iter(failures)))} .venv/bin/python -m pytest {shlex.quote(test)}"
    lines = [f"{len(failures)} of {total} rows fail. To run one of them: {one}"]
    for name, failure in failures.items():
        lines += [f"--- {name}", failure]
    return "\n".join(lines)
