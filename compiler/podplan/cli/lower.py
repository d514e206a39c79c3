"""podplan lower"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from podplan.cli.exits import CLEAN, NOTHING
from podplan.cli.options import input_options, lowering_options
from podplan.cli.output import write
from podplan.cli.producing import produce
from podplan.rendering import lowered, lowered_folded, stream


@click.command("lower")
@click.argument("paths", nargs=-1)
@input_options
@lowering_options
@click.option("--fold", is_flag=True, help="One template per group of equal replicas, for reading.")
def command(paths: Sequence[str], fold: bool, **flags: Any) -> int:
    """Show the Pods, Services and other objects that the controllers will make of profiles and CRs.

    Prints nothing unless everything lowers. Without a uid the names lack the five digits that the controller
    adds. These objects are a prediction for reading: only CRs are for the cluster.
    """
    made = produce(paths, frozenset({"profile", "cr"}), **flags)
    if made.code != CLEAN:
        return made.code
    if not made.plans:
        click.echo("podplan: no JobProfile and no training job here, so nothing to lower", err=True)
        return NOTHING
    write_out = lowered_folded if fold else lowered
    write(stream(text for plan in made.plans for text in write_out(plan)))
    return CLEAN
