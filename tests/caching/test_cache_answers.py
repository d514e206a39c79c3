"""A run says what it would say without a cache, in every format and of every mistake."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from podplan.cli.reports import FORMATS
from tests.caching.runs import Run, entries
from tests.command import BAD_JOB
from tests.golden_cases import FIXTURES
from tests.thoroughness import mark_long, mark_others

FOLDERS = sorted(path.name for path in (FIXTURES / "findings").iterdir() if path.is_dir())


def test_a_second_run_looks_up_what_the_first_one_said(tree: Path, check: Run) -> None:
    (tree / "jobs" / "job1.yaml").write_text(BAD_JOB)
    first, second = check(), check()
    assert (first.checked, second.checked) == (True, False)
    assert (first.code, first.out) == (second.code, second.out)
    assert first.code == 1
    assert check(cached=None).out == first.out
    assert len(entries(tree)) == 1


@pytest.mark.parametrize("format_", mark_others(FORMATS, every=3))
def test_every_format_says_the_same(tree: Path, check: Run, format_: str) -> None:
    for name in ("cr_schema", "environments"):
        shutil.copytree(FIXTURES / "findings" / name, tree / "jobs" / name)
    without = check(format_=format_, cached=None)
    first, second = check(format_=format_), check(format_=format_)
    assert not second.checked
    assert (without.code, without.out) == (first.code, first.out) == (second.code, second.out)


@pytest.mark.parametrize(
    "name", mark_long(FOLDERS, short=[name for name in FOLDERS if name != "policies"][::3])
)
def test_all_mistakes_are_found_again(tree: Path, check: Run, name: str) -> None:
    shutil.copytree(FIXTURES / "findings" / name, tree / "jobs", dirs_exist_ok=True)
    inventories = sorted(tree.glob("jobs/*/clusters/*.yaml"))
    flags = {"inventory": str(inventories[0])} if inventories else {}
    without, first, second = check(cached=None, **flags), check(**flags), check(**flags)
    assert (without.code, without.out) == (first.code, first.out) == (second.code, second.out)
    assert json.loads(second.out)["format"] == 1
