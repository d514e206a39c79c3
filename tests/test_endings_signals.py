"""How runs end on signals: at the beginning, while podplan is imported, while a file is written."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from podplan.cli import signals as outside
from podplan.cli.signals import defer_signals, run_with_signals
from podplan.core.limits import RunTimeout
from tests.command import BAD_JOB, PODPLAN, Run, heeding


def waiting(cwd: Path, *ignored: signal.Signals) -> subprocess.Popen[bytes]:
    """A run that has begun, and waits for its standard input; it was told to ignore some signals."""

    def prepare() -> None:
        heeding()
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)

    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [*PODPLAN, "check", "-"], cwd=cwd, stdin=pipe, stdout=pipe, stderr=pipe, preexec_fn=prepare
    )
    caught = 1 << (signal.SIGTERM - 1)
    for _ in range(2000):
        # The kernel says which signals a process heeds, and whether it sleeps (proc(5)).
        status = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        told = dict(line.split(":\t", 1) for line in status if ":\t" in line)
        if int(told["SigCgt"], 16) & caught and told["State"].startswith("S"):
            return process
        time.sleep(0.01)
    raise AssertionError("the run does not wait")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals(many: Path, number: signal.Signals) -> None:
    """A run ends when it is told so, and says nothing; what it was writing is for tests/test_faults.py."""
    with waiting(many) as process:
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert (out, err.strip()) == (b"", b"")


def test_a_signal_that_is_ignored_stays_so(many: Path) -> None:
    """As under nohup."""
    with waiting(many, signal.SIGHUP) as process:
        process.send_signal(signal.SIGHUP)
        out, _ = process.communicate(BAD_JOB.encode(), timeout=60)
    assert process.returncode == 1
    assert b"SCHEMA001" in out


IMPORTING = """
import signal, sys

name, number = sys.argv.pop(1), int(sys.argv.pop(1))

class Sender:
    def find_spec(self, wanted, *_):
        if wanted == name:
            signal.raise_signal(number)

sys.meta_path.insert(0, Sender())
from podplan.cli import main
main()
"""


def importing(name: str, number: int, cwd: Path) -> Run:
    """A run that gets a signal when it imports a module."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTING, name, str(number), "check", "."],
        cwd=cwd,
        capture_output=True,
        preexec_fn=heeding,
        timeout=60,
        check=False,
    )
    return Run(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_an_interrupt_at_the_very_beginning(many: Path) -> None:
    assert importing("podplan.core.limits", signal.SIGINT, many) == (128 + signal.SIGINT, "", "")


def test_next_to_nothing_is_imported_before_that() -> None:
    """What interrupts Python until then it answers with a traceback."""
    script = "import sys; before = {*sys.modules}; import podplan.cli; print(*({*sys.modules} - before))"
    command = [sys.executable, "-I", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {script}"]
    imported = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    ours = {"podplan", "podplan.cli", "podplan.cli.command_names", "podplan.cli.exit_codes"}
    assert {*imported} <= {*ours, "__future__", "gc"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("name", ["podplan.cli.check_run", "decimal"])
def test_signals_while_the_rest_is_imported(many: Path, name: str, number: signal.Signals) -> None:
    """The library in Rust that imports decimal would panic, and say so."""
    assert importing(name, number, many) == (128 + number, "", "")


@pytest.mark.parametrize("name", ["podplan.cli.check_run", "decimal"])
def test_the_time_is_up_while_the_rest_is_imported(many: Path, name: str) -> None:
    """The limit has its sentence then too: it is no fault of podplan."""
    run = importing(name, signal.SIGALRM, many)
    assert (run.code, run.out) == (4, "")
    assert run.err.startswith("podplan: this takes too long, and is given up (the limit seconds is ")
    assert run.err.count("\n") == 1


class Fallen:
    """What is raised while it goes is printed by Python, and nothing more comes of it."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        signal.raise_signal(self.number)


@pytest.fixture
def defaults() -> Iterator[None]:
    """SIGTERM ends a process, as where podplan starts, and the tests have it back afterwards."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("defaults")
@pytest.mark.parametrize("rest", [0, 20])  # seconds that the run would take from then on
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGALRM])
def test_a_signal_that_python_lets_fall_ends_the_run_all_the_same(
    number: int, rest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside, "RERAISE_INTERVAL", 0.05)
    rested = []

    def run() -> int:
        Fallen(number)
        time.sleep(rest)
        rested.append(rest)
        return 0

    with pytest.raises((SystemExit, RunTimeout)) as end:
        run_with_signals(run, has_timeout=False)
    assert 20 not in rested
    if number == signal.SIGALRM:
        assert isinstance(end.value, RunTimeout)
    else:
        assert isinstance(end.value, SystemExit)
        assert end.value.code == 128 + number


@pytest.mark.usefixtures("defaults")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGALRM])
def test_signals_wait_until_a_file_is_written(number: int) -> None:
    done = []

    def run() -> int:
        with defer_signals():
            signal.raise_signal(number)
            done.append("written")
        done.append("more")
        return 0

    with pytest.raises((SystemExit, RunTimeout)):
        run_with_signals(run, has_timeout=True)
    assert done == ["written"]
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
