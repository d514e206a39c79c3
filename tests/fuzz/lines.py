"""Targets for one text: shell strings, command lines, expressions, quantities, paths."""

from __future__ import annotations

import os
import shutil
import subprocess
import zlib
from fractions import Fraction
from typing import Any

from podplan.core.path_syntax import FieldNotFound, format_path, resolve_path
from podplan.kubernetes.quantities import parse_quantity, suggest_quantity
from podplan.launchers.discovery import find_programs
from podplan.launchers.quoting import resplit_line
from podplan.launchers.shell import parse_script
from podplan.profile.expressions import ExpressionBudget, ExpressionScope, parse_expression, split_text
from podplan.profile.values import Expression, ProfileExpressionError, require_plain_value
from tests.run_invariants import check_refusal

BASH = shutil.which("bash")
VARIABLES = {"HOME": "/root", "A": "one", "B": "two  words ", "E": "", "Q": '"it\'s"'}
RUNS_SOMETHING = "`;&|<>()\n\r\0"
ONE_IN = 16  # bash is a process each time
DATA = {
    "spec": {
        "containers": [{"name": "worker", "env": [{"name": "RANK", "value": "1"}]}, {"name": "worker"}],
        "a/b": [[1, 2], []],
        "a.key": {"b": None, "": 1, 'q"': {"]": 2}},
    },
    "0": {"~1": "x"},
}
VALUES: dict[str, Any] = {
    "params": {"a": "x", "lr": 0.5, "b": True, "l": ["p", "q", 3], "n": 7, "m": {"k": "v"}},
    "matrix": {"a": 2},
    "environment": "dev",
    "metadata": {"name": "job"},
}


def text_of(content: bytes) -> str:
    return content.decode(errors="replace")


def shell(content: bytes) -> None:
    """Assert that commands are inside the string, and that bash rejects what podplan rejects (sampled).

    The converse does not hold: misplaced words such as ``then`` are accepted.
    """
    text = text_of(content)
    for bash in (True, False):
        found = parse_script(text, VARIABLES, is_bash=bash)
        for command in found.commands:
            assert 0 <= command.start <= command.end <= len(text)
            for word in command.words:
                assert 0 <= word.start <= word.end <= len(text)
    if _is_sampled(content) and "\0" not in text:
        fault = parse_script(text, VARIABLES).syntax_error
        if fault is not None and "more than" not in fault.message:
            assert _bash("-n", "-c", text).returncode != 0, f"bash takes what we refuse: {fault}"


def words_of_bash(content: bytes) -> None:
    """Assert that the words of a line are those that bash passes to a program, for lines that can run
    nothing else."""
    line = text_of(content)
    found = resplit_line(line, VARIABLES)
    harmless = not any(sign in line for sign in RUNS_SOMETHING) and "@" not in line and "[" not in line
    if not _is_sampled(content) or not harmless or not all(word.is_known for word in found.words):
        return
    if any(word.is_pattern for word in found.words):
        return
    run = _bash("-c", f'printf "%s\\0" ::: {line}')
    if found.error:
        assert run.returncode != 0, f"bash takes what we refuse: {found.error}"
    elif not found.operator:
        theirs = run.stdout.decode(errors="replace").split("\0")[1:-1] if run.returncode == 0 else None
        assert [word.text for word in found.words] == theirs


def _is_sampled(content: bytes) -> bool:
    return zlib.crc32(content) % ONE_IN == 0


def _bash(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run bash without programs, in an empty folder."""
    assert BASH is not None
    return subprocess.run(
        [BASH, "--norc", *(argument.encode("utf-8", "surrogatepass") for argument in arguments)],
        capture_output=True,
        env={**VARIABLES, "LC_ALL": "C.UTF-8", "PATH": "/nowhere"},
        cwd="/proc/self" if os.path.isdir("/proc/self") else "/",
        timeout=20,
        check=False,
    )


def options(content: bytes) -> None:
    """Parse the words of a container, one per line, and list the launchers that it starts."""
    words = text_of(content).split("\n")
    env = [{"name": "A", "value": "1"}, {"name": "WORLD_SIZE", "value": "2"}]
    for container in (
        {"command": words[:1], "args": words[1:], "env": env},
        {"command": ["bash", "-c", " ".join(words)], "env": env},
        {"args": words},
    ):
        found = find_programs(container)
        for invocation in found.invocations:
            word = invocation.program_word
            assert 0 <= word.start <= word.end
            for fault in getattr(invocation.parsed, "errors", ()):
                assert fault.message
                assert "\n" not in fault.message.replace(str(fault.word.text), "")


def expression(content: bytes) -> None:
    """Assert that a text with expressions gives a JSON value, within its limits, or an error."""
    text = text_of(content)
    budget = ExpressionBudget()
    known = {name: value for name, value in VALUES.items() if isinstance(value, dict)}
    scope = ExpressionScope(VALUES, {}, known)
    for source in (text, f"${{{{ {text} }}}}"):
        try:
            parts = [
                part if isinstance(part, str) else parse_expression(part[0]) for part in split_text(source)
            ]
            for part in parts:
                if isinstance(part, Expression):
                    _work_out(part, scope, budget)
        except ProfileExpressionError as fault:
            check_refusal(fault)


def _work_out(part: Expression, scope: ExpressionScope, budget: ExpressionBudget) -> None:
    if any(name not in scope.values for name, _ in part.reads):
        return
    value = require_plain_value(part.evaluate(scope.values))
    assert isinstance(value, str | int | float | bool | list | dict | None), type(value)
    budget.spend(len(str(value)))


def quantity(content: bytes) -> None:
    """Assert that a quantity is its decimal value, rounded up to 10⁻⁹, and that suggestions are valid
    quantities."""
    text = text_of(content)
    units = parse_quantity(text)
    if units is not None and text.strip(" \t\r\n").lstrip("+-").replace(".", "", 1).isdecimal():
        exact = Fraction(text.strip(" \t\r\n")) * 10**9
        assert abs(units - exact) < 1, (units, exact)
    proposed = suggest_quantity(text)
    assert not proposed or parse_quantity(proposed) is not None


def path(content: bytes) -> None:
    """Assert that a path resolves or is rejected, and that its formatted form resolves to the same."""
    try:
        found = resolve_path(DATA, text_of(content))
    except FieldNotFound as error:
        check_refusal(error)
        return
    shown = format_path(DATA, found)
    try:
        assert resolve_path(DATA, shown) == found, shown
    except FieldNotFound as error:
        raise AssertionError(f"{found} is shown as {shown}, which leads nowhere: {error}") from None
