"""Runs podplan as a user does, with files to run it on."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from importlib import import_module
from io import BytesIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import NamedTuple, NoReturn

import pytest

from podplan.cli import main
from podplan.cli.command_names import COMMANDS
from podplan.kinds.registry import PACKAGES, load_spec

PATIENCE = 60  # timeout of a run in seconds
WALKED = 13  # jobs, after which documents are validated by a validator, which takes time to build
PODPLAN = (sys.executable, "-m", "podplan")

JOB = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: GenericJob
metadata:
  name: count
spec:
  replicaSpecs:
  - type: worker
    replicas: 3
    template:
      spec:
        containers:
        - name: main
          image: busybox:1.36
          args: [echo, $(rank)]
          resources: {limits: {cpu: 1, memory: 1Gi}}
          securityContext:
            allowPrivilegeEscalation: false
            runAsNonRoot: true
            capabilities: {drop: [ALL]}
            seccompProfile: {type: RuntimeDefault}
  successRules:
  - worker: [0, 1, 2]
  cleanUpPolicy: All
"""
BAD_JOB = JOB.replace("replicas: 3", "replica: 3")
PROFILE = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: resnet}
spec:
  job: PyTorchTrainingJob
  image: registry.example.com/train:1
  run: [train.py]
  replicas: 2
"""
ENVIRONMENTS = PROFILE + "  environments:\n    dev: {replicas: 1}\n    prod: {replicas: 4}\n"
INVENTORY = "apiVersion: podplan/v1\nkind: ClusterInventory\nmetadata: {name: a}\nspec: {}\n"


class Run(NamedTuple):
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str


def podplan(
    *arguments: str | Path,
    cwd: Path | None = None,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    may_fail: bool = False,
) -> Run:
    """Run ``podplan arguments`` in a separate process, with a timeout, and require that there is no
    traceback; nor an internal error, unless it ``may_fail``.

    The process is a fork of this one, which has imported everything; environment variables require a new
    process, because some are only read at start-up.
    """
    words = list(map(str, arguments))
    run = _forked(words, cwd, stdin) if env is None else _started(words, cwd, stdin, env)
    assert "Traceback" not in run.out + run.err, run.err
    assert may_fail or "internal error in" not in run.out + run.err, run.out + run.err
    return run


def heeding() -> None:
    """Restore the handling of signals in a process before it becomes podplan.

    Under nohup, or with ``&`` in a script, signals are ignored, and so in all child processes.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _started(words: list[str], cwd: Path | None, stdin: bytes, env: Mapping[str, str]) -> Run:
    done = subprocess.run(
        [*PODPLAN, *words],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        timeout=PATIENCE,
        env={**os.environ, **env},
        check=False,
    )
    return Run(done.returncode, done.stdout.decode(), done.stderr.decode())


@cache
def warm() -> None:
    """Import what runs need, and load the policies, kinds and schemas once, so that a fork is fast."""
    for module in COMMANDS.values():
        import_module(f"podplan.cli.{module}")
    for kind in PACKAGES:
        load_spec(kind)
    with TemporaryDirectory() as folder:
        good, bad = Path(folder, "good.yaml"), Path(folder, "bad.yaml")
        good.write_text("---\n".join([ENVIRONMENTS, *[JOB] * WALKED]))
        bad.write_text(BAD_JOB)
        for options in ((good,), (bad,), ("--format", "json", bad), ("--diff", bad)):
            with pytest.MonkeyPatch.context() as patch, suppress(SystemExit):
                patch.setattr(sys, "argv", ["podplan", "check", *map(str, options)])
                with redirect_stdout(TextIOWrapper(BytesIO())), redirect_stderr(None):
                    main()


def _forked(words: list[str], cwd: Path | None, stdin: bytes) -> Run:
    warm()
    with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        child = os.fork()
        if child == 0:
            _become(words, cwd, given.fileno(), out.fileno(), err.fileno())
        code = _waited(child)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode())
    return Run(code, *texts)


def _become(words: list[str], cwd: Path | None, *streams: int) -> NoReturn:
    """Run podplan in this process, a fork, and exit."""
    code = 99
    gc.freeze()  # a garbage collection would copy the pages that are shared with the parent
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 (till the end)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        if cwd is not None:
            os.chdir(cwd)
        sys.argv = ["podplan", *words]
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stdout.flush()
        with suppress(Exception):
            sys.stderr.flush()
        os._exit(code)


def _waited(child: int) -> int:
    """Return the exit code of a fork, negative for a signal as in subprocess."""
    until = time.monotonic() + PATIENCE
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise AssertionError(f"no end after {PATIENCE} seconds")
        time.sleep(0.002)
