"""podplan lower"""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from podplan.cli.exit_codes import CLEAN, NO_INPUT
from podplan.cli.help import HelpCommand
from podplan.cli.job_selection import JobSelection, job_option, report_failed_jobs
from podplan.cli.options import input_options, kustomize_option, lowering_options, require_no_paths
from podplan.cli.output import print_message, replace_file, write_all
from podplan.cli.plan_loader import load_job_plans
from podplan.cli.shell_completion import complete_files
from podplan.core.errors import UsageError
from podplan.core.typing import Any
from podplan.kinds.suspension import explain_missing_pods
from podplan.pipeline import JobPlan, PipelineSettings, is_job
from podplan.rendering import Folded, Lowered

PLAN_CATEGORIES = frozenset({"profile", "cr"})
MAX_SUSPENDED = 3  # jobs without Pods that are named


@click.command("lower", cls=HelpCommand)
@click.argument("paths", nargs=-1, shell_complete=complete_files)
@input_options
@lowering_options
@kustomize_option
@click.option("--fold", is_flag=True, help="Print one template for each group of identical replicas.")
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    default="",
    help="Write one file per job into this folder, below the environment, instead of standard output.",
)
@click.option(
    "--compare", metavar="DUMP", default="", help="Compare with the output of kubectl get … -o yaml."
)
@click.option(
    "--from",
    "dump",
    metavar="DUMP",
    default="",
    help="Like --compare, with the CR from DUMP too: kubectl get JOBS,pods,services,… -o yaml.",
)
@job_option("Lower, or compare, only this job.")
@click.option(
    "--adopt",
    is_flag=True,
    help="With --compare, write the settings that explain the differences into the configuration.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    help="Format of --compare [text].",
)
def command(
    paths: Sequence[str],
    fold: bool,
    output: str,
    compare: str,
    dump: str,
    job: str,
    adopt: bool,
    format_: str,
    **flags: Any,
) -> int:
    """Print the Pods, Services and other objects that controllers will create for profiles and CRs.

    Jobs with errors are named on standard error with their findings, and all others are printed; the exit
    code is then 1. Without --uid the names of Pods lack the five characters that the controller appends. The
    objects are a prediction: apply the CR, never these objects.

    With --compare, one job is compared with the objects that a cluster created for it, and each difference
    is printed with the setting that explains it. DUMP is the output of kubectl get
    pods,services,configmaps,podgroups -o yaml. Without PATHS the job is that of DUMP, if kubectl printed it
    too, else one in the current folder.
    """
    if dump and (paths or compare or flags["kustomize"]):
        raise UsageError("--from replaces PATHS, -k and --compare")
    if output and (compare or dump):
        raise UsageError("-o is not for --compare and --from, which print differences")
    is_default = not paths and not flags["kustomize"]
    paths = require_no_paths(paths, flags["kustomize"])
    if compare or dump:
        from podplan.cli.cluster_diff import compare_with_dump

        compared_paths = [dump] if dump else () if is_default else paths
        return compare_with_dump(compared_paths, compare or dump, job, adopt, format_, flags)
    if adopt or format_ != "text":
        raise UsageError("--adopt and --format go with --compare DUMP or --from DUMP")
    text = _FilePerJob(output, fold) if output else Folded() if fold else Lowered()
    selection = JobSelection(job)
    suspensions: dict[str, None] = {}

    def add(plan: JobPlan, settings: PipelineSettings) -> None:
        text.add(plan, settings)
        if plan.cr is not None and plan.is_lowered:
            suspensions.setdefault(explain_missing_pods(plan.cr.data, plan.replica_groups))

    loaded = load_job_plans(paths, PLAN_CATEGORIES, add, selection=selection, **flags)
    selection.require_found()
    if not loaded.jobs and loaded.code == CLEAN:
        print_message("no JobProfile and no training job here, so nothing to lower")
        return NO_INPUT
    report_failed_jobs(loaded.failed, "lowered")
    if sentences := [*filter(None, suspensions)]:
        others = len(sentences) - MAX_SUSPENDED
        print_message(*sentences[:MAX_SUSPENDED], f"{others} more are suspended" if others > 0 else "")
    if loaded.taken and isinstance(text, _FilePerJob):
        text.write()
    elif loaded.taken and not isinstance(text, _FilePerJob):
        write_all(text.finish())
    return loaded.code


class _FilePerJob:
    """The lowered objects of each job, for a file of its own: DIR/ENVIRONMENT/NAME.yaml."""

    def __init__(self, folder: str, fold: bool) -> None:
        self._folder = folder
        self._fold = fold
        self._texts: dict[str, Lowered | Folded] = {}
        self._nameless = ""

    def add(self, plan: JobPlan, settings: PipelineSettings) -> None:
        """Add a plan that has the CR of a job."""
        if plan.cr is None or not plan.is_lowered or not is_job(plan):
            return
        metadata = plan.cr.data["metadata"]
        name = str(metadata.get("name") or "")
        if not name:
            self._nameless = self._nameless or plan.item.doc.name
        parts = [plan.environment] if plan.environment else []
        path = os.path.join(self._folder, *parts, f"{name}.yaml")
        if path in self._texts:
            parts += [str(metadata.get("namespace") or "default"), str(plan.cr.data["kind"]).lower()]
            path = os.path.join(self._folder, *parts, f"{name}.yaml")
        if path not in self._texts:
            self._texts[path] = Folded() if self._fold else Lowered()
        self._texts[path].add(plan, settings)

    def write(self) -> None:
        """Write the files. Raises UsageError: if a job has no name, or a file cannot be written."""
        if self._nameless:
            raise UsageError(f"{self._nameless}: a job with a generateName has no name for its file")
        texts = {path: output.finish().text() for path, output in self._texts.items()}
        written = sum(replace_file(path, text) for path, text in texts.items())
        print_message(f"{self._folder}: {len(texts)} file{'' if len(texts) == 1 else 's'}, {written} changed")
