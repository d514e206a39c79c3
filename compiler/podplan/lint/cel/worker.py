"""The process that evaluates: requests come in as lines of JSON and answers go out the same way.

It limits itself: a watchdog ends it when one request takes too long, and the operating system when it wants
too much memory. So an expression can end this process, and nothing else.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import sys

from podplan.core.limits import MAX_CEL_MEMORY, MAX_CEL_SECONDS, LimitExceeded
from podplan.core.typing import Any
from podplan.lint.cel.rules import CelRules, parse_rules


def main() -> None:
    """Answers until the input ends."""
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    silent = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):  # the evaluator logs to standard error, and nothing may mix with the answers
        os.dup2(silent, descriptor)
    _limit_memory()
    rules_by_key: dict[int, CelRules] = {}
    for line in requests:
        faulthandler.dump_traceback_later(MAX_CEL_SECONDS, exit=True, file=sys.stderr)
        answer = _handle_request(json.loads(line), rules_by_key)
        faulthandler.cancel_dump_traceback_later()
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _handle_request(request: list[Any], rules_by_key: dict[int, CelRules]) -> dict[str, Any]:
    """The answer to ``[key, rules or null when they are known, bindings or null to compile only]``."""
    from podplan.lint.cel.evaluation import evaluate, find_compile_errors

    key, rules, bindings = request
    if rules is not None:
        rules_by_key[key] = parse_rules(rules)
    try:
        if bindings is None:
            return {"verdict": [[], find_compile_errors(rules_by_key[key])]}
        return {"verdict": evaluate(rules_by_key[key], bindings)}
    except LimitExceeded as bound:
        return {"bound": str(bound)}


def _limit_memory() -> None:
    """Where the operating system can; Windows cannot."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_CEL_MEMORY, MAX_CEL_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
