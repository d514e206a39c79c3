"""Measures CPU time and memory of processes; commands alternate, so that all see the same state of the
machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple

Command = Sequence[str]
TOP = Path(__file__).parents[1]
SPAWNING = Path(__file__).with_name("spawning.py")
PASS: Command = (sys.executable, "-c", "pass")
# Variables of Python affect the measurement, such as whether compiled modules are cached.
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PODPLAN"))}
PLAIN["PODPLAN_LIMITS"] = "seconds=7200"  # wall time, which varies on a busy machine
UNCACHED = {**PLAIN, "PODPLAN_NO_CACHE": "1"}


class Cost(NamedTuple):
    """The cost of a command over several runs: the median of user + system seconds, and the largest peak.

    ``noise`` is half the interquartile range, as a fraction of the median.
    """

    cpu: float
    peak_mb: float
    noise: float
    runs: int


class Failed(Exception):
    """A command that failed or gave a wrong result."""


def podplan(*arguments: str) -> Command:
    return (sys.executable, "-m", "podplan", *arguments)


def check(*paths: Path) -> Command:
    return podplan("check", *map(str, paths))


def say(what: str) -> None:
    """Print progress to standard error; standard output has only the tables."""
    print(f"bench: {time.monotonic() - _BEGUN:4.0f} s  {what}", file=sys.stderr, flush=True)


_BEGUN = time.monotonic()


def once(command: Command, cache: Path | None = None) -> tuple[float, float]:
    """Return user + system seconds of one run, and its peak in MB; podplan's cache is in ``cache``, or off.

    Raises Failed: with the last output, if the command fails.
    """
    environment = UNCACHED if cache is None else {**PLAIN, "XDG_CACHE_HOME": str(cache)}
    return _spawned(command, environment, os.devnull)


def answer(module: str, *arguments: str) -> tuple[Any, float]:
    """Return the JSON that a module of this folder prints, and its peak in MB. Raises Failed: if it fails."""
    with NamedTemporaryFile(prefix="podplan-bench-") as printed:
        _, peak = _spawned((sys.executable, "-m", module, *arguments), UNCACHED, printed.name)
        return json.loads(printed.read() or "null"), peak


def _spawned(command: Command, environment: Mapping[str, str], out: str) -> tuple[float, float]:
    spawn = [sys.executable, "-I", "-S", str(SPAWNING), out, *command]
    done = subprocess.run(spawn, capture_output=True, encoding="utf-8", cwd=TOP, env=environment, check=True)
    code, seconds, peak = done.stdout.split()
    if int(code) not in (0, 1):
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        words = " ".join(command[:6]) + (" …" if len(command) > 6 else "")
        raise Failed(f"exit code {code} of {words}: {last}")
    return float(seconds), int(peak) / 1024


def measure(commands: Mapping[str, Command], rounds: int, cache: Path | None = None) -> dict[str, Cost]:
    """Measure each command, and ``PASS`` under its own name, which runs before each of them.

    Every round runs each command once; if there are several, the first only warms the caches of the system.
    """
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in ("pass", *commands)}
    first = 0 if rounds > 1 else 1
    for number in range(first, rounds + 1):
        for name, command in commands.items():
            costs = [("pass", once(PASS)), (name, once(command, cache))]
            for measured, cost in costs if number else ():
                taken[measured].append(cost)
            if sum(cpu for _, (cpu, _) in costs) > 1:
                say(f"{name}: round {number} of {rounds}" if number else f"{name}: warming up")
    return {name: summed_up(costs) for name, costs in taken.items()}


def summed_up(costs: Sequence[tuple[float, float]]) -> Cost:
    """Summarize several runs of one command."""
    seconds = [cpu for cpu, _ in costs]
    middle = median(seconds)
    first, _, third = quantiles(seconds, n=4) if len(seconds) > 1 else (middle, middle, middle)
    return Cost(middle, max(peak for _, peak in costs), (third - first) / 2 / middle, len(costs))
