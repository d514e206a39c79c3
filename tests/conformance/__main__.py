"""``python -m tests.conformance``: runs the cases and prints the table; 1 when one does not hold."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

from tests.conformance import cases, cluster, judging


def main() -> int:
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    python = cluster.interpreter(Path(options.python))
    bad = 0
    for case in cases.cases(options.only):
        if options.short and not case.short:
            continue
        for job in case.runs:
            begin = time.monotonic()
            outcome = cluster.run(case, job, python)
            wrong = [*judging.failures(job.expect, outcome)]
            print(
                f"{'FAIL' if wrong else 'ok  '} {case.name} {job.name} {time.monotonic() - begin:.1f} s",
                flush=True,
            )
            if wrong or options.logs:
                for line in wrong:
                    print(f"     {line}")
                for name, log in outcome.logs.items():
                    print(f"     -- {name}\n" + "\n".join(f"     {line}" for line in log.splitlines()[-40:]))
            bad += bool(wrong)
    return bool(bad)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="the interpreter that is in the image")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--short", action="store_true", help="the short selection")
    parser.add_argument("--logs", action="store_true", help="show logs also of cases that hold")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
