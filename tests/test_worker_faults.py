"""What becomes of the workers of `podplan check --jobs N`, and of the verdict, when something goes wrong.

Whatever it is: what is said is that of one process or the exit code tells otherwise, and no worker stays.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.command import BAD_JOB, JOB, Run, heeding
from tests.thoroughness import mark_long

PATIENCE = 60  # seconds that a run may take
MANY = 200  # jobs, which are more than one process checks alone
SOON = 15  # seconds in which a worker has to notice that its parent is gone
WORKERS = 3
CHECK = (sys.executable, "-m", "podplan", "check", ".", "--jobs")


def filled(folder: Path, number: int, bad: int) -> Path:
    """A folder of so many jobs; of each ``bad``\\ th there is something to say, which takes time."""
    (folder / ".git").mkdir()
    for one in range(number):
        text = BAD_JOB if one % bad == 0 else JOB
        (folder / f"{one:04}.yaml").write_text(text.replace("name: count", f"name: count-{one}"))
    return folder


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Jobs that are checked in a second or so."""
    return filled(tmp_path_factory.mktemp("many"), MANY, 16)


@pytest.fixture(scope="module")
def endless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Jobs that workers are busy with for much longer than they may stay."""
    return filled(tmp_path_factory.mktemp("endless"), 4000, 1)


@pytest.fixture(scope="module")
def serial(many: Path) -> Run:
    """What one process says of the jobs."""
    done = subprocess.run([*CHECK, "1"], cwd=many, capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1
    return Run(done.returncode, done.stdout.decode(), done.stderr.decode())


def children(parent: int) -> list[int]:
    """The processes that a process has begun (proc(5)): those that are there still."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, above = status.read_text().rpartition(")")[2].split()[:2]
            if int(above) == parent and state != "Z":
                found.append(int(status.parent.name))
    return sorted(found)


def is_there(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(happens: Callable[[], object], seconds: float) -> bool:
    """Whether it does, in so many seconds."""
    until = time.monotonic() + seconds
    while not happens():
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True


@contextmanager
def working(
    folder: Path, *more: str, prepare: Callable[[], None] = heeding, **environment: str
) -> Iterator[tuple[subprocess.Popen[bytes], list[int]]]:
    """A run, in a session of its own, and its workers, which have just begun."""
    process = subprocess.Popen(
        [*CHECK, str(WORKERS), *more],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
        preexec_fn=prepare,
        start_new_session=True,
    )
    try:
        assert wait_until(lambda: len(children(process.pid)) == WORKERS, PATIENCE), "no workers came"
        yield process, children(process.pid)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def ended(process: subprocess.Popen[bytes]) -> Run:
    out, err = process.communicate(timeout=PATIENCE)
    return Run(process.returncode, out.decode(), err.decode())


def run(folder: Path, *more: str, prepare: Callable[[], None] = heeding, **environment: str) -> Run:
    with working(folder, *more, prepare=prepare, **environment) as (process, _):
        return ended(process)


@pytest.mark.long
def test_workers_say_what_one_process_says(many: Path, serial: Run) -> None:
    assert run(many) == serial


SENDERS: dict[str, Callable[[int, int], None]] = {"parent": os.kill, "all": os.killpg}
SIGNALS = [
    f"{number.name} to {to}" for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) for to in SENDERS
]


@pytest.mark.parametrize("signals", mark_long(SIGNALS, short=["SIGINT to all"]))
def test_signals(endless: Path, signals: str) -> None:
    """A terminal sends them to all processes of the run, and others to the first one; nobody says a word."""
    name, _, to = signals.partition(" to ")
    number = signal.Signals[name]
    with working(endless) as (process, workers):
        SENDERS[to](process.pid, number)
        assert ended(process) == (128 + number, "", "")
        assert not any(map(is_there, workers))


@pytest.mark.long
def test_a_run_that_is_killed_leaves_no_worker(endless: Path) -> None:
    with working(endless) as (process, workers):
        process.kill()
        assert wait_until(lambda: not any(map(is_there, workers)), SOON)


