"""podplan why"""

from __future__ import annotations

import click

from podplan.cli.exit_codes import CLEAN
from podplan.cli.help import HelpCommand
from podplan.cli.job_selection import JobSelection, job_option, report_failed_jobs
from podplan.cli.options import input_options, lowering_options
from podplan.cli.output import write_escaped_stdout, write_stdout
from podplan.cli.plan_loader import load_job_plans
from podplan.cli.shell_completion import complete_files
from podplan.core.errors import UsageError
from podplan.core.typing import Any
from podplan.pipeline import JobPlan, PipelineSettings


@click.command("why", cls=HelpCommand, without_effect=("--fail-on",))
@click.argument("file", shell_complete=complete_files)
@click.argument("path")
@input_options
@lowering_options
@click.option(
    "-i",
    "--instance",
    metavar="ID",
    default="",
    help="Only this instance of a matrix, such as lr-1 or prod/lr-1.",
)
@job_option("Only this job, if FILE contains several.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text")
def command(file: str, path: str, instance: str, job: str, format_: str, **flags: Any) -> int:
    """Show the origin of a value: the line in your files, and each step from there.

    PATH is the name of a variable (RANK), a field of the CR (spec.replicaSpecs[worker].replicas), or a field
    of a lowered object (pod/NAME:spec.containers.image). The index of a list entry can be omitted if only one
    entry has the field. JSON Pointers are accepted too. For a variable that a launcher sets in each process,
    its formula and the values for this job are shown.
    """
    from podplan.report.why import AnswerMerger
    from podplan.tools.value_search import ValueSearch

    search = ValueSearch(file, path)
    merger = AnswerMerger()
    instances: dict[str, None] = {}

    def add(plan: JobPlan, settings: PipelineSettings) -> None:
        variant = plan.variant_id or ""
        instances[variant] = None
        if instance and instance not in (variant, variant.rpartition("/")[2]):
            return
        for answer in search.iter_answers(plan, settings):
            merger.add(answer, plan.variant_id or "")

    selection = JobSelection(job)
    environment = instance.rpartition("/")[0]
    if environment and not flags["environments"]:
        flags["environments"] = (environment,)
    loaded = load_job_plans(
        [file], frozenset({"profile", "cr"}), add, selection=selection, **{**flags, "fail_on": "never"}
    )
    selection.require_found(file)
    if loaded.code != CLEAN and merger.is_empty:
        return loaded.code
    if instance and not any(instance in (one, one.rpartition("/")[2]) for one in instances):
        known = ", ".join(filter(None, instances)) or "none, since it has no matrix"
        raise UsageError(f'{file} has no instance "{instance}"; there are {known}')
    if merger.is_empty:
        raise search.build_error()
    if format_ == "json":
        write_stdout(merger.render_json())
    else:
        write_escaped_stdout(merger.render_text())
    report_failed_jobs(loaded.failed, "searched")
    return loaded.code
