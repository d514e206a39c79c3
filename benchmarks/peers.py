"""Other manifest checkers, on the Pods that the CRs lower to.

Each is measured if it is installed: kubeconform and kube-linter on PATH, the others next to python (group
`bench-peers`). Two folders, one with twice the Pods, separate the start-up cost from the cost per Pod.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.measuring import Command, Failed, measure, say
from benchmarks.scale import Scale

# Measured elsewhere (DESIGN §8), where `python -c pass` took 10 ms: CPU per Pod, as fractions of that.
SAID = {"kubeconform": 0.27 / 10, "kube-linter": 0.19 / 10}
POD_FILES = 400
# the command, and the number of Pods for a run that is long enough to measure
PEERS: dict[str, tuple[tuple[str, ...], int]] = {
    "kubeconform": (("kubeconform", "-summary"), POD_FILES // 2),
    "kube-linter": (("kube-linter", "lint"), POD_FILES // 2),
    "kubernetes-validate": (("kubernetes-validate",), 50),
    "yamllint": (("yamllint", "-d", "relaxed"), 100),
    "checkov": (
        ("checkov", "--framework", "kubernetes", "--compact", "--quiet", "--skip-download", "-d"),
        100,
    ),
}


class Peer(NamedTuple):
    """The cost of another tool, in units of `python -c pass`; ``start`` is None if it was not measured
    here."""

    name: str
    per_pod: float
    start: float | None = None
    peak_mb: float | None = None


def peers(pods: Path, folder: Path, scale: Scale) -> Iterator[Peer]:
    """Yield the installed tools, and the figures measured elsewhere for the others."""
    for name, (command, number) in PEERS.items():
        program = shutil.which(command[0]) or shutil.which(command[0], path=str(Path(sys.executable).parent))
        if program is None:
            if name in SAID:
                yield Peer(name, SAID[name])
            continue
        number = scale.size(number)
        halves = {n: _some(pods, folder / f"{name}-{n}", n) for n in (number, 2 * number)}
        whole = name in ("yamllint", "checkov")  # the others need the files themselves
        commands: dict[str, Command] = {
            f"{name} of {n} Pods": (
                program,
                *command[1:],
                *([str(path)] if whole else sorted(map(str, path.iterdir()))),
            )
            for n, path in halves.items()
        }
        try:
            unit, few, many = measure(commands, scale.turns(2)).values()
        except Failed as error:
            say(f"{name} cannot be measured here: {error}")
            continue
        per_pod = (many.cpu - few.cpu) / number
        start = (few.cpu - per_pod * number) / unit.cpu
        yield Peer(name, per_pod / unit.cpu, start, many.peak_mb)


def _some(pods: Path, folder: Path, number: int) -> Path:
    """Return a folder with the first Pods of a folder."""
    folder.mkdir(parents=True)
    for path in sorted(pods.iterdir())[:number]:
        shutil.copy(path, folder)
    return folder
