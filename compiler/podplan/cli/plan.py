"""podplan plan"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import click

from podplan.cli.exit_codes import FINDINGS, NO_INPUT
from podplan.cli.help import HelpCommand
from podplan.cli.options import default_paths, input_options, resolve_run_settings
from podplan.cli.output import print_message, write_stdout
from podplan.cli.plan_loader import load_job_plans
from podplan.cli.shell_completion import complete_files
from podplan.core.errors import UsageError
from podplan.core.typing import TYPE_CHECKING, Any
from podplan.workspace.files import expand_paths, find_root
from podplan.workspace.loader import Loader

if TYPE_CHECKING:
    from podplan.tools.plan.model import Plan

PLAN_CATEGORIES = frozenset({"profile", "cr"})
WAITING_VERDICTS = ("pending", "inadmissible", "rejected")


@click.command("plan", cls=HelpCommand, without_effect=("--fail-on", "--stdin-filename"))
@click.argument("paths", nargs=-1, shell_complete=complete_files)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "markdown", "json", "svg"]),
    default="text",
    help="Format of the output [text].",
)
@click.option(
    "--base",
    metavar="REF",
    default="",
    help="Show what changes since the merge base of HEAD and REF.",
)
@click.option("-v", "--verbose", is_flag=True, help="List each of many jobs that are alike.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 if a job waits or is refused.")
@input_options
def command(
    paths: Sequence[str], format_: str, base: str, verbose: bool, exit_code: bool, **flags: Any
) -> int:
    """Show which jobs the queues in the repository admit, without a cluster.

    Reads the objects of Kueue below the root of the first PATH: ClusterQueues, LocalQueues, Cohorts,
    ResourceFlavors, Topologies, and the Namespaces, LimitRanges, RuntimeClasses, PriorityClasses and Nodes
    beside them. Each verdict is about one job in an otherwise empty cluster, with the message of Kueue; the
    sums below are about all jobs together. What git does not say is unknown, but with a
    ClusterQueue in git, the ResourceFlavors that it names must be there too, else its jobs are inadmissible.
    Jobs of T9k are compared with the queues of the ClusterInventory. A profile with environments has a job
    in each; -e NAME plans some.
    """
    from importlib import import_module

    result, code = plan_paths(paths, **flags)
    if base:
        result = compare_with_base(result, paths, base, flags)
    if not result.jobs and not result.removed:
        print_message("no JobProfile and no training job here, so nothing to plan")
        return code or NO_INPUT
    render = import_module(f"podplan.report.plan_{format_}").render
    write_stdout(render(result, lists_jobs=verbose) if format_ == "text" else render(result))
    waits = any(
        (job.verdict in WAITING_VERDICTS or job.refused_by) and (job.change or not result.base)
        for job in result.jobs
    )
    return FINDINGS if exit_code and waits else code


def compare_with_base(plan: Plan, paths: Sequence[str], base: str, flags: Mapping[str, Any]) -> Plan:
    """Compare a plan with that of the merge base of HEAD and a revision.

    Raises UsageError: if there is no such revision.
    """
    from podplan.cli.revision_checkout import (
        enter_revision,
        load_at_revision,
        make_portable,
        translate_to_checkout,
    )
    from podplan.tools.plan.comparison import compare_plans
    from podplan.tools.plan.model import Plan
    from podplan.workspace import revisions

    asked = default_paths(paths)
    root = find_root(asked[0])
    commit = revisions.resolve_base(root, base)
    portable_paths, portable_flags = make_portable(asked, flags, root)
    with enter_revision(root, commit) as folder:
        base_paths, base_flags = translate_to_checkout(portable_paths, portable_flags, root, folder)
        present = [path for path in base_paths if os.path.lexists(path)]
        before = Plan((), ())
        if present:
            before, _ = load_at_revision(
                base, lambda: plan_paths(present, prints_findings=False, **base_flags)
            )
    shown = base if commit.startswith(base) else f"{base.rstrip('.')} ({commit[:8]})"
    return compare_plans(before, plan, shown)


def plan_paths(paths: Sequence[str], prints_findings: bool = True, **flags: Any) -> tuple[Plan, int]:
    """Plan the jobs at paths, with the exit code of loading them; findings go to standard error.

    Raises UsageError: for wrong flags. Raises PathNotFound: if a path does not exist. Raises LimitExceeded:
    if a limit is exceeded.
    """
    from podplan.cluster.model import Cluster
    from podplan.cluster.queued_objects import iter_queued_objects
    from podplan.tools.plan.planning import Planner

    shown_paths = default_paths(paths)
    if list(shown_paths) == ["-"]:
        raise UsageError("podplan plan reads the queues of a repository; give it a path, not standard input")
    flags = {**flags, "resumed": True, "environments": flags.get("environments") or ("all",)}
    run_settings = resolve_run_settings(shown_paths, **flags)
    loader = Loader(exclude=run_settings.exclude)
    cluster = loader.find_cluster(shown_paths[0], run_settings.settings.cluster_paths)
    planner = Planner(cluster or Cluster())
    loaded = load_job_plans(
        paths,
        PLAN_CATEGORIES,
        lambda plan, _: planner.add(plan),
        prints_findings=prints_findings,
        takes_failed=True,
        **flags,
    )
    files = {os.path.realpath(path) for path in expand_paths(shown_paths, run_settings.exclude, [])}
    documents = (
        document
        for document in loader.find_queued_documents(shown_paths[0])
        if os.path.realpath(document.name) in files
    )
    for queued in iter_queued_objects(documents):
        planner.add_object(queued)
    return planner.finish(), loaded.code
