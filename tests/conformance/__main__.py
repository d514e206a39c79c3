"""``python -m tests.conformance``: runs the cases and prints the table; exits with 1 if one fails."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml

from tests.conformance import cases, cluster, judging, machine, table
from tests.conformance.cases import Case, Run
from tests.conformance.cluster import Outcome
from tests.conformance.command import podplan
from tests.conformance.table import Row

PAGE = cluster.TOP / "docs" / "conformance.md"


def main() -> int:
    """Run the selected cases; return 0 if all pass."""
    options = _options()
    # So that the clean-up for an interrupt also runs for this signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    python = Path(options.python).absolute()
    chosen = [case for case in cases.cases(options.only) if case.short or not options.short]
    needs = [need for case in chosen for need in case.needs] if options.require else []
    if lacking := machine.missing(needs, python):
        print(f"the conformance runs need {'; '.join(lacking)}", file=sys.stderr)
        return 2
    rows = []
    for row in (row for case in chosen for row in _run(case, python)):
        print(table.line(row), flush=True)
        if row.outcome and (row.failures or options.logs):
            _explain(row)
        rows.append(row)
        if options.write:
            _write(row, python)
    print(", ".join(f"{n} {what}" for what, n in table.summary(rows).items()))
    return int(any(row.failures and (row.outcome or options.require) for row in rows) or not rows)


def _write(row: Row, python: Path) -> None:
    """Write a row to the page, unless the case failed."""
    if not (row.outcome and row.failures):
        known, versions = [*cases.cases()], machine.versions(python)
        before = PAGE.read_text() if PAGE.exists() else ""
        PAGE.write_text(table.page([row], known, before, versions))


def _run(case: Case, python: Path) -> Iterator[Row]:
    if lacking := machine.missing(case.needs, python):
        yield Row(case, case.runs[0], None, (f"needs {'; '.join(lacking)}",))
        return
    for run in case.runs:
        try:
            outcome = cluster.run(case, run, cluster.interpreter(python))
        except (ValueError, subprocess.SubprocessError) as why:
            outcome = Outcome(trouble=str(why))
        yield Row(case, run, outcome, (*judging.failures(run.expect, outcome), *_verdict(run)))


def _verdict(run: Run) -> Iterator[str]:
    """Yield differences between the findings of podplan in the CR and those that the case expects."""
    for codes, wanted in ((run.finds, True), (run.silent, False)):
        if not codes:
            continue
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "cr.yaml").write_text(yaml.safe_dump_all(run.documents))
            words = ("check", "--isolated", "--format", "json", "--extend-select", ",".join(codes))
            said = podplan(Path(folder), *words, "cr.yaml")
        if said.returncode > 1:
            yield f"podplan check: {said.stderr}"
            return
        found = {one["rule"] for one in json.loads(said.stdout)["findings"]}
        for code in codes:
            if (code in found) != wanted:
                yield f"podplan check {'does not find' if wanted else 'finds'} {code}"


def _explain(row: Row) -> None:
    assert row.outcome
    for text in row.failures:
        print(f"     {text}")
    for name, log in row.outcome.logs.items():
        print(f"     -- {name}")
        print("".join(f"     {text}\n" for text in log.splitlines()[-40:]), end="")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument(
        "--python", default=sys.executable, help="the interpreter of the image, which has torch"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name has this in it")
    parser.add_argument("--short", action="store_true", help="the short selection")
    parser.add_argument("--require", action="store_true", help="a case that cannot run here is a failure")
    parser.add_argument("--write", action="store_true", help="write what ran into docs/conformance.md")
    parser.add_argument("--logs", action="store_true", help="show the logs also of cases that hold")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
