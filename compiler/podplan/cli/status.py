"""podplan status"""

from __future__ import annotations

from collections.abc import Sequence

import click

from podplan.cli.exit_codes import CLEAN, NO_INPUT
from podplan.cli.help import HelpCommand
from podplan.cli.job_selection import JobSelection, get_job_name, job_option, report_failed_jobs
from podplan.cli.options import input_options, lowering_options
from podplan.cli.output import print_message, write_escaped_stdout, write_stdout
from podplan.cli.plan_loader import load_job_plans
from podplan.cli.shell_completion import complete_files
from podplan.core.errors import UsageError
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping
from podplan.pipeline import JobPlan, PipelineSettings, is_job
from podplan.workspace.file_loader import load_files, read_standard_input
from podplan.workspace.files import require_inside_repository
from podplan.yaml import SourceFile

OTHER_STATES = ("running", "succeeded", "failed", "pending", "creating", "unknown", "deleted")


@click.command("status", cls=HelpCommand, without_effect=("--fail-on",))
@click.argument("file", required=False, default="", shell_complete=complete_files)
@click.option(
    "--pods",
    metavar="STATE",
    default="",
    help="Pod states: output of kubectl get pods -o yaml, or lines such as worker-3: 137.",
)
@click.option(
    "--from",
    "dump",
    metavar="DUMP",
    default="",
    help="Instead of FILE and --pods: output of kubectl get JOBS,pods -o yaml, with the CR and its Pods.",
)
@click.option(
    "--pod",
    "pod_flags",
    metavar="NAME=STATE",
    multiple=True,
    help="State of one Pod or replica type: worker-3=137, worker=Succeeded; repeatable.",
)
@click.option(
    "--others",
    type=click.Choice(OTHER_STATES),
    default="running",
    help="State of all other Pods [running].",
)
@job_option("Job to report, if FILE contains several.")
@click.option(
    "--elapsed",
    metavar="SECONDS",
    type=click.IntRange(0),
    default=None,
    help="Time since the start of the job.",
)
@input_options
@lowering_options
@click.option("--format", "format_", type=click.Choice(["text", "json", "yaml"]), default="text")
def command(
    file: str,
    pods: str,
    dump: str,
    pod_flags: Sequence[str],
    others: str,
    job: str,
    elapsed: int | None,
    format_: str,
    **flags: Any,
) -> int:
    """Predict the status of a job and the next actions of its controller for given Pod states.

    FILE is a CR or a profile. STATE is the output of kubectl get pods -o yaml, or lines such as "worker-3:
    137" (what happens if worker-3 exits with 137?). Pods of other owners are passed over. The printed status
    includes the restarts and the clean-up of the controller. The exit code is 0 whatever the status of the
    job.
    """
    if dump and (file or pods):
        raise UsageError("--from replaces FILE and --pods")
    if not (file or dump):
        raise UsageError("name FILE, or --from DUMP")
    if file == pods == "-":
        raise UsageError("FILE and STATE cannot both be standard input")
    file, pods = file or dump, pods or dump
    source = _read_states(pods) if pods else None
    choice = _Choice()
    selection = JobSelection(job)
    flags_of_all = {**flags, "fail_on": "never", "resumed": True}
    standard_input = source if dump == "-" else None
    loaded = load_job_plans(
        [file],
        frozenset({"profile", "cr"}),
        choice.add,
        standard_input=standard_input,
        selection=selection,
        **flags_of_all,
    )
    selection.require_found(file)
    if loaded.code != CLEAN and not choice.has_jobs:
        return loaded.code
    if not choice.has_jobs:
        print_message(
            f"{dump} has no training job; add its kind to the kinds that kubectl gets"
            if dump
            else "no JobProfile and no training job here, so no status"
        )
        return NO_INPUT
    plan = choice.one(file)
    from podplan.report import status as reporting
    from podplan.tools.status.observed_job import build_observed_job
    from podplan.tools.status.reconcile import reconcile_job
    from podplan.tools.status.replica_states import apply_declared_states
    from podplan.tools.status.replicas import list_replicas

    assert plan.cr is not None
    if plan.item.declared_kind is not None:
        raise UsageError(
            f"{file}: the WorkloadMapping of {plan.cr.data['kind']} says which Pods there are, and not what"
            " the controller does about their states; status is for the kinds that podplan lowers itself"
        )
    options = plan.lowering_options._replace(resumed=flags["resumed"])
    expected = list_replicas(plan.replica_groups, others.capitalize())
    job_state = build_observed_job(plan.cr.data, expected, options, elapsed, plan.replica_groups)
    owner_label = job_state.kind_spec.owner_label
    replicas_seen = apply_declared_states(
        job_state.name, plan.replica_groups, expected, source, pod_flags, owner_label
    )
    if pods and not any(one.is_declared for one in replicas_seen):
        print_message(f"{pods} has no Pod of {job_state.name}; all are assumed to be {others.capitalize()}")
    render = {"text": reporting.render_text, "json": reporting.render_json, "yaml": reporting.render_yaml}[
        format_
    ]
    (write_escaped_stdout if format_ == "text" else write_stdout)(
        render(plan.cr, reconcile_job(job_state._replace(replicas=tuple(replicas_seen))))
    )
    report_failed_jobs(loaded.failed, "reported")
    return loaded.code


class _Choice:
    """Keeps the only plan of a job among all plans; a job that an object owns counts if all are owned."""

    def __init__(self) -> None:
        self._names: dict[bool, list[str]] = {False: [], True: []}
        self._plans: dict[bool, JobPlan] = {}

    def add(self, plan: JobPlan, _: PipelineSettings) -> None:
        """Add a plan that has the CR of a job."""
        if is_job(plan):
            assert plan.cr is not None
            is_owned = bool([*get_entries(get_mapping(plan.cr.data, "metadata"), "ownerReferences")])
            self._names[is_owned].append(get_job_name(plan))
            self._plans.setdefault(is_owned, plan)

    @property
    def has_jobs(self) -> bool:
        return bool(self._plans)

    def one(self, file: str) -> JobPlan:
        """Return the plan. Raises UsageError: if there are several."""
        is_owned = False not in self._plans
        names = self._names[is_owned]
        if len(names) > 1:
            listed = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
            raise UsageError(
                f"{file}: has {len(names)} jobs ({listed}); say which one with --job NAME, or -e NAME"
            )
        return self._plans[is_owned]


def _read_states(path: str) -> SourceFile:
    """Read the file with the states. Raises UsageError: if that fails."""
    if path == "-":
        return read_standard_input()
    require_inside_repository(path)
    [source] = load_files([path])
    if not isinstance(source, SourceFile):
        raise UsageError(f"{path}: {source.reason}")
    return source
