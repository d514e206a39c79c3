"""Whether a shell string ends with the exit status of its training, beside what the real bash does."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from podplan.launchers.exit_status import find_hidden_status
from podplan.launchers.processes import build_container_process

BASH = shutil.which("bash")

# A string in which "python t.py" fails, and the cause that hides it; "" where the string fails too.
STRINGS = [
    ("python t.py", ""),
    ("exec python t.py", ""),
    ("python t.py | tee log", "pipe"),
    ("python t.py 2>&1 |& tee log", "pipe"),
    ("{ python t.py; } 2>&1 | tee log", "pipe"),
    ("set -e\npython t.py | tee log\necho done", "pipe"),
    ("set -o pipefail; python t.py | tee log", ""),
    ("set -euo pipefail\npython t.py | tee log\necho done", ""),
    ("set -o pipefail; set +o pipefail; python t.py | tee log", "pipe"),
    ("python t.py | tee log; exit ${PIPESTATUS[0]}", ""),
    ("timeout 60 bash -c 'python t.py | tee log'", "pipe"),
    ("python t.py; echo done", "next"),
    ("python t.py\necho done", "next"),
    ("set -e; python t.py; echo done", ""),
    ("python t.py; exit 0", "next"),
    ("python t.py; exit", ""),
    ("python t.py; rc=$?; cp -r a b; exit $rc", ""),
    ("python t.py; test -f model", ""),
    ("(python t.py; echo done)", "next"),
    ("set -e; python t.py && echo ok; sync", "next"),
    ("python t.py && echo ok", ""),
    ("cd . && python t.py", ""),
    ("python t.py || true", "alternative"),
    ("python t.py || { echo failed; }", "alternative"),
    ("python t.py || { echo failed; exit 1; }", ""),
    ("python t.py || exit 1", ""),
    ("python t.py || python t.py --resume", ""),
    ("python t.py &", "ended"),
    ("python t.py & wait", "wait"),
    ("python t.py & wait $!", ""),
    ("python t.py & python t.py & wait", "wait"),
    ("sleep 0 & python t.py", ""),
    ("if true; then python t.py | tee log; fi", "pipe"),
    ("for i in 1 2; do python t.py && exit 0; sleep 0; done; exit 1", ""),
    ("for i in 1 2; do python t.py && exit 0; sleep 0; done", "next"),
    ("{ python t.py | tee log; } || exit 1; sync", "pipe"),
    ("{ python t.py | tee log; } && test -f model", ""),
    ("bash -c 'python t.py; echo done'; exit 3", ""),
    ("python t.py; echo $?", "next"),
    ('python t.py; echo "status: $?"; sync', "next"),
    ("python t.py; rc=$?; echo $rc; exit $rc", ""),
    ("python t.py; rc=$(echo $?); exit $rc", ""),
    ("f() { python t.py; }; f", ""),
    ("trap 'exit 3' EXIT; python t.py; echo", ""),
    ("echo start; python t.py", ""),
]


@pytest.mark.parametrize(("line", "cause"), STRINGS)
def test_a_failure_is_hidden_where_the_string_succeeds(line: str, cause: str) -> None:
    hidden = find_hidden_status(build_container_process({"command": ["bash", "-c", line]}))
    assert (hidden.cause if hidden is not None else "") == cause


@pytest.mark.parametrize(("line", "cause"), STRINGS)
def test_bash_ends_with_the_same(line: str, cause: str, tmp_path: Path) -> None:
    assert BASH is not None
    (tmp_path / "python").write_text("#!/bin/sh\nexit 7\n")
    (tmp_path / "python").chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    run = subprocess.run([BASH, "-c", line], env=env, cwd=tmp_path, capture_output=True, check=False)
    assert (run.returncode == 0) is bool(cause)


@pytest.mark.parametrize(
    ("command", "cause"),
    [
        (["bash", "-eo", "pipefail", "-c", "python t.py | tee log; echo"], ""),
        (["bash", "-o", "pipefail", "-c", "python t.py | tee log"], ""),
        (["sh", "-ec", "python t.py; echo"], ""),
        (["sh", "-c", "python t.py; echo"], "next"),
        (["tini", "--", "bash", "-lc", "torchrun --nproc_per_node=8 t.py | tee log"], "pipe"),
        (["python", "t.py"], ""),
        ([], ""),
    ],
)
def test_options_of_the_call_count(command: list[str], cause: str) -> None:
    hidden = find_hidden_status(build_container_process({"command": command}))
    assert (hidden.cause if hidden is not None else "") == cause


@pytest.mark.parametrize(
    "line",
    [
        "mkdir -p /logs || true; python t.py",
        "nvidia-smi | tee gpus.txt; python t.py",
        "./watch.sh & python t.py",
        "python prepare.py | tee log; python t.py",
        "until python t.py; do sleep 3; done",
        "if ! python t.py; then echo failed; fi",
        "pip install x | cat",
        "python t.py; echo done; if",  # no shell reads that
        "python t.py > >(tee log) 2>&1",
    ],
)
def test_helpers_and_what_is_asked_for_may_fail(line: str) -> None:
    assert find_hidden_status(build_container_process({"command": ["bash", "-c", line]})) is None


def test_args_and_variables_of_the_container_are_read() -> None:
    container = {
        "command": ["bash", "-c"],
        "args": ["$(TRAIN) | tee log"],
        "env": [{"name": "TRAIN", "value": "python t.py"}],
    }
    hidden = find_hidden_status(build_container_process(container))
    assert hidden is not None
    assert [word.text for word in hidden.words] == ["python", "t.py"]
    assert hidden.words[0].path == ("args", 0)
