"""`make bench`: measures podplan and its peers in one run, and prints ratios beside the targets.

`--short` takes tenths of the sizes; `--write` puts the table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.page import write
from benchmarks.plan import run
from benchmarks.table import printed


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("--short", action="store_true", help="tenths of the sizes, for a first look")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prog_prefix()) as folder:
        measured = run(Path(folder), short=asked.short)
    print(printed(measured))
    if asked.write:
        write(measured)
    return 0


def prog_prefix() -> str:
    return "podplan-bench-"


if __name__ == "__main__":
    sys.exit(main())
