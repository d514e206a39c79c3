"""`make bench`: measures podplan and other tools in one run, and prints ratios next to the targets.

Tables go to standard output, progress to standard error. Exit code 1 means that a section failed; a missed
target is no failure.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.machine import described
from benchmarks.measuring import say
from benchmarks.page import write, write_some
from benchmarks.plan import SECTIONS, run
from benchmarks.scale import FULL, SHORT, SMOKE
from benchmarks.table import Section, printed, targets


def main() -> int:
    parser = _parser()
    asked = parser.parse_args()
    machine = described()
    sections: list[Section] = []
    print(*machine, sep="\n")
    with tempfile.TemporaryDirectory(prefix="podplan-bench-") as folder:
        for section in run(Path(folder), asked.scale, asked.only):
            print(f"\n{printed(section)}", flush=True)
            sections.append(section)
            if asked.write and asked.only:
                write_some(sections)
            elif asked.write:  # after every section, so that a later failure does not lose earlier results
                write(machine, sections)
    if asked.scale.judged:
        summary = targets(sections)
        print(f"\n{printed(summary)}\n{summary.note}")
    say("done")
    return 1 if any(section.failure for section in sections) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make bench")
    size = parser.add_mutually_exclusive_group()
    short, smoke = "tenths of the sizes, for a first look", "that every step runs, and no judgement"
    size.add_argument("--short", dest="scale", action="store_const", const=SHORT, default=FULL, help=short)
    size.add_argument("--smoke", dest="scale", action="store_const", const=SMOKE, help=smoke)
    size.add_argument("--write", action="store_true", help="write docs/performance.md")
    parser.add_argument(
        "--only", action="append", choices=SECTIONS, default=[], help="one section; repeatable"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
