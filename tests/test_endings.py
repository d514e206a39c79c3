"""How runs end when the world around them does not hold: streams, disks, locales, other runs."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click
import pytest

from podplan.cli import commands
from tests.command import BAD_JOB, JOB, PODPLAN, PROFILE, Run, podplan
from tests.thoroughness import mark_long, mark_others

UGLY = "kind: JobProfile\napiVersion: podplan/v1\nspec: {job: GenericJob, image: a}\nmetadata: {name: a}\n"
UNPINNED = JOB.replace("busybox:1.36", "busybox:latest")


def in_shell(line: str, cwd: Path) -> Run:
    """A line of bash in which $PODPLAN is podplan; the exit code is that of the first of a pipe."""
    command = f'podplan() {{ {PODPLAN[0]} -m podplan "$@"; }}\n{line}\nexit ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", command], cwd=cwd, capture_output=True, timeout=120, check=False)
    run = Run(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
    for sign in ("Traceback", "Exception ignored", "internal error"):
        assert sign not in run.out + run.err, run.err
    return run


# --- streams


# Images of containers set PYTHONUNBUFFERED; a stream then takes as much as it can and says how much.
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.long
def test_a_reader_that_goes_away_is_no_verdict(many: Path, unbuffered: str) -> None:
    run = in_shell(f"PYTHONUNBUFFERED={unbuffered} podplan check jobs.yaml | head -c 1", many)
    assert (run.code, len(run.out), run.err) == (128 + signal.SIGPIPE, 1, "")


@pytest.mark.parametrize("unbuffered", mark_long(["", "1"], short=[""]))
@pytest.mark.parametrize(
    "command",
    ["check bad.yaml", "check bad.yaml --no-cache", "explain IMG002", "rules", "--help", "--version"],
)
def test_no_reader_at_all(many: Path, command: str, unbuffered: str) -> None:
    """Click, which reads the command line where there are options, makes 1 of it, as for findings."""
    ours, theirs = os.pipe()
    os.close(ours)
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(
        [*PODPLAN, *command.split()],
        cwd=many,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=environment,
        check=False,
    )
    os.close(theirs)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


@pytest.mark.parametrize("unbuffered", mark_long(["", "1"], short=[""]))
def test_a_report_that_the_disk_takes_only_in_part(many: Path, unbuffered: str) -> None:
    line = f"(ulimit -f 8; PYTHONUNBUFFERED={unbuffered} podplan check jobs.yaml >part.txt)"
    run = in_shell(line, many)
    assert (run.code, run.err) == (2, "podplan: cannot write to standard output: file too large\n")


@pytest.mark.parametrize(
    ("line", "code"),
    mark_others(
        [
            ("podplan check bad.yaml 2>/dev/full >/dev/null", 1),
            ("podplan check bad.yaml 2>&- >/dev/null", 1),
            ("podplan check nowhere 2>/dev/full", 3),
            ("podplan check nowhere 2>&-", 3),
            ("podplan check --no-such-option 2>/dev/full", 2),
            ("podplan check bad.yaml >&-", 2),
            ("podplan check bad.yaml >&- 2>&-", 2),
            ("podplan check bad.yaml >/dev/full", 2),
            ("podplan check bad.yaml >/dev/full 2>/dev/full", 2),
            ("podplan check - <&-", 2),
            ("podplan lsp <&-", 2),
            ("podplan fmt --check bad.yaml 2>/dev/full", 3),
        ],
        every=3,
        columns=2,
    ),
)
def test_streams_that_are_closed_or_full(many: Path, line: str, code: int) -> None:
    assert in_shell(line, many).code == code


# --- disks and rights


def limited(arguments: Sequence[str], cwd: Path, prepare: Callable[[], None]) -> Run:
    """podplan in a process that is ``prepare``\\ d; it keeps no compiled modules, which would be cut off."""
    done = subprocess.run(
        [sys.executable, "-B", *PODPLAN[1:], *arguments],
        cwd=cwd,
        capture_output=True,
        preexec_fn=prepare,
        timeout=60,
        check=False,
    )
    return Run(done.returncode, done.stdout.decode(), done.stderr.decode())


WRITING = {
    "fmt": ("fmt", "."),
    "fix": ("check", "--fix", "--unsafe-fixes", "bad.yaml"),
    "render": ("render", "profile.yaml", "-o", "out"),
    "baseline": ("baseline", "create", "bad.yaml"),
    "report": ("check", "bad.yaml", "--output", "json=report.json"),
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in (("ugly", UGLY), ("bad", BAD_JOB), ("profile", PROFILE)):
        (tmp_path / f"{name}.yaml").write_text(text)
    (tmp_path / "report.json").write_text("{}\n")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", mark_others(WRITING, every=2))
def test_a_disk_that_is_full(tree: Path, name: str) -> None:
    """A file may grow to 16 bytes, and no more (setrlimit(2), RLIMIT_FSIZE)."""
    before = contents(tree)
    run = limited(WRITING[name], tree, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16)))
    assert (run.code, contents(tree)) == (2, before), run.err
    assert run.err.count("\n") == 1
    assert "file too large" in run.err


@pytest.mark.parametrize("mode", [0o600, 0o754])
def test_a_file_that_is_written_anew_has_the_rights_that_it_had(tree: Path, mode: int) -> None:
    (tree / "ugly.yaml").chmod(mode)
    assert podplan("fmt", "ugly.yaml", cwd=tree).code == 0
    assert (tree / "ugly.yaml").read_text() != UGLY
    assert (tree / "ugly.yaml").stat().st_mode & 0o777 == mode


def test_a_new_file_has_the_rights_that_the_umask_leaves(tree: Path) -> None:
    (tree / "by_hand").touch()
    assert podplan("render", "profile.yaml", "-o", "out", cwd=tree).code == 0
    rights = {path.stat().st_mode for path in (tree / "out").iterdir()}
    assert rights == {(tree / "by_hand").stat().st_mode}


def test_a_compiled_module_that_is_cut_off_is_no_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Python leaves one behind where there is no room on the disk; click takes all such ends for ^D."""

    def cut_off(**_: object) -> None:
        raise click.Abort from EOFError("marshal data too short")

    monkeypatch.setattr(commands.podplan, "main", cut_off)
    with pytest.raises(EOFError, match="marshal"):
        commands.run_click()


