"""Rules over one object, judged in a process of its own; the way into this package."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec

from podplan.core.errors import RequestError
from podplan.core.limits import (
    MAX_CEL_LENGTH,
    MAX_CEL_MEMORY,
    MAX_CEL_SECONDS,
    VARIABLE,
    BoundExceeded,
    beyond,
)
from podplan.core.typing import Any, NamedTuple
from podplan.lint.cel.rules import Fault, Rules, Verdict, verdict_from
from podplan.lint.cel.values import bounded

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from podplan.lint.cel.worker import main; main()"
)


class _Worker(NamedTuple):
    """The running process, and the keys of the rules that it has been told."""

    process: subprocess.Popen[str]
    known: dict[Rules, int]


_running: dict[int, _Worker] = {}  # by the id of the process that started it: a fork must not share pipes


def judge(rules: Rules, bindings: Mapping[str, Any]) -> Verdict:
    """What the rules say about an object.

    ``bindings`` are object, oldObject, request, params and namespaceObject, plain data; what is missing is
    null. Raises RequestError without the extra, and BoundExceeded when a bound is reached.
    """
    names = ("object", "oldObject", "request", "params", "namespaceObject")
    return _asked(rules, {name: bounded(bindings.get(name)) for name in names})


def faults(rules: Rules) -> tuple[Fault, ...]:
    """The expressions of the rules that do not compile. Raises like ``judge``."""
    return _asked(rules, None).faults


def demand_extra() -> None:
    """Raises RequestError where the evaluator is not installed."""
    try:
        found = find_spec("cel_expr_python.cel")
    except (ImportError, ValueError):
        found = None
    if found is None:
        raise RequestError('policies in CEL need an extra; install it with: pip install "podplan[cel]"')


def _asked(rules: Rules, bindings: dict[str, Any] | None) -> Verdict:
    _demand_short(rules)
    worker = _worker()
    told = worker.known.get(rules)
    key = worker.known.setdefault(rules, len(worker.known))
    answer = _answer(worker, json.dumps([key, rules if told is None else None, bindings]))
    if "bound" in answer:
        raise BoundExceeded(answer["bound"])
    return verdict_from(answer["verdict"])


def _demand_short(rules: Rules) -> None:
    texts = [text for part in rules for row in part for text in row]
    if max(map(len, texts), default=0) > MAX_CEL_LENGTH:
        message = f"a CEL expression has more than {MAX_CEL_LENGTH} characters; split it"
        raise BoundExceeded(beyond("cel-length", message))


def _answer(worker: _Worker, request: str) -> dict[str, Any]:
    pipe_in, pipe_out = worker.process.stdin, worker.process.stdout
    assert pipe_in is not None
    assert pipe_out is not None
    try:
        pipe_in.write(request + "\n")
        pipe_in.flush()
        line = pipe_out.readline()
    except OSError:
        line = ""
    if line:
        answer: dict[str, Any] = json.loads(line)
        return answer
    _stop()
    raise BoundExceeded(
        f"the CEL expressions of a policy took more than {MAX_CEL_SECONDS} seconds (cel-seconds) or "
        f"{MAX_CEL_MEMORY} bytes (cel-bytes) on one document; make them do less, or set other limits "
        f"in {VARIABLE}"
    )


def _worker() -> _Worker:
    worker = _running.get(os.getpid())
    if worker is None:
        demand_extra()
        command = [sys.executable, "-I", "-X", "utf8", "-c", _START, json.dumps(sys.path)]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
        if not _running:
            atexit.register(_stop)
        worker = _running[os.getpid()] = _Worker(process, {})
    return worker


def _stop() -> None:
    """Ends the process of this one, if there is one."""
    worker = _running.pop(os.getpid(), None)
    if worker is not None:
        worker.process.kill()
        worker.process.communicate()
