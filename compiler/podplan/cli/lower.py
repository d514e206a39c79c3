"""podplan lower"""

from __future__ import annotations

from collections.abc import Sequence

import click

from podplan.cli.exit_codes import CLEAN, NOTHING
from podplan.cli.options import input_options, lowering_options
from podplan.cli.output import say, write_all
from podplan.cli.plan_loader import produce
from podplan.cli.shell_completion import files
from podplan.core.errors import RequestError
from podplan.core.typing import Any
from podplan.rendering import Folded, Lowered

WANTED = frozenset({"profile", "cr"})


@click.command("lower")
@click.argument("paths", nargs=-1, shell_complete=files)
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
        from podplan.cli.cluster_diff import compare as compared

        return compared(paths, compare, adopt, format_, flags)
    if adopt or format_ != "text":
        raise RequestError("--adopt and --format go with --compare DUMP")
    output = Folded() if fold else Lowered()
    made = produce(paths, WANTED, output.add, **flags)
    if made.code != CLEAN:
        return made.code
    if not made.jobs:
        say("no JobProfile and no training job here, so nothing to lower")
        return NOTHING
    write_all(output.finished())
    return CLEAN
