"""What a process costs: CPU time and memory, of several commands in turn so that all see the same machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

Command = Sequence[str]
TOP = Path(__file__).parents[1]
PASS: Command = (sys.executable, "-c", "pass")
# Variables of Python change what is measured, such as whether it keeps what it has compiled.
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PODPLAN"))}
UNCACHED = {**PLAIN, "PODPLAN_NO_CACHE": "1"}


class Cost(NamedTuple):
    """What one command took in several runs: the median of user + system seconds, and the largest peak.

    ``noise`` is half the distance between the quartiles, as a share of the median.
    """

    cpu: float
    peak_mb: float
    noise: float
    runs: int


class Failed(Exception):
    """A command that did not do what it was to do."""


def podplan(*arguments: str) -> Command:
    return (sys.executable, "-m", "podplan", *arguments)


def once(command: Command, cache: Path | None = None) -> tuple[float, float]:
    """User + system seconds of one run, and its peak in MB; podplan's cache is in ``cache``, or off.

    Raises Failed where the command did not do what it was to do.
    """
    environment = UNCACHED if cache is None else {**PLAIN, "XDG_CACHE_HOME": str(cache)}
    with open(os.devnull, "wb") as nowhere:
        # The peak of a child counts from the fork on, so that this process must stay small.
        process = subprocess.Popen(command, stdout=nowhere, stderr=nowhere, cwd=TOP, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise Failed(f"exit code {process.returncode}: {' '.join(command)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(commands: Mapping[str, Command], rounds: int, cache: Path | None = None) -> dict[str, Cost]:
    """The cost of each command, and of ``PASS`` under its own name, which runs before each of them.

    Every round runs each command once; of several, the first only warms the caches of the system.
    """
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in ("pass", *commands)}
    for number in range(rounds + 1 if rounds > 1 else 1):
        for name, command in commands.items():
            costs = [("pass", once(PASS)), (name, once(command, cache))]
            for measured, cost in costs if number or rounds == 1 else ():
                taken[measured].append(cost)
    return {name: summed_up(costs) for name, costs in taken.items()}


def summed_up(costs: Sequence[tuple[float, float]]) -> Cost:
    """Several runs of one command as one cost."""
    seconds = [cpu for cpu, _ in costs]
    middle = median(seconds)
    first, _, third = quantiles(seconds, n=4) if len(seconds) > 1 else (middle, middle, middle)
    return Cost(middle, max(peak for _, peak in costs), (third - first) / 2 / middle, len(costs))
