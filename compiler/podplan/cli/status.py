"""podplan status"""

from __future__ import annotations

from collections.abc import Sequence

import click

from podplan.cli.exit_codes import CLEAN, NOTHING
from podplan.cli.options import input_options, lowering_options
from podplan.cli.output import say, write, write_text
from podplan.cli.plan_loader import produce
from podplan.cli.shell_completion import files
from podplan.core.errors import RequestError
from podplan.core.typing import Any
from podplan.pipeline import Plan, Settings
from podplan.workspace.file_loader import sources, standard_input
from podplan.workspace.files import demand_inside
from podplan.yaml import Source

OTHERS = ("running", "succeeded", "failed", "pending", "creating", "unknown", "deleted")


@click.command("status")
@click.argument("file", shell_complete=files)
@click.option("--pods", metavar="STATE", default="", help="States of Pods: kubectl's YAML, or worker-3: 137.")
@click.option(
    "--pod",
    "told",
    metavar="NAME=STATE",
    multiple=True,
    help="State of a Pod: worker-3=137, worker=Succeeded.",
)
@click.option(
    "--others", type=click.Choice(OTHERS), default="running", help="Pods of which nothing is said [running]."
)
@click.option("--job", metavar="NAME", default="", help="Which job, where FILE has several.")
@click.option(
    "--elapsed", metavar="SECONDS", type=click.IntRange(0), default=None, help="How long the job has run."
)
@input_options
@lowering_options
@click.option("--format", "format_", type=click.Choice(["text", "json", "yaml"]), default="text")
def command(
    file: str,
    pods: str,
    told: Sequence[str],
    others: str,
    job: str,
    elapsed: int | None,
    format_: str,
    **flags: Any,
) -> int:
    """Show what the controller reports of a job whose Pods are in some state, and what it does next.

    FILE is a CR or a profile. STATE is what kubectl get pods -o yaml prints, or lines such as worker-3: 137:
    what happens if worker-3 dies with 137? The status is the one after the controller has acted: restarts and
    clean-up are in it. Exit code 0, whatever becomes of the job.
    """
    if file == pods == "-":
        raise RequestError("FILE and STATE cannot both be standard input")
    choice = _Choice(job)
    flags_of_all = {**flags, "fail_on": "never", "resumed": True}
    made = produce([file], frozenset({"profile", "cr"}), choice.add, **flags_of_all)
    if made.code != CLEAN:
        return made.code
    if not made.jobs:
        say("no JobProfile and no training job here, so no status")
        return NOTHING
    plan = choice.one(file)
    from podplan.report import status as reporting
    from podplan.tools.status.observed_job import observed
    from podplan.tools.status.reconcile import act
    from podplan.tools.status.replica_states import seen
    from podplan.tools.status.replicas import replicas

    assert plan.cr is not None
    options = made.request.settings.options._replace(resumed=flags["resumed"])
    expected = replicas(plan.groups, others.capitalize())
    named = observed(plan.cr.data, expected, options, elapsed)
    source = _read(pods) if pods else None
    found = seen(named.name, plan.groups, expected, source, told)
    render = {"text": reporting.as_text, "json": reporting.as_json, "yaml": reporting.as_yaml}[format_]
    (write_text if format_ == "text" else write)(render(plan.cr, act(named._replace(replicas=tuple(found)))))
    return CLEAN


class _Choice:
    """The plan of the job that is asked for, among plans that come one after the other."""

    def __init__(self, job: str) -> None:
        self._job = job
        self._names: list[str] = []
        self._plan: Plan | None = None
        self._number = 0

    def add(self, plan: Plan, _: Settings) -> None:
        """One more plan that has a CR."""
        name = _name(plan)
        self._names.append(name)
        if self._job in ("", name):
            self._plan = self._plan or plan
            self._number += 1

    def one(self, file: str) -> Plan:
        """That plan. Raises RequestError where that is none or several."""
        from podplan.core.suggestions import meant_or_known

        names = self._names
        if self._plan is None:
            raise RequestError(f'{file}: there is no job "{self._job}"{meant_or_known(self._job, names)}')
        if self._number > 1:
            listed = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
            raise RequestError(
                f"{file}: has {len(names)} jobs ({listed}); say which one with --job NAME, or -e NAME"
            )
        return self._plan


def _name(plan: Plan) -> str:
    metadata = plan.cr.data.get("metadata") if plan.cr is not None else None
    metadata = metadata if isinstance(metadata, dict) else {}
    return str(metadata.get("name") or metadata.get("generateName") or "")


def _read(path: str) -> Source:
    """The file with the states. Raises RequestError."""
    if path == "-":
        return standard_input()
    demand_inside(path)
    [found] = sources([path])
    if not isinstance(found, Source):
        raise RequestError(f"{path}: {found.reason}")
    return found
