"""podplan graph"""

from __future__ import annotations

from collections.abc import Sequence

import click

from podplan.cli.exits import CLEAN, NOTHING
from podplan.cli.options import input_options, lowering_options
from podplan.cli.output import replace_file, say, write
from podplan.cli.producing import produce
from podplan.graph.model import Picture
from podplan.graph.picture import picture
from podplan.limits import BoundExceeded
from podplan.pipeline import Plan
from podplan.provenance import Doc
from podplan.requests import RequestError
from podplan.typing import Any

WANTED = frozenset({"profile", "cr"})
MERMAID_FILES = (".mmd", ".mermaid")


@click.command("graph")
@click.argument("paths", nargs=-1)
@input_options
@lowering_options
@click.option("--job", metavar="NAME", default="", help="Only the job of this name.")
@click.option(
    "--format", "format_", type=click.Choice(["svg", "mermaid"]), default=None, help="Of the picture [svg]."
)
@click.option("-o", "--output", metavar="FILE", default="", help="Write into this file.")
def command(paths: Sequence[str], job: str, format_: str | None, output: str, **flags: Any) -> int:
    """Draw jobs as they lower: what runs, what it reads, and who reaches whom on which port.

    Draws nothing unless everything lowers. Several jobs stand below one another. A FILE that ends with .mmd
    is Mermaid, any other SVG, unless --format says otherwise. Values of Secrets and variables are not drawn.
    """
    made = produce(paths, WANTED, **flags)
    if made.code != CLEAN:
        return made.code
    if not made.plans:
        say("no JobProfile and no training job here, so nothing to draw")
        return NOTHING
    pictures = [_picture(plan, plan.cr) for plan in _chosen(made.plans, job) if plan.cr]
    text = _renderer(format_ or ("mermaid" if output.endswith(MERMAID_FILES) else "svg"))(pictures)
    if output:
        replace_file(output, text)
    else:
        write(text)
    return CLEAN


def _picture(plan: Plan, cr: Doc) -> Picture:
    try:
        return picture(cr, plan.groups, plan.variant or "")
    except BoundExceeded as error:
        raise error.in_file(plan.item.doc.name) from None


def _chosen(plans: list[Plan], job: str) -> list[Plan]:
    """The plans of the job that was asked for, or all."""
    from podplan.nearest import did_you_mean

    names = [str((plan.cr.data.get("metadata") or {}).get("name") or "") for plan in plans if plan.cr]
    chosen = [plan for plan, name in zip(plans, names, strict=True) if job in ("", name)]
    if not chosen:
        raise RequestError(
            f'no job "{job}" here{did_you_mean(job, names)}; there are {", ".join(names[:10])}'
        )
    return chosen


def _renderer(format_: str) -> Any:
    if format_ == "mermaid":
        from podplan.graph.mermaid import mermaid

        return mermaid
    from podplan.graph.svg import svg

    return svg
