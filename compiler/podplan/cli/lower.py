"""podplan lower"""

from __future__ import annotations

from collections.abc import Sequence

import click

from podplan.cli.exit_codes import CLEAN, NO_INPUT
from podplan.cli.options import input_options, lowering_options
from podplan.cli.output import print_message, write_all
from podplan.cli.plan_loader import load_job_plans
from podplan.cli.shell_completion import complete_files
from podplan.core.errors import UsageError
from podplan.core.typing import Any
from podplan.rendering import Folded, Lowered

PLAN_CATEGORIES = frozenset({"profile", "cr"})


@click.command("lower")
@click.argument("paths", nargs=-1, shell_complete=complete_files)
@input_options
@lowering_options
@click.option("--fold", is_flag=True, help="One template per group of equal replicas, for reading.")
@click.option(
    "--compare", metavar="DUMP", default="", help="Compare with what kubectl get … -o yaml printed."
)
@click.option("--adopt", is_flag=True, help="Write the settings for what differs into the configuration.")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", help="Of --compare."
)
def command(paths: Sequence[str], fold: bool, compare: str, adopt: bool, format_: str, **flags: Any) -> int:
    """Show the Pods, Services and other objects that the controllers will make of profiles and CRs.

    Prints nothing unless everything lowers. Without a uid the names lack the five digits that the controller
    adds. These objects are a prediction for reading: only CRs are for the cluster.

    With --compare one job is compared with the objects that a cluster made of it; what differs is told with
    the settings that adopt it. DUMP is what kubectl get pods,services,configmaps,podgroups -o yaml printed.
    """
    if compare:
        from podplan.cli.cluster_diff import compare_with_dump as compared

        return compared(paths, compare, adopt, format_, flags)
    if adopt or format_ != "text":
        raise UsageError("--adopt and --format go with --compare DUMP")
    output = Folded() if fold else Lowered()
    loaded = load_job_plans(paths, PLAN_CATEGORIES, output.add, **flags)
    if loaded.code != CLEAN:
        return loaded.code
    if not loaded.jobs:
        print_message("no JobProfile and no training job here, so nothing to lower")
        return NO_INPUT
    write_all(output.finished())
    return CLEAN
