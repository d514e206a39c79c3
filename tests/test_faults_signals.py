"""Signals at any moment of a run, not only where it does something to a file (tests/test_faults.py).

A moment is a line that is run, or a bytecode of the modules that write files (tests/fault_injection.py).
`make test` and `make thorough` have a few of them, spread over the run; `make faults` has each bytecode, and
a hundred lines of each command.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest

from tests.fault_injection import AGAIN, SIGNALS, UNCAUGHT, End, Faulty, faulty
from tests.test_faults import COMMANDS, check_whole, made, tree, with_cache
from tests.thoroughness import mark_long

HEEDED = ("term", "hup", "int")
CACHED = "check repository --cache-dir cache"
LONGER = ("fix", "import")
SHORT, LONG = 6, 100  # moments of a run that are tried
LAST = 9  # steps that a run may have less than another: folders list their files in any order
BETWEEN = 10  # bytecodes between the making of a file and the keeping of its name are a few more
KEEPING = 900  # bytecodes at the end of a run, in which an entry is written to the cache


@pytest.fixture(scope="module")
def runs() -> Iterator[Faulty]:
    with faulty() as found:
        yield found


@pytest.fixture
def moments(pytestconfig: pytest.Config) -> int:
    return LONG if pytestconfig.getoption("every_step") else SHORT


def spread(first: int, last: int, count: int) -> range:
    """About so many moments from the first to the last, at equal distances."""
    return range(first, last, max((last - first) // count, 1))


def check_end(end: End, fault: str, clean: End) -> None:
    """The number of the signal, and not a word but those of a run that is over."""
    assert end.code in (-SIGNALS[fault], 128 + SIGNALS[fault])
    assert end.err in ("", clean.err)
    assert end.out in ("", clean.out)


def count_steps(runs: Faulty, command: str, folder: Path, steps: str) -> int:
    """The steps of an undisturbed run. The first run is not counted: Python may compile modules in it."""
    for name in ("warm", "counted"):
        end = runs.run(made(folder / name), command.split(), steps=steps)
    return end.steps


def swept(runs: Faulty, command: str, folder: Path, steps: str, moments: range) -> list[int]:
    """The exit codes of runs that are told to end at these moments; each leaves the files as it should."""
    arguments = command.split()
    before = tree(made(folder / "clean"))
    clean = runs.run(folder / "clean", arguments)
    after = tree(folder / "clean")
    codes = []
    for step, fault in zip(moments, cycle(HEEDED), strict=False):
        there = made(folder / str(step))
        end = runs.run(there, arguments, fault, step, steps)
        check_end(end, fault, clean)
        check_whole(tree(there), before, after, fault)
        codes.append(end.code)
    return codes


@pytest.mark.parametrize("name", mark_long(COMMANDS, short=()))
def test_signals_at_any_line(runs: Faulty, name: str, tmp_path: Path, moments: int) -> None:
    lines = count_steps(runs, COMMANDS[name], tmp_path, "lines")
    swept(runs, COMMANDS[name], tmp_path, "lines", spread(0, lines - LAST, moments))


@pytest.mark.parametrize("name", mark_long(["fmt", *LONGER], short=[]))
def test_signals_at_any_bytecode_of_writing(runs: Faulty, name: str, tmp_path: Path, moments: int) -> None:
    """One between the making of a file and the keeping of its name left the file lying about."""
    count = count_steps(runs, COMMANDS[name], tmp_path, "writing")
    last = count - LAST
    steps = range(last) if moments == LONG else range(last // 2, last, BETWEEN)
    assert 128 + SIGNALS["term"] in swept(runs, COMMANDS[name], tmp_path, "writing", steps)


@pytest.mark.long
def test_signals_at_any_bytecode_of_the_cache(runs: Faulty, tmp_path: Path, moments: int) -> None:
    """The next run has the same verdict, and finds a whole entry or none."""
    arguments = CACHED.split()
    clean = runs.run(with_cache(tmp_path / "clean"), arguments)
    count = runs.run(with_cache(tmp_path / "counted"), arguments, steps="writing").steps
    for step, fault in zip(spread(count - KEEPING, count - LAST, moments), cycle(HEEDED), strict=False):
        folder = with_cache(tmp_path / str(step))
        check_end(runs.run(folder, arguments, fault, step, "writing"), fault, clean)
        assert runs.run(folder, arguments)[:3] == clean[:3]


@pytest.mark.long
def test_a_signal_that_comes_again_while_a_run_ends(runs: Faulty, tmp_path: Path) -> None:
    """Whoever is impatient leaves no more lying about than who is not."""
    arguments = COMMANDS["fix"].split()
    before = tree(made(tmp_path / "clean"))
    clean = runs.run(tmp_path / "clean", arguments)
    after = tree(tmp_path / "clean")
    for step in range(clean.steps - 12, clean.steps):
        folder = made(tmp_path / str(step))
        check_end(runs.run(folder, arguments, AGAIN, step), "term", clean)
        check_whole(tree(folder), before, after, "term")


@pytest.mark.long
@pytest.mark.parametrize("name", UNCAUGHT)
def test_signals_that_nobody_catches(runs: Faulty, name: str, tmp_path: Path) -> None:
    """They are as SIGKILL, for when nothing else helps; a write to no reader is an error, and not SIGPIPE."""
    arguments = COMMANDS["fix"].split()
    before = tree(made(tmp_path / "clean"))
    clean = runs.run(tmp_path / "clean", arguments)
    after = tree(tmp_path / "clean")
    for step in range(clean.steps - 8, clean.steps):
        folder = made(tmp_path / str(step))
        end = runs.run(folder, arguments, name, step)
        check_whole(tree(folder), before, after, "kill")
        assert end == clean if name == "pipe" else end.code == -UNCAUGHT[name]
