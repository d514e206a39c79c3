"""The targets of `make fuzz` over what once broke them, and a few of the texts that they begin with."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.fuzz import __main__ as fuzz
from tests.fuzz import whole
from tests.fuzz.mutating import mutated
from tests.fuzz.session import Keeping, picked
from tests.fuzz.targets import REGRESSIONS, TARGETS

KNOWN = sorted(path for path in REGRESSIONS.glob("*/*") if path.is_file())


@pytest.mark.parametrize("path", KNOWN, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_was_found_once_is_mended(path: Path) -> None:
    TARGETS[path.parent.name].run(path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_targets_take_what_they_begin_with(name: str) -> None:
    seeds = picked(TARGETS[name], 6)
    assert seeds
    for seed in seeds:
        TARGETS[name].run(seed)
    TARGETS[name].run(b"")


def test_what_is_found_is_of_a_target() -> None:
    assert {path.parent.name for path in KNOWN} <= TARGETS.keys()


def test_of_more_replicas_than_are_written_out_the_template_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: list[str] = []
    monkeypatch.setattr(whole, "_check_written", lambda text, _: written.append(text))
    whole.lower((REGRESSIONS / "lower" / "more_replicas_than_are_written_out").read_bytes())
    assert any("look-for-batch-worker-{0..1000000}" in text for text in written)


def test_what_fails_is_kept_once_for_each_place(tmp_path: Path) -> None:
    keep = Keeping(tmp_path)

    def fails(data: bytes) -> None:
        assert data != b"a", "a"
        assert data != b"b", "b"

    for data in (b"a", b"c", b"a", b"b", b"a"):
        keep.tried(fails, data)
    assert sorted(path.read_bytes() for path in tmp_path.iterdir()) == [b"a", b"b"]


def test_a_target_that_breaks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that dies, as of a hang, is a failure and not a target without findings."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    monkeypatch.setattr(fuzz, "find_spec", bool)  # as where atheris is
    done = fuzz.fuzzed("quantities", tmp_path, 1, 1)
    assert "ended with 1" in done.fault
    assert fuzz.main(["--seconds", "1", "--target", "quantities", "--folder", str(tmp_path)]) == 1


def test_without_atheris_it_fails_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fuzz, "find_spec", lambda _: None)
    assert fuzz.main(["--seconds", "1"]) == 2
    assert "atheris is not installed" in capsys.readouterr().err


def test_changes_are_the_same_for_the_same_seed_and_not_too_long() -> None:
    words, lines = [b"replicas: ", b"\n---\n"], [b"  a: 1", b"- b"]
    changed = [
        mutated(b"spec:\n  a: 1\n  b: 2\n", 24, seed, words, lines, lambda data, most: data[1:most])
        for seed in [*range(200), *range(200)]
    ]
    assert changed[:200] == changed[200:]
    assert max(map(len, changed)) <= 24
    assert len(set(changed)) > 100
