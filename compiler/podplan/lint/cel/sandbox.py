"""Evaluates rules over one object in a separate process; the entry point of this package."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec

from podplan.core.errors import UsageError
from podplan.core.limits import (
    LIMITS_VARIABLE,
    MAX_CEL_LENGTH,
    MAX_CEL_MEMORY,
    MAX_CEL_SECONDS,
    LimitExceeded,
    limit_exceeded,
)
from podplan.core.typing import Any, NamedTuple
from podplan.lint.cel.rules import CelRules, CelVerdict, ExpressionError, parse_verdict
from podplan.lint.cel.values import copy_within_limits

_WORKER_CODE = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from podplan.lint.cel.worker import main; main()"
)


class _CelProcess(NamedTuple):
    """The running process, and the keys of the rules that were sent to it."""

    process: subprocess.Popen[str]
    rule_keys: dict[CelRules, int]


_processes: dict[
    int, _CelProcess
] = {}  # by the id of the process that started it: a fork must not share pipes


def evaluate_rules(rules: CelRules, bindings: Mapping[str, Any]) -> CelVerdict:
    """Return the verdict of the rules about an object.

    ``bindings`` are object, oldObject, request, params and namespaceObject, plain data; a missing one is
    null. Raises UsageError without the extra, and LimitExceeded.
    """
    names = ("object", "oldObject", "request", "params", "namespaceObject")
    return _request_verdict(rules, {name: copy_within_limits(bindings.get(name)) for name in names})


def find_compile_errors(rules: CelRules) -> tuple[ExpressionError, ...]:
    """Return the expressions of the rules that do not compile. Raises as ``evaluate_rules`` does."""
    return _request_verdict(rules, None).errors


def require_extra() -> None:
    """Raises UsageError where the evaluator is not installed."""
    try:
        module_spec = find_spec("cel_expr_python.cel")
    except (ImportError, ValueError):
        module_spec = None
    if module_spec is None:
        raise UsageError('policies in CEL need an extra; install it with: pip install "podplan[cel]"')


def _request_verdict(rules: CelRules, bindings: dict[str, Any] | None) -> CelVerdict:
    _require_short_expressions(rules)
    worker = _get_process()
    known_key = worker.rule_keys.get(rules)
    key = worker.rule_keys.setdefault(rules, len(worker.rule_keys))
    answer = _send_request(worker, json.dumps([key, rules if known_key is None else None, bindings]))
    if "bound" in answer:
        raise LimitExceeded(answer["bound"])
    return parse_verdict(answer["verdict"])


def _require_short_expressions(rules: CelRules) -> None:
    texts = [text for part in rules for row in part for text in row]
    if max(map(len, texts), default=0) > MAX_CEL_LENGTH:
        message = f"a CEL expression has more than {MAX_CEL_LENGTH} characters; split it"
        raise LimitExceeded(limit_exceeded("cel-length", message))


def _send_request(worker: _CelProcess, request: str) -> dict[str, Any]:
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
    _stop_process()
    raise LimitExceeded(
        f"the CEL expressions of a policy took more than {MAX_CEL_SECONDS} seconds (cel-seconds) or "
        f"{MAX_CEL_MEMORY} bytes (cel-bytes) on one document; make them do less, or set other limits "
        f"in {LIMITS_VARIABLE}"
    )


def _get_process() -> _CelProcess:
    worker = _processes.get(os.getpid())
    if worker is None:
        require_extra()
        command = [sys.executable, "-I", "-X", "utf8", "-c", _WORKER_CODE, json.dumps(sys.path)]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
        if not _processes:
            atexit.register(_stop_process)
        worker = _processes[os.getpid()] = _CelProcess(process, {})
    return worker


def _stop_process() -> None:
    """Ends the process of this one, if there is one."""
    worker = _processes.pop(os.getpid(), None)
    if worker is not None:
        worker.process.kill()
        worker.process.communicate()
