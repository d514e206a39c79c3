"""podplan lower"""

from __future__ import annotations

from collections.abc import Sequence

import click

from podplan.cli.exit_codes import CLEAN, NO_INPUT
from podplan.cli.help import HelpCommand
from podplan.cli.options import input_options, lowering_options
from podplan.cli.output import print_message, write_all
from podplan.cli.plan_loader import load_job_plans
from podplan.cli.shell_completion import complete_files
from podplan.core.errors import UsageError
from podplan.core.typing import Any
from podplan.rendering import Folded, Lowered

PLAN_CATEGORIES = frozenset({"profile", "cr"})


@click.command("lower", cls=HelpCommand)
@click.argument("paths", nargs=-1, shell_complete=complete_files)
@input_options
@lowering_options
@click.option("--fold", is_flag=True, help="Print one template for each group of identical replicas.")
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
@click.option("--job", metavar="NAME", default="", help="With --compare or --from, the job to compare.")
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
    compare: str,
    dump: str,
    job: str,
    adopt: bool,
    format_: str,
    **flags: Any,
) -> int:
    """Print the Pods, Services and other objects that controllers will create for profiles and CRs.

    Prints nothing if a job cannot be lowered. Without --uid the names of Pods lack the five characters that
    the controller appends. The objects are a prediction: apply the CR, never these objects.

    With --compare, one job is compared with the objects that a cluster created for it, and each difference
    is printed with the setting that explains it. DUMP is the output of kubectl get
    pods,services,configmaps,podgroups -o yaml.
    """
    if dump and (paths or compare):
        raise UsageError("--from replaces PATHS and --compare")
    if compare or dump:
        from podplan.cli.cluster_diff import compare_with_dump

        return compare_with_dump([dump] if dump else paths, compare or dump, job, adopt, format_, flags)
    if adopt or job or format_ != "text":
        raise UsageError("--adopt, --job and --format go with --compare DUMP or --from DUMP")
    output = Folded() if fold else Lowered()
    loaded = load_job_plans(paths, PLAN_CATEGORIES, output.add, **flags)
    if loaded.code != CLEAN:
        return loaded.code
    if not loaded.jobs:
        print_message("no JobProfile and no training job here, so nothing to lower")
        return NO_INPUT
    write_all(output.finished())
    return CLEAN
