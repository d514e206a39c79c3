"""The targets of `make fuzz` over what once broke them, and a few of the texts that they begin with."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import __main__ as fuzz
from tests.fuzz import whole
from tests.fuzz.mutating import mutated
from tests.fuzz.session import Asked, Keeping, picked
from tests.fuzz.targets import REGRESSIONS, TARGETS
from tests.fuzz.telling import told

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


@pytest.fixture
def as_with_atheris(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "find_spec", bool)


def instead_of_a_session(script: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a script run where a session would."""
    (folder / "session").write_text(script)
    (folder / "session").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "session"))


@pytest.mark.usefixtures("as_with_atheris")
def test_a_target_that_breaks_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A session that dies, as of a hang, is a failure and not a target without findings."""
    breaks = "#!/bin/sh\necho ImportError: it could not even begin\nexit 3\n"
    instead_of_a_session(breaks, tmp_path, monkeypatch)
    assert fuzz.main(["--seconds", "1", "--target", "quantities", "--folder", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "ended with 3; see" in printed
    assert "    ImportError: it could not even begin\n" in printed


SHORT, LONG, ODD = b"a: 1\n- b", bytes(range(256)) * 32, b"a:\t1 \r\n"
SESSION = """#!{python}
import subprocess
import sys
from pathlib import Path
folder = Path(sys.argv[4])
(folder / "found").mkdir(exist_ok=True)
for name, content in {inputs!r}.items():
    (folder / "found" / name).write_bytes(content)
    print(f"#7\\tNEW cov: 1\\nFOUND {{folder}}/found/{{name}}\\nTraceback\\nAssertionError: of {{name}}")
print("#8\\tNEW cov: 2 ft: 3\\nstat::number_of_executed_units: 9")
"""


@pytest.mark.usefixtures("as_with_atheris")
@pytest.mark.parametrize("most", [["--runs", "9"], ["--seconds", "1"]])
def test_what_is_found_can_be_made_again_from_what_is_printed(
    most: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The folder of a run elsewhere is gone: the reason and every byte of an input are in its output."""
    inputs = {"crash-1": SHORT, "crash-2": LONG, "crash-3": ODD}
    instead_of_a_session(SESSION.format(python=sys.executable, inputs=inputs), tmp_path, monkeypatch)
    asked = [*most, "--seed", "5", "--seeds", "3", "--target", "lower", "--folder", str(tmp_path)]
    assert fuzz.main(asked) == 1
    printed = capsys.readouterr().out
    assert re.search(r"\nlower                 9 +\d+        3  crash-1, crash-2, crash-3\n", printed)
    assert "    AssertionError: of crash-2\n" in printed
    assert "    a: 1\n    - b\n" in printed
    assert f'make fuzz ARGS="--target lower {" ".join(most)} --seed 5 --seeds 3"' in printed
    for line in printed.split("\n"):
        if line.startswith("    mkdir "):
            subprocess.run(["sh", "-c", line], cwd=tmp_path, check=True)
    made = tmp_path / "fixtures" / "fuzz" / "lower"
    assert {path.name: path.read_bytes() for path in made.iterdir()} == inputs


def test_what_libfuzzer_ends_is_told_by_the_end_of_the_log(tmp_path: Path) -> None:
    asked = Asked("lower", tmp_path, 1, 1, 5, 0)
    asked.log.write_text("\n".join(f"line {number}" for number in range(40)))
    (tmp_path / "timeout-1").write_bytes(b"a")
    printed = "\n".join(told(asked, [tmp_path / "timeout-1"], ""))
    assert "line 39" in printed
    assert "line 20" not in printed


def test_of_very_much_the_first_are_told_in_full(tmp_path: Path) -> None:
    asked = Asked("lower", tmp_path, 1, 1, 5, 0)
    asked.log.write_text("")
    found = [tmp_path / f"crash-{number}" for number in range(30)]
    for path in found:
        path.write_bytes(b"a")
    printed = "\n".join(told(asked, found, ""))
    assert printed.count("base64 -d") == 10
    assert all(path.name in printed for path in found)


@pytest.mark.usefixtures("as_with_atheris")
def test_a_red_run_is_red_again_with_the_same_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the first run left in its folder neither hides what the second finds, nor changes its inputs."""
    finds = SESSION.format(python=sys.executable, inputs={"crash-1": b"a"})
    instead_of_a_session(finds, tmp_path, monkeypatch)
    asked = ["--runs", "9", "--seed", "5", "--target", "lower", "--folder", str(tmp_path)]
    assert [fuzz.main(asked), fuzz.main(asked)] == [1, 1]
    stale = next(tmp_path.rglob("found")).parent / "corpus"
    stale.mkdir()
    fuzz.main(asked)
    assert not stale.exists()


def test_inputs_are_shared_so_that_time_is_shared_by_weight() -> None:
    asked = list(fuzz.shares(fuzz.parsed(["--runs", "100000", "--seed", "3", "--seconds", "77"])))
    assert [one.name for one in asked] == list(TARGETS)
    assert 99_000 < sum(one.runs for one in asked) <= 100_000 + len(asked)
    took = {one.name: one.runs / TARGETS[one.name].pace / TARGETS[one.name].weight for one in asked}
    assert max(took.values()) - min(took.values()) < 0.05
    assert {one.seed for one in asked} == {3}


@pytest.mark.usefixtures("as_with_atheris")
def test_a_seed_that_nobody_gives_is_another_each_time_and_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    asked = ["--target", "paths", "--folder", str(tmp_path)]
    assert fuzz.parsed(asked).seed != fuzz.parsed(asked).seed
    fuzz.main([*asked, "--seed", "77"])
    assert capsys.readouterr().out.startswith("seed 77\n")


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
