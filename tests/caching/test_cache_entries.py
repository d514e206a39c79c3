"""Entries of the cache: which are believed, what is in none of them, and which go."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from podplan.cli import check_cache
from podplan.cli.reports import FORMATS
from tests.caching.runs import Run, entries
from tests.command import JOB


def damage_end(path: Path, _: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def damage_text(path: Path, _: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"code": 0', b'"code": 1'))


def empty(path: Path, _: Path) -> None:
    path.write_bytes(b"")


def open_to_others(path: Path, _: Path) -> None:
    path.chmod(0o666)


def link_elsewhere(path: Path, other: Path) -> None:
    path.rename(other)
    path.symlink_to(other)


def pipe(path: Path, _: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def wrong_shape(path: Path, _: Path) -> None:
    for body in (b"[]", b'{"code": true, "texts": ["x"], "record": {}}', b"[" * 100_000):
        path.write_bytes(check_cache._compute_checksum(path.stem, body).encode() + b"\n" + body)


def of_another_request(path: Path, _: Path) -> None:
    body = path.read_bytes().partition(b"\n")[2]
    path.write_bytes(check_cache._compute_checksum("0" * 40, body).encode() + b"\n" + body)


@pytest.mark.parametrize(
    "damage",
    [damage_end, damage_text, empty, open_to_others, link_elsewhere, pipe, wrong_shape, of_another_request],
)
def test_what_is_no_entry_is_not_believed(
    tree: Path, check: Run, damage: Callable[[Path, Path], None]
) -> None:
    first = check()
    damage(entries(tree)[0], tree.parent / "other")
    second = check()
    assert second.checked
    assert (second.code, second.out) == (first.code, first.out)
    assert not check().checked


def test_no_secret_is_kept(tree: Path, check: Run) -> None:
    secret = "hunter2-hunter2"
    (tree / "jobs" / "secret.yaml").write_text(
        f"apiVersion: v1\nkind: Secret\nmetadata: {{nmae: x}}\nstringData: {{password: {secret}}}\n---\n"
        + JOB.replace("args: [", f"env: [{{name: DB_PASSWORD, value: {secret}}}]\n          args: [")
    )
    for format_ in FORMATS:
        check(format_=format_)
    kept = b"".join(path.read_bytes() for path in entries(tree))
    assert b"DB_PASSWORD" in kept
    assert secret.encode() not in kept


def test_the_oldest_make_place(tree: Path) -> None:
    folder = tree.parent / "cache"
    folder.mkdir()
    for number in range(10):
        path = folder / f"{number}{check_cache.ENTRY_SUFFIX}"
        path.write_bytes(b"x" * 10)
        os.utime(path, (number, number))
    (folder / "of somebody else").write_text("x" * 100)
    assert check_cache.evict_entries(str(folder), 8, 10**6) == 2
    assert check_cache.evict_entries(str(folder), 8, 55) == 3
    assert [path.name for path in entries(tree)] == [
        *(f"{number}{check_cache.ENTRY_SUFFIX}" for number in range(5, 10)),
        "of somebody else",
    ]


def test_many_runs_leave_few_entries(tree: Path, check: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_cache, "MAX_ENTRIES", 2)
    for version in ("1.30", "1.31", "1.32", "1.33"):
        check(k8s_version=version)
    assert len(entries(tree)) == 2
    assert not check(k8s_version="1.33").checked


@pytest.mark.long
def test_two_runs_at_once(tree: Path) -> None:
    """Each says what it says alone, and one entry is left, and it is whole."""
    command = [sys.executable, "-m", "podplan", "check", "jobs", "--format", "json"]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
    said = {run.communicate()[0] for run in runs}
    assert len(said) == 1
    assert len(entries(tree)) == 1
    assert subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout in said


def test_what_a_killed_run_left_is_no_entry_and_goes(
    tree: Path, check: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tree.parent / "cache"
    folder.mkdir()
    left = folder / f"tmphalf{check_cache.ENTRY_SUFFIX}"
    left.write_bytes(b"half")
    os.utime(left, (1, 1))
    monkeypatch.setattr(check_cache, "MAX_ENTRIES", 1)
    assert check().checked
    assert not left.exists()
    assert not check().checked
