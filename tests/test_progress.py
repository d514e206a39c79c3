"""The line that tells how far a run is: on a terminal, after a while, and never elsewhere."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from podplan.cli.progress import Progress

JOB = "apiVersion: batch.tensorstack.dev/v1beta1\nkind: GenericJob\nmetadata: {name: a}\n"


def seen(folder: Path, patience: float, slow: float, **environment: str) -> tuple[str, str]:
    """What stands on standard error, a terminal, and on standard output after a run over slow files."""
    program = (
        "import sys, time\n"
        "from podplan.cli import main, progress\n"
        "from podplan.checker import check\n"
        f"progress.START_DELAY = {patience}\n"
        "progress.REFRESH_INTERVAL = 0.01\n"
        "real = check._check_source\n"
        f"check._check_source = lambda *given: (time.sleep({slow}), real(*given))\n"
        "sys.argv = ['podplan', 'check', '.']\n"
        "main()\n"
    )
    ours, theirs = pty.openpty()
    without = {key: value for key, value in os.environ.items() if key != "CI"}
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**without, "TERM": "xterm", **environment},
        text=True,
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while read := os.read(ours, 4096):
                shown += read
        except OSError:  # the other end is closed
            pass
        assert process.stdout is not None
        out = process.stdout.read()
    os.close(ours)
    return shown.decode(), out


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(3):
        (tmp_path / f"job{number}.yaml").write_text(JOB)
    return tmp_path


@pytest.mark.long
def test_a_long_run_shows_one_line_and_takes_it_away(folder: Path) -> None:
    err, out = seen(folder, 0.05, 0.15)
    assert "checking 3 of 3: job2.yaml" in err or "checking 3 of 3: ./job2.yaml" in err
    assert "\n" not in err
    assert err.endswith("\r\x1b[K")
    assert not re.sub(r"\r\x1b\[K[^\r]*", "", err)
    assert "checking" not in out
    assert "errors in 3 files" in out


def test_a_short_run_shows_nothing(folder: Path) -> None:
    assert seen(folder, 30, 0)[0] == ""


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"CI": "true"}], ids=str)
def test_there_is_none_in_ci_nor_where_no_line_can_be_rewritten(
    folder: Path, environment: dict[str, str]
) -> None:
    assert seen(folder, 0.01, 0.1, **environment)[0] == ""


@pytest.mark.long
def test_colours_make_no_difference(folder: Path) -> None:
    assert "checking" in seen(folder, 0.05, 0.15, NO_COLOR="1")[0]


def test_a_line_fits_and_harms_no_terminal() -> None:
    progress = Progress()
    assert list(progress.track_files(["a\x1b[2J\n.yaml"], 7))
    assert progress.format_line(80) == "checking 1 of 7: a\\x1b[2J\\n.yaml"
    assert progress.format_line(20) == "checking 1 of 7"
    assert len(progress.format_line(5)) < 5
