"""Checking as the command line asks for it, however it was read."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from podplan.check import Result, check, check_sources
from podplan.cli.exits import CLEAN, FINDINGS, INTERNAL
from podplan.cli.options import Request, request
from podplan.cli.progress import shown
from podplan.cli.reporting import reports, write_reports
from podplan.findings import Severity
from podplan.limits import BoundExceeded
from podplan.reading import Reader, standard_input
from podplan.rules import LIMIT
from podplan.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podplan.checking.before import Before

# The flags of `podplan check` that ask for what is found, where nobody gives any.
NO_FLAGS: Mapping[str, Any] = {
    "environments": (),
    "sets": (),
    "inventory": "",
    "gitops": None,
    "k8s_version": "",
    "stdin_filename": "",
    "config": "",
    "isolated": False,
    "fail_on": None,
    "uid": "",
    "resumed": False,
    "select": (),
    "extend_select": (),
    "ignore": (),
    "preset": None,
    "preview": False,
    "severity": (),
    "no_ignores": False,
    "today": "",
    "baseline": "",
}


def check_paths(paths: Sequence[str]) -> int:
    """`podplan check PATH…` without a flag; the exit code."""
    wanted = checking(paths, **NO_FLAGS)
    result = run(paths, wanted)
    write_reports(result, reports("full", (), False, "auto"))
    demand_all(result)
    return exit_code(result, wanted.fail_on)


def checking(paths: Sequence[str], **flags: Any) -> Request:
    """The request of a command that checks: with every environment, by the clock of UTC."""
    wanted = request(paths, clock=time.strftime("%Y-%m-%d", time.gmtime()), **flags)
    settings = wanted.settings._replace(
        environments=wanted.settings.environments or "all",
        # What a paused job has no Pods for now, it has once it goes on.
        options=wanted.settings.options._replace(resumed=True),
    )
    return wanted._replace(settings=settings)


def run(
    paths: Sequence[str], wanted: Request, stdin_filename: str = "", before: Before | None = None
) -> Result:
    """The result for paths, or for standard input where the path is ``-``.

    ``before`` are the CRs to compare with, for rules about what a change does.
    """
    if list(paths) == ["-"]:
        source = standard_input(stdin_filename)
        return check_sources([source], wanted.settings, Reader(exclude=wanted.exclude))
    with shown() as watch:
        return check(paths, wanted.settings, Reader(exclude=wanted.exclude), wanted.exclude, watch, before)


def demand_all(result: Result) -> None:
    """Raises BoundExceeded where files were left out because they reached a bound."""
    if result.given_up:
        raise BoundExceeded("\npodplan: ".join(result.given_up))


def exit_code(result: Result, fail_on: Severity | None) -> int:
    """4 where a profile reached a limit, 1 where a finding is at least as severe as ``fail_on``, else 0."""
    if any(found.rule == LIMIT for found in result.findings):
        return INTERNAL
    bad = fail_on is not None and any(found.severity >= fail_on for found in result.findings)
    return FINDINGS if bad else CLEAN
