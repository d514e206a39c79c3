"""`make fuzz`: runs every target for its share of the inputs or of the time, and prints a table.

With ``--runs`` and ``--seed`` the same commit tries the same inputs, and time is only a limit: a run that
times out has tried the first of them. A failing input is printed so that it can be reproduced from the output
alone; put it below fixtures/fuzz/TARGET, so that `make test` tries it. The exit code is 1 if something is
found, and 2 without atheris.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from random import SystemRandom
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.fuzz.session import Asked
from tests.fuzz.targets import TARGETS
from tests.fuzz.telling import told

ROOT = Path(__file__).parents[2]
STARTING = 240  # seconds for instrumentation and the seeds, besides the time of a target
# Deterministic order of sets, and a limit that is reachable with inputs of limited size.
ENVIRONMENT = {"PYTHONHASHSEED": "0", "PODPLAN_LIMITS": "replicas=1000"}


class Done(NamedTuple):
    """The result of a target: inputs tried, seconds, code locations reached, and what was found."""

    asked: Asked
    inputs: int
    seconds: float
    reached: int
    found: tuple[Path, ...]
    fault: str = ""


def main(arguments: list[str]) -> int:
    asked = parsed(arguments)
    if find_spec("atheris") is None:
        version = ".".join(map(str, sys.version_info[:2]))
        print(
            f"atheris is not installed for this Python {version}: pip install --group fuzz; it is made for"
            " CPython 3.11 to 3.13 on Linux",
            file=sys.stderr,
        )
        return 2
    print(f"seed {asked.seed}")
    print(f"{'target':12} {'inputs':>10} {'seconds':>8} {'reached':>8}  found", flush=True)
    done = []
    with ThreadPoolExecutor(asked.jobs) as pool:
        for one in pool.map(fuzzed, shares(asked)):
            print(_row(one), flush=True)
            done.append(one)
    print(f"{sum(one.inputs for one in done):,} inputs in {sum(one.seconds for one in done):,.0f} seconds")
    for one in done:
        for line in told(one.asked, one.found, one.fault):
            print(line)
    return 1 if any(one.found or one.fault for one in done) else 0


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=int, default=1800, help="at most, for all targets together [1800]")
    parser.add_argument("--runs", type=int, default=0, help="inputs, for all together [as time allows]")
    parser.add_argument("--seed", type=int, default=0, help="what chance begins with [another one each time]")
    parser.add_argument("--target", action="append", choices=list(TARGETS), help="only this one; repeatable")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--jobs", type=int, default=1, help="how many targets at once [1]")
    parser.add_argument("--seeds", type=int, default=400, help="how many fixtures to begin with [400]")
    asked = parser.parse_args(arguments)
    asked.seed = asked.seed or SystemRandom().randrange(1, 2**31)
    asked.target = asked.target or list(TARGETS)
    return asked


def shares(asked: argparse.Namespace) -> Iterator[Asked]:
    """Yield the order for each target: time by weight, and as many inputs as take that time."""
    targets = [TARGETS[name] for name in asked.target]
    weights = sum(target.weight for target in targets)
    inputs = sum(target.weight * target.pace for target in targets)
    for name, target in zip(asked.target, targets, strict=True):
        seconds = max(asked.seconds * asked.jobs * target.weight // weights, 1)
        runs = max(asked.runs * target.weight * target.pace // inputs, 1) if asked.runs else 0
        folder = asked.folder.absolute() / ("again" if runs else "long") / name
        yield Asked(name, folder, seconds, asked.seeds, asked.seed, runs)


def fuzzed(asked: Asked) -> Done:
    """Run one target. What an earlier run found and kept is not counted again."""
    begun = time.monotonic()
    if asked.runs:  # the same inputs again, from the start
        shutil.rmtree(asked.folder, ignore_errors=True)
    before = set(_left(asked.folder))
    asked.folder.mkdir(parents=True, exist_ok=True)
    # libFuzzer ends a session without notice to Python, which would delete its folders.
    with asked.log.open("wb") as log, TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "tests.fuzz.session", *map(str, asked)]
        environment = {**os.environ, **ENVIRONMENT, "TMPDIR": scratch}
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, env=environment)
        fault = ""
        try:
            code = process.wait(asked.seconds + STARTING)
            fault = "" if code == 0 else f"ended with {code}; see {asked.log}"
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            fault = f"did not end; see {asked.log}"
    said = asked.log.read_text(errors="replace")
    inputs = _number(r"stat::number_of_executed_units: +(\d+)", said) or _number(r"#(\d+)\t", said)
    found = tuple(sorted(set(_left(asked.folder)) - before))
    took = time.monotonic() - begun
    reached = _number(r"(?:cov|ft): (\d+)", said)
    return Done(asked, inputs, took, reached, found, fault if not found else "")


def _left(folder: Path) -> list[Path]:
    return [path for path in (folder / "found").glob("*") if not path.name.startswith("slow-unit")]


def _number(pattern: str, text: str) -> int:
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def _row(one: Done) -> str:
    outcome = ", ".join(path.name for path in one.found) or one.fault or "-"
    if one.inputs < one.asked.runs:
        outcome += f" (of {one.asked.runs:,} inputs: out of time)"
    return f"{one.asked.name:12} {one.inputs:>10,} {one.seconds:>8.0f} {one.reached:>8,}  {outcome}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
