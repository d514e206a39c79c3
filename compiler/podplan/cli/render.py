"""podplan render"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from podplan.cli.exit_codes import CLEAN, NO_INPUT
from podplan.cli.help import HelpCommand
from podplan.cli.options import input_options
from podplan.cli.output import print_message, write_all
from podplan.cli.plan_loader import load_job_plans
from podplan.cli.shell_completion import complete_files
from podplan.core.errors import UsageError
from podplan.rendering import Rendered


@click.command("render", cls=HelpCommand)
@click.argument("paths", nargs=-1, shell_complete=complete_files)
@input_options
@click.option(
    "-o",
    "--output-dir",
    metavar="DIR",
    default="",
    help="Write one file per CR into DIR instead of standard output.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing; exit with 1 if a file in DIR or a folder of [[render]] is out of date.",
)
@click.option("--update", is_flag=True, help="Update all folders that [[render]] of the configuration lists.")
def command(paths: Sequence[str], output_dir: str, check: bool, update: bool, **flags: Any) -> int:
    """Compile job profiles into CRs and print them as YAML.

    Prints nothing if a profile does not compile. A profile with environments needs -e NAME or -e all.
    """
    if check and update:
        raise UsageError("--check changes nothing, and --update does; ask for one of them")
    if output_dir and update:
        raise UsageError("--update is for the folders of [[render]]; -o DIR writes without it")
    if check or update or output_dir:
        from podplan.cli.output_folders import select_folders, update_folders

        return update_folders(select_folders(paths, output_dir, flags), check)
    output = Rendered()
    loaded = load_job_plans(paths, frozenset({"profile"}), output.add, **flags)
    if loaded.code != CLEAN:
        return loaded.code
    if not loaded.jobs:
        print_message("no JobProfile here, so nothing to render")
        return NO_INPUT
    write_all(output.finish())
    return CLEAN
