"""`read` beside `yaml.load(CSafeLoader)`: `python -m benchmarks.reading FOLDER ROUNDS NAME …`.

Prints the CPU seconds of every round by name as JSON.
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

from podplan.source import read

WAYS: dict[str, Callable[[bytes], Any]] = {
    "read": partial(read, file="job.yaml"),
    "yaml.load": partial(yaml.load, Loader=yaml.CSafeLoader),
}


def main(folder: str, rounds: int, names: Sequence[str]) -> None:
    contents = [path.read_bytes() for path in sorted(Path(folder).glob("*.yaml"))]
    taken: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(rounds + 1):  # the first only warms up
        for name in names:
            way = WAYS[name]
            start = process_time()
            for content in contents:
                way(content)
            taken[name].append(process_time() - start)
    print(json.dumps({name: seconds[1:] for name, seconds in taken.items()}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
