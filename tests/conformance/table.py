"""The table of results: for the terminal, and for docs/conformance.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tests.conformance.cases import Case, Run
from tests.conformance.cluster import Outcome
from tests.conformance.judging import TRAINED, seen_exit

HEAD = """# Conformance

`make conformance ARGS=--write` writes this page; it needs Linux and root. In each case, podplan lowers a CR,
and the Pods run with real launchers, each Pod with its own network and file system.
[tests/conformance](../tests/conformance/README.md) has the details. A case of a policy runs twice: the bad
example behaves as the policy describes, and the fixed one (`mended`) trains.

"""


class Row(NamedTuple):
    """One job that ran, or a case that could not run (``outcome`` is None and ``failures`` have the
    reason)."""

    case: Case
    run: Run
    outcome: Outcome | None
    failures: tuple[str, ...]


def line(row: Row) -> str:
    """Format one line for the terminal."""
    state = "FAIL" if row.failures and row.outcome else "none" if row.failures else "ok"
    seconds = f"{row.outcome.seconds:5.1f} s" if row.outcome else "       "
    said = happened(row.run, row.outcome) if row.outcome else "; ".join(row.failures)
    return f"{state:<4} {seconds}  {' '.join((row.case.name, row.run.name)):<40} {said}"


def page(rows: Iterable[Row], known: Iterable[Case], before: str, versions: Mapping[str, str]) -> str:
    """Return docs/conformance.md: a line for each run of the ``known`` cases, from ``rows`` or else
    ``before``."""
    ran = {cells[0]: cells for cells in map(_cells, before.splitlines()) if cells}
    ran |= {_of(row)[0]: _of(row) for row in rows}
    lines = ["| case | Pods | result | conclusion | seconds |", "|---|---|---|---|---|"]
    missing = []
    for case in known:
        for run in case.runs:
            if found := ran.get(title(case, run)):
                name, programs, end, _, seconds = found
                lines.append(f"| {name} | {programs} | {end} | {proves(case, run)} | {seconds} |")
        if lacking := ran.get(f"- {case.name}"):
            missing.append(": ".join(lacking))
    parts = [HEAD + "Versions: " + ", ".join(f"{name} {text}" for name, text in versions.items()) + "."]
    parts.append("\n".join(lines))
    if missing:
        parts.append("## Not run\n\n" + "\n".join(missing))
    return "\n\n".join(parts) + "\n"


def _cells(line: str) -> list[str]:
    """Split a line of the page about a case into cells; those that could not run have two."""
    if line.startswith("| ") and "/" in line:
        return line.strip("| ").split(" | ")
    return line.split(": ", 1) if line.startswith("- ") else []


def _of(row: Row) -> list[str]:
    if row.outcome is None:
        return [f"- {row.case.name}", "; ".join(row.failures)]
    end, seconds = happened(row.run, row.outcome), f"{row.outcome.seconds:.0f}"
    return [title(row.case, row.run), what(row), end, proves(row.case, row.run), seconds]


def what(row: Row) -> str:
    """Return the kind, and how many Pods ran which programs."""
    kind = row.run.cr["kind"]
    assert row.outcome
    programs = Counter(row.outcome.programs.values())
    return f"{kind}: " + ", ".join(f"{n} × `{program}`" for program, n in programs.items())


def happened(run: Run, outcome: Outcome | None) -> str:
    """Return the result of the Pods in a few words."""
    if outcome is None:
        return ""
    ends = Counter(str(seen_exit(outcome, name)) for name in outcome.pods)
    words = [_end(end, n, len(outcome.pods)) for end, n in ends.items()]
    again = sum(pod["restarts"] for pod in outcome.pods.values())
    words += [f"{again} re-created"] * bool(again)
    worlds = Counter(int(world) for _, world in TRAINED.findall("\n".join(outcome.logs.values())))
    words += [f"{n} of world size {world} trained" for world, n in worlds.items()] or ["nothing trained"]
    words += [f"phase {outcome.phase}"] * bool(run.expect.phase)
    return ", ".join(words)


def proves(case: Case, run: Run) -> str:
    """Return the sentence of the case; for a policy, with its code and claim."""
    if not case.policy:
        return case.proves
    policy = f"[{case.policy}](rules/{case.policy}.md)"
    return f"{policy} {case.claim}: {case.proves}" if run.name == "bad" else f"{policy}, {run.name}"


def _end(end: str, count: int, of: int) -> str:
    said = f"exit {end}" if end.isdigit() else f"still {end}"
    return said if count == of else f"{count} {said}"


def title(case: Case, run: Run) -> str:
    """Return the title of a run in the table."""
    return f"{case.name} ({run.name})" if run.name else case.name


def summary(rows: Iterable[Row]) -> dict[str, Any]:
    """Return how many jobs passed, failed and could not run."""
    rows = [*rows]
    return {
        "held": sum(not row.failures for row in rows),
        "failed": sum(bool(row.failures and row.outcome) for row in rows),
        "not run": sum(not row.outcome for row in rows),
    }