@pytest.mark.parametrize("name", mark_others(WRITING, every=2))
def test_a_tree_that_is_read_only(tree: Path, name: str) -> None:
    before = contents(tree)
    tree.chmod(0o555)
    try:
        run = limited(WRITING[name], tree, _without_rights)
    finally:
        tree.chmod(0o755)
    assert (run.code, contents(tree)) == (2, before), run.err
    assert run.err.startswith("podplan: cannot write ")
    assert "permission denied" in run.err


def _without_rights() -> None:
    """Root may write anywhere, but not without CAP_DAC_OVERRIDE (prctl(2), PR_CAPBSET_DROP)."""
    ctypes.CDLL(None).prctl(24, 1)


# --- locales and names


@pytest.mark.long
@pytest.mark.parametrize("locale", mark_long(["C", "xx_XX.ISO-8859-1"], short=["C"]))
def test_odd_names_in_any_locale(tmp_path: Path, locale: str) -> None:
    """Reports are UTF-8 whatever the names are, and the same in every locale."""
    (tmp_path / ".git").mkdir()
    for name, text in ((b"a\xff.yaml", BAD_JOB), (b"b\nc.yaml", UGLY), ("é 日本.yaml".encode(), PROFILE)):
        (tmp_path / os.fsdecode(name)).write_text(text)
    environment = {"LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    commands = (
        ("check", ".", "--format", "sarif", "--output", "json=r.json"),
        ("fmt", "--diff", "."),
        ("baseline", "create", "."),
        ("check", ".", "--baseline", "podplan-baseline.json", "--format", "junit"),
        ("render", ".", "-o", "out"),
    )
    ends = [podplan(*arguments, cwd=tmp_path, env=environment) for arguments in commands]
    assert [end.code for end in ends] == [1, 1, 0, 0, 0]
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["findings"]


# --- other runs, and the clock


def test_two_runs_at_once(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Both mend the same files: each file is mended, and a run that came late says so."""
    rounds = 25 if pytestconfig.getoption("thorough") else 1
    for number in range(rounds):
        folder = tmp_path / str(number)
        folder.mkdir()
        for one in range(6):
            (folder / f"{one}.yaml").write_text(BAD_JOB.replace("name: count", f"name: count-{one}"))
        command = [*PODPLAN, "check", "--fix", "--unsafe-fixes", "."]
        both = [
            subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for _ in range(2)
        ]
        said = [process.communicate(timeout=60) for process in both]
        for process, (_, err) in zip(both, said, strict=True):
            assert process.returncode == 0 or (process.returncode == 2 and b"has changed" in err), err
        assert {process.returncode for process in both} != {2}
        for one in range(6):
            text = JOB.replace("name: count", f"name: count-{one}")
            assert (folder / f"{one}.yaml").read_text() == text
        assert len(list(folder.iterdir())) == 6


@pytest.mark.long
def test_runs_at_once_share_a_cache(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Whoever writes an entry, or finds one, says the same."""
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository" / ".git").mkdir()
    for one in range(12):
        (tmp_path / "repository" / f"{one}.yaml").write_text(BAD_JOB.replace("name: count", f"name: c-{one}"))
    command = [*PODPLAN, "check", "repository", "--cache-dir"]
    environment = {**os.environ, "PODPLAN_NO_CACHE": ""}
    for number in range(20 if pytestconfig.getoption("thorough") else 1):
        three = [
            subprocess.Popen(
                [*command, f"cache-{number}"], cwd=tmp_path, stdout=subprocess.PIPE, env=environment
            )
            for _ in range(3)
        ]
        ends = [(process.communicate(timeout=60)[0], process.returncode) for process in three]
        assert ends == [ends[0]] * 3
        assert ends[0][1] == 1
        kept = list((tmp_path / f"cache-{number}").glob("*"))
        assert len(kept) == 1, "or podplan itself was changed meanwhile: then nothing is kept"


def test_the_clock_is_only_the_day_of_suppressions(tmp_path: Path) -> None:
    """Whatever day it is: the same findings, but for suppressions that end."""
    (tmp_path / "bad.yaml").write_text(BAD_JOB)
    (tmp_path / "until.yaml").write_text(f"# podplan: ignore[IMG002] until=2026-06-01 -- later\n{UNPINNED}")

    def said(day: str) -> list[tuple[str, str]]:
        run = podplan("check", ".", "--today", day, "--format", "json", cwd=tmp_path)
        found = json.loads(run.out)["findings"]
        return [(one["file"], one["rule"]) for one in found if not one["suppressed"]]

    early, on_the_day, late = map(said, ("0001-01-01", "2026-06-01", "9999-12-31"))
    assert early == on_the_day
    assert set(late) - set(early) == {("until.yaml", "IMG002"), ("until.yaml", "LINT004")}
