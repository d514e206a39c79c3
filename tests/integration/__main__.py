"""Validates reports with Microsoft's SARIF multitool: hostile findings, and runs over fixtures/findings.

python -m tests.integration FOLDER, where npm has installed @microsoft/sarif-multitool-linux. Its exit code is
not meaningful, so its results are read from the report that it writes
(docs/evidence/report-formats.md#sarif-validator).
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

from podplan.cli.reports import render_report
from tests.golden_cases import FIXTURES, mistake_cases, podplan
from tests.sample_findings import CLEAN, RESULT

TOOL = "node_modules/@microsoft/sarif-multitool-linux/Sarif.Multitool"
# Reported for every tool without a web page; podplan has none.
NOT_OURS = {"SARIF2005"}
# An invalid report, to verify that the validator works.
BROKEN, MISTAKE = "broken", "SARIF1002"


def main(folder: Path) -> int:
    """Validate the reports, print errors, and return 0 if there are none."""
    tool = folder.absolute() / TOOL
    if not tool.is_file():
        print(f"{tool} is not there: make integration installs it", file=sys.stderr)
        return 2
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    reports = folder / "sarif"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir(parents=True)
    names = sorted(_write(reports))
    wrong = list(_wrong(tool, reports, names))
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{len(names)} SARIF reports, {len(wrong)} errors and warnings of the multitool")
    return 1 if wrong or not names else 0


def _write(reports: Path) -> Iterator[str]:
    """Write the reports, each to a file, and yield their names."""
    for name, result in (("hostile", RESULT), ("clean", CLEAN)):
        yield _written(reports, name, render_report(result, "sarif"))
    for case in _cases():
        repository = reports / "repositories" / case.name
        shutil.copytree(case, repository)
        (repository / ".git").mkdir()
        with chdir(repository):
            said = podplan("check", "--preset", "audit", "--preview", "--format", "sarif", ".")
        if said.code not in (0, 1):
            raise SystemExit(f"{case}: {said.err}")
        yield _written(reports, case.name, said.out)
    broken = render_report(RESULT, "sarif").replace("clusters/prod%201.yaml", "clusters/prod 1.yaml")
    _written(reports, BROKEN, broken)


def _cases() -> list[Path]:
    """Return the folders with findings, each of which is a repository."""
    folders = sorted((FIXTURES / "findings").iterdir())
    return [*mistake_cases(), *(one for one in folders if one.is_dir() and one.name != "policies")]


def _written(reports: Path, name: str, text: str) -> str:
    (reports / f"{name}.sarif").write_text(text, encoding="utf-8")
    return f"{name}.sarif"


def _wrong(tool: Path, reports: Path, names: list[str]) -> Iterator[str]:
    """Yield the errors of the reports, one line each."""
    asked = [*names, f"{BROKEN}.sarif", "--rule-kind", "Sarif;Ghas", "--level", "Error;Warning"]
    done = subprocess.run(
        [tool, "validate", *asked, "--output", "verdict.json", "--log", "ForceOverwrite"],
        cwd=reports,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"},
    )
    said = f"{done.stdout[-2_000:]}{done.stderr[-2_000:]}"
    verdict = reports / "verdict.json"
    if not verdict.is_file() or f"{len(names) + 1} files scanned" not in said:
        yield f"the multitool has not looked at all {len(names) + 1} reports: {said}"
        return
    run = json.loads(verdict.read_text(encoding="utf-8-sig"))["runs"][0]
    for invocation in run.get("invocations", ()):
        yield from (
            str(told["message"]["text"]) for told in invocation.get("toolConfigurationNotifications", ())
        )
    found = [(_file(result), result) for result in run["results"] if result["ruleId"] not in NOT_OURS]
    if not any(file == BROKEN and result["ruleId"] == MISTAKE for file, result in found):
        yield f"the multitool does not find the mistake in {BROKEN}.sarif"
    yield from (_told(result) for file, result in found if file != BROKEN)


def _file(result: dict[str, Any]) -> str:
    uri: str = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    return Path(uri).stem


def _told(result: dict[str, Any]) -> str:
    region = result["locations"][0]["physicalLocation"].get("region", {})
    said = result["message"].get("text") or " ".join(result["message"].get("arguments", ()))
    return f"{_file(result)}.sarif:{region.get('startLine', 1)}: {result['ruleId']} {said}"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
