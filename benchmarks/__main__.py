"""`make bench`: measures podplan and its peers in one run, and prints ratios beside the targets.

`--short` takes tenths of the sizes; `--write` puts the table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.machine import described
from benchmarks.page import write
from benchmarks.plan import run
from benchmarks.table import printed


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("--short", action="store_true", help="tenths of the sizes, for a first look")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    asked = parser.parse_args()
    machine, sections = described(), []
    print(*machine, sep="\n")
    with tempfile.TemporaryDirectory(prefix="podplan-bench-") as folder:
        for section in run(Path(folder), short=asked.short):
            print(f"\n{printed(section)}", flush=True)
            sections.append(section)
    if asked.write:
        write(machine, sections)
    return 0


if __name__ == "__main__":
    sys.exit(main())
