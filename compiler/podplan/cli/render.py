"""podplan render"""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from podplan.cli.completing import files
from podplan.cli.exits import CLEAN, NOTHING
from podplan.cli.options import input_options
from podplan.cli.output import replace_file, write
from podplan.cli.producing import produce
from podplan.pipeline import Plan
from podplan.rendering import rendered, stream
from podplan.typing import Any


@click.command("render")
@click.argument("paths", nargs=-1, shell_complete=files)
@input_options
@click.option(
    "-o", "--output-dir", metavar="DIR", default="", help="One file per CR into DIR, not to standard output."
)
def command(paths: Sequence[str], output_dir: str, **flags: Any) -> int:
    """Compile profiles into the YAML of their CRs.

    Prints nothing unless everything compiles. A profile that has environments needs -e NAME, or -e all.
    """
    made = produce(paths, frozenset({"profile"}), **flags)
    if made.code != CLEAN:
        return made.code
    if not made.plans:
        click.echo("podplan: no JobProfile here, so nothing to render", err=True)
        return NOTHING
    texts = {_file(plan): rendered(plan, made.request.settings) for plan in made.plans}
    if not output_dir:
        write(stream(texts.values()))
        return CLEAN
    changed = [name for name, text in texts.items() if replace_file(os.path.join(output_dir, name), text)]
    click.echo(f"{len(changed)} of {len(texts)} files written to {output_dir}", err=True)
    return CLEAN


def _file(plan: Plan) -> str:
    """The name of the file of a CR: namespace (if set), kind and name."""
    assert plan.cr is not None
    metadata = plan.cr.data["metadata"]
    parts = (metadata.get("namespace"), plan.cr.data["kind"].lower(), metadata.get("name"))
    return "-".join(str(part) for part in parts if part) + ".yaml"
