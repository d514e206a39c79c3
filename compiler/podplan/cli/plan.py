"""podplan plan"""

from __future__ import annotations

from collections.abc import Sequence

import click

from podplan.cli.exit_codes import CLEAN, FINDINGS, NO_INPUT
from podplan.cli.help import HelpCommand
from podplan.cli.options import default_paths, input_options
from podplan.cli.output import print_message, write_stdout
from podplan.cli.plan_loader import load_job_plans
from podplan.cli.shell_completion import complete_files
from podplan.core.errors import UsageError
from podplan.core.provenance import Cursor
from podplan.core.typing import Any
from podplan.pipeline import JobPlan, PipelineSettings
from podplan.workspace import Loader

PLAN_CATEGORIES = frozenset({"profile", "cr"})
WAITING_VERDICTS = ("pending", "inadmissible", "rejected")


@click.command("plan", cls=HelpCommand, without_effect=("--fail-on",))
@click.argument("paths", nargs=-1, shell_complete=complete_files)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    help="Format of the output [text].",
)
@click.option("--exit-code", is_flag=True, help="Exit with 1 if a job is not admitted.")
@input_options
def command(paths: Sequence[str], format_: str, exit_code: bool, **flags: Any) -> int:
    """Show which jobs the queues in the repository admit, without a cluster.

    Reads the objects of Kueue below the root of the first PATH: ClusterQueues, LocalQueues, Cohorts,
    ResourceFlavors, Topologies, and the Namespaces, LimitRanges, RuntimeClasses, PriorityClasses and Nodes
    beside them. Each verdict is about one job in an otherwise empty cluster, with the message of Kueue; the
    sums below are about all jobs together. What git does not say is unknown. Jobs of T9k are compared with
    the queues of the ClusterInventory.
    """
    from importlib import import_module

    from podplan.cluster.reading import KINDS, read_cluster
    from podplan.tools.plan.planning import Planner

    shown_paths = default_paths(paths)
    if list(shown_paths) == ["-"]:
        raise UsageError("podplan plan reads the queues of a repository; give it a path, not standard input")
    flags = {**flags, "fail_on": "never", "resumed": True}
    plans: list[tuple[JobPlan, PipelineSettings]] = []
    loaded = load_job_plans(
        paths, PLAN_CATEGORIES, lambda plan, settings: plans.append((plan, settings)), **flags
    )
    if not plans:
        print_message("no JobProfile and no training job here, so nothing to plan")
        return NO_INPUT
    kinds = [kind for names in KINDS.values() for kind in names]
    documents = Loader(exclude=loaded.run_settings.exclude).find_documents(shown_paths[0], kinds)
    options = loaded.run_settings.settings.lowering_options._replace(resumed=True)
    planner = Planner(read_cluster(documents, _parse_text), options)
    for plan, _ in plans:
        planner.add(plan)
    result = planner.finish()
    write_stdout(import_module(f"podplan.report.plan_{format_}").render(result))
    waits = any(job.verdict in WAITING_VERDICTS for job in result.jobs)
    return FINDINGS if exit_code and waits else CLEAN


def _parse_text(text: Cursor) -> list[Any]:
    """Return the YAML documents in a text of a ConfigMap."""
    from podplan.yaml import parse_yaml

    source = parse_yaml(str(text.value).encode(), text.doc.name)
    return [document.data for document in source.documents]