KILLED = {"one": (slice(1), 0.0), "two": (slice(1, None), 0.2), "all": (slice(None), 0.0)}


@pytest.mark.parametrize("name", mark_long(KILLED, short=["two"]))
def test_workers_that_are_killed(many: Path, serial: Run, name: str) -> None:
    """What they did not bring is done by the one who waits for it."""
    with working(many) as (process, workers):
        killed, after = KILLED[name]
        time.sleep(after)
        for worker in workers[killed]:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        assert ended(process) == serial


@pytest.mark.long
def test_a_worker_that_hangs_until_the_time_is_up(endless: Path) -> None:
    with working(endless, PODPLAN_LIMITS="seconds=4") as (process, workers):
        os.kill(workers[0], signal.SIGSTOP)
        end = ended(process)
        assert (end.code, end.out) == (4, "")
        assert end.err.startswith("podplan: this takes too long, and is given up (the limit seconds is 4;")
        assert not any(map(is_there, workers))


@pytest.mark.long
def test_a_reader_that_goes_away_while_they_work(many: Path) -> None:
    with working(many) as (process, workers):
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(PATIENCE) == 128 + signal.SIGPIPE
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert not any(map(is_there, workers))


STREAMS = {"input": (0, 1), "output": (1, 2), "errors": (2, 1)}


@pytest.mark.parametrize("name", mark_long(STREAMS, short=[]))
def test_streams_that_are_closed(many: Path, serial: Run, name: str) -> None:
    """Descriptors that workers are read from take their numbers."""
    stream, code = STREAMS[name]

    def prepare() -> None:
        heeding()
        os.close(stream)

    end = run(many, prepare=prepare)
    assert end.code == code
    assert end.out == ("" if stream == 1 else serial.out)
    assert end.err == ("podplan: cannot write to standard output: it is closed\n" if stream == 1 else "")


def limited(what: int, most: int) -> Callable[[], None]:
    def prepare() -> None:
        heeding()
        resource.setrlimit(what, (most, most))

    return prepare


@pytest.mark.long
def test_a_disk_that_has_no_room_for_the_cache(many: Path, serial: Run, tmp_path: Path) -> None:
    """A file may grow to 16 bytes, and no more (setrlimit(2), RLIMIT_FSIZE)."""
    cache = ("--cache-dir", str(tmp_path / "cache"))
    prepare = limited(resource.RLIMIT_FSIZE, 16)
    whole = {"PYTHONDONTWRITEBYTECODE": "1"}  # or Python would leave modules behind that are cut off
    assert run(many, *cache, prepare=prepare, PODPLAN_NO_CACHE="", **whole) == serial
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.long
def test_what_workers_brought_is_kept_in_the_cache(many: Path, serial: Run, tmp_path: Path) -> None:
    """Once they are killed, too; the next run needs none of them."""
    command: Sequence[str] = [*CHECK, str(WORKERS), "--cache-dir", str(tmp_path / "cache")]
    with working(many, *command[-2:], PODPLAN_NO_CACHE="") as (process, workers):
        os.kill(workers[0], signal.SIGKILL)
        assert ended(process) == serial
    assert len(list((tmp_path / "cache").iterdir())) == 1
    again = subprocess.run(
        command, cwd=many, capture_output=True, env={**os.environ, "PODPLAN_NO_CACHE": ""}, check=False
    )
    assert (again.returncode, again.stdout.decode(), again.stderr.decode()) == serial


@pytest.mark.long
def test_files_that_vanish_while_they_work(many: Path, tmp_path: Path) -> None:
    """Each is checked or missed: that is a sentence, and no verdict of less than there was."""
    folder = shutil.copytree(many, tmp_path / "many")
    with working(folder) as (process, _):
        for number in range(1, MANY, 2):
            (folder / f"{number:04}.yaml").unlink()
        end = ended(process)
    assert "Traceback" not in end.err
    assert "internal error" not in end.err
    assert end.code in (1, 2, 3, 4)
    assert end.code == 1 or end.err.startswith("podplan: ")
