"""Compares the YAML parser with `yaml.load(CSafeLoader)`: `python -m benchmarks.reading FOLDER ROUNDS NAME
…`.

Prints the CPU seconds of every round by name as JSON. Within a round the parsers alternate after a few files,
so that a slow phase of the machine affects all of them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import yaml

from podplan.yaml import parse_yaml

WAYS: dict[str, Callable[[bytes], Any]] = {
    "read": partial(parse_yaml, file="job.yaml"),
    "yaml.load": partial(yaml.load, Loader=yaml.CSafeLoader),
}


TURN = 50  # files


def main(folder: str, rounds: int, names: Sequence[str]) -> None:
    contents = [path.read_bytes() for path in sorted(Path(folder).glob("*.yaml"))]
    turns = [contents[start : start + TURN] for start in range(0, len(contents), TURN)]
    taken = [_round(turns, names) for _ in range(rounds + 1)][1:]  # the first only warms up
    print(json.dumps({name: [seconds[name] for seconds in taken] for name in names}))


def _round(turns: Sequence[Sequence[bytes]], names: Sequence[str]) -> dict[str, float]:
    """Return the seconds that each parser takes for all files."""
    seconds = dict.fromkeys(names, 0.0)
    for contents in turns:
        for name in names:
            way = WAYS[name]
            start = process_time()
            for content in contents:
                way(content)
            seconds[name] += process_time() - start
    return seconds


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
