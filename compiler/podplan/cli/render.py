"""podplan render"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from podplan.cli.exit_codes import CLEAN, NOTHING
from podplan.cli.options import input_options
from podplan.cli.output import say, write_all
from podplan.cli.plan_loader import produce
from podplan.cli.shell_completion import files
from podplan.core.errors import RequestError
from podplan.rendering import Rendered


@click.command("render")
@click.argument("paths", nargs=-1, shell_complete=files)
@input_options
@click.option(
    "-o", "--output-dir", metavar="DIR", default="", help="One file per CR into DIR, not to standard output."
)
@click.option(
    "--check",
    is_flag=True,
    help="Change nothing; 1 where DIR, or a folder of [[render]], is not as rendered.",
)
@click.option(
    "--update", is_flag=True, help="Render into every folder that the configuration has in [[render]]."
)
def command(paths: Sequence[str], output_dir: str, check: bool, update: bool, **flags: Any) -> int:
    """Compile profiles into the YAML of their CRs.

    Prints nothing unless everything compiles. A profile that has environments needs -e NAME, or -e all.
    """
    if check and update:
        raise RequestError("--check changes nothing, and --update does; ask for one of them")
    if output_dir and update:
        raise RequestError("--update is for the folders of [[render]]; -o DIR writes without it")
    if check or update or output_dir:
        from podplan.cli.output_folders import bring, folders

        return bring(folders(paths, output_dir, flags), check)
    output = Rendered()
    made = produce(paths, frozenset({"profile"}), output.add, **flags)
    if made.code != CLEAN:
        return made.code
    if not made.jobs:
        say("no JobProfile here, so nothing to render")
        return NOTHING
    write_all(output.finished())
    return CLEAN
