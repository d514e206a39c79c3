"""`read` beside `yaml.load(CSafeLoader)`, seconds as JSON: `python -m benchmarks.reading FOLDER ROUNDS`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import process_time

import yaml

from podplan.source import read


def main(folder: str, rounds: int) -> None:
    contents = [path.read_bytes() for path in sorted(Path(folder).glob("*.yaml"))]
    taken: dict[str, list[float]] = {"read": [], "yaml.load": []}
    for _ in range(rounds + 1):
        start = process_time()
        for content in contents:
            read(content, "job.yaml")
        middle = process_time()
        for content in contents:
            yaml.load(content, yaml.CSafeLoader)
        taken["read"].append(middle - start)
        taken["yaml.load"].append(process_time() - middle)
    print(json.dumps({name: seconds[1:] for name, seconds in taken.items()}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
