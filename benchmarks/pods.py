"""Writes the Pods that CRs lower to, one per file: `python -m benchmarks.pods CRS FOLDER NUMBER`."""

from __future__ import annotations

import subprocess
import sys
from itertools import islice
from pathlib import Path

from benchmarks.measuring import podplan


def main(crs: str, folder: str, number: int) -> None:
    files = sorted(Path(crs).glob("job-*.yaml"))[: number // 8 + 1]
    lowered = subprocess.run(
        podplan("lower", *map(str, files)), check=True, capture_output=True, encoding="utf-8"
    )
    documents = lowered.stdout.removeprefix("---\n").split("\n---\n")
    pods = (document for document in documents if "\nkind: Pod\n" in f"\n{document}\n")
    Path(folder).mkdir(parents=True)
    for index, pod in enumerate(islice(pods, number)):
        Path(folder, f"pod-{index:05}.yaml").write_text(f"{pod}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
