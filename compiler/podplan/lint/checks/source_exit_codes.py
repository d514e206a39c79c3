"""Exit codes with which Python scripts whose text is known end after the signal of a preemption.

Source: https://docs.python.org/3/library/signal.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from podplan.lint.checks.python_sources import (
    ENDING_CALLS,
    PythonSource,
    find_constants,
    get_constant,
    get_dotted_name,
    list_python_sources,
)
from podplan.lint.target import LoweredJob

_SIGNALS = ("SIGTERM", "SIGUSR1", "SIGUSR2", "SIGINT")
_FAILURES = (0, 1, 2)  # success, an error, and arguments that the script does not take


def iter_exit_codes_of_preemption(job: LoweredJob) -> Iterator[tuple[PythonSource, ast.Call, int]]:
    """Yield the exits of scripts that handle the signal of a preemption, with codes that are no failures."""
    for source in list_python_sources(job):
        calls = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call)]
        if not any(map(_handles_signal, calls)):
            continue
        constants = find_constants(source.tree)
        for call in calls:
            code = constants.find(call.args[0]) if call.args else None
            is_exit = get_dotted_name(call.func) in ENDING_CALLS
            if is_exit and type(code) is int and code not in _FAILURES:
                yield source, call, code


def _handles_signal(call: ast.Call) -> bool:
    """Whether a call registers a function of the script for a signal."""
    if get_dotted_name(call.func) not in ("signal.signal", "signal") or len(call.args) != 2:
        return False
    signal, handler = call.args
    is_default = get_dotted_name(handler).rpartition(".")[2] in ("SIG_DFL", "SIG_IGN")
    is_handled = get_dotted_name(signal).rpartition(".")[2] in _SIGNALS or get_constant(signal) in (15, 10)
    return is_handled and not is_default
