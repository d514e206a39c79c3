"""make fuzz: every target for its share of the time, and a table of what was tried.

What is found stays in the folder (build/fuzz); put it below fixtures/fuzz/TARGET, where `make test` tries it
from then on. The exit code is 1 where something is found, and 2 where atheris is not there.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]
STARTING = 240  # seconds that instrumenting and the seeds may take beside the time of a target


class Done(NamedTuple):
    """How a target went: inputs tried, how long, places of the code reached, and what was found."""

    name: str
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
    names = asked.target or list(TARGETS)
    whole = sum(TARGETS[name].weight for name in names)
    shares = [max(asked.seconds * asked.jobs * TARGETS[name].weight // whole, 1) for name in names]
    print(f"{'target':12} {'inputs':>10} {'seconds':>8} {'reached':>8}  found", flush=True)
    done = []
    with ThreadPoolExecutor(asked.jobs) as pool:
        tried = partial(_fuzzed_below, asked.folder, asked.seeds)
        for one in pool.map(tried, names, shares):
            row = f"{one.name:12} {one.inputs:>10,} {one.seconds:>8.0f} {one.reached:>8,}  {_told(one)}"
            print(row, flush=True)
            done.append(one)
    print(f"{sum(one.inputs for one in done):,} inputs in {sum(one.seconds for one in done):,.0f} seconds")
    return 1 if any(one.found or one.fault for one in done) else 0


def _fuzzed_below(folder: Path, seeds: int, name: str, seconds: int) -> Done:
    return fuzzed(name, folder / name, seconds, seeds)


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=int, default=1800, help="for all targets together [1800]")
    parser.add_argument("--target", action="append", choices=list(TARGETS), help="only this one; repeatable")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--jobs", type=int, default=1, help="how many targets at once [1]")
    parser.add_argument("--seeds", type=int, default=400, help="how many fixtures to begin with [400]")
    return parser.parse_args(arguments)


def fuzzed(name: str, folder: Path, seconds: int, seeds: int) -> Done:
    """One target for so long. What earlier runs found and left in the folder is not counted again."""
    before = set(_left(folder))
    begun = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "log").open("wb") as log:
        command = [sys.executable, "-m", "tests.fuzz.session", name, str(folder), str(seconds), str(seeds)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
        fault = ""
        try:
            code = process.wait(seconds + STARTING)
            fault = "" if code == 0 else f"ended with {code}; see {folder / 'log'}"
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            fault = f"did not end; see {folder / 'log'}"
    said = (folder / "log").read_text(errors="replace")
    inputs = _number(r"stat::number_of_executed_units: +(\d+)", said) or _number(r"#(\d+)\t", said)
    found = tuple(sorted(set(_left(folder)) - before))
    took = time.monotonic() - begun
    return Done(name, inputs, took, _number(r"(?:cov|ft): (\d+)", said), found, fault if not found else "")


def _left(folder: Path) -> list[Path]:
    return [path for path in (folder / "found").glob("*") if not path.name.startswith("slow-unit")]


def _number(pattern: str, text: str) -> int:
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def _told(one: Done) -> str:
    return ", ".join(str(path) for path in one.found) or one.fault or "-"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
