"""podplan graph"""

from __future__ import annotations

from collections.abc import Sequence

import click

from podplan.cli.exit_codes import CLEAN, NOTHING
from podplan.cli.options import input_options, lowering_options
from podplan.cli.output import replace_file, say, write
from podplan.cli.plan_loader import produce
from podplan.core.errors import RequestError
from podplan.core.limits import BoundExceeded
from podplan.core.typing import Any
from podplan.pipeline import Plan, Settings
from podplan.tools.graph.model import Picture
from podplan.tools.graph.picture import picture

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
    gallery = _Gallery(job)
    made = produce(paths, WANTED, gallery.add, **flags)
    if made.code != CLEAN:
        return made.code
    if not made.jobs:
        say("no JobProfile and no training job here, so nothing to draw")
        return NOTHING
    pictures = gallery.finished()
    text = _renderer(format_ or ("mermaid" if output.endswith(MERMAID_FILES) else "svg"))(pictures)
    if output:
        replace_file(output, text)
    else:
        write(text)
    return CLEAN


class _Gallery:
    """The pictures of the job that is asked for, or of all, made of plans one after the other."""

    def __init__(self, job: str) -> None:
        self._job = job
        self._names: dict[str, None] = {}
        self._pictures: list[Picture] = []
        self._failure: BoundExceeded | None = None

    def add(self, plan: Plan, _: Settings) -> None:
        """One more plan that has a CR."""
        if plan.cr is None or not plan.lowered:
            return
        name = str((plan.cr.data.get("metadata") or {}).get("name") or "")
        self._names[name] = None
        if self._job in ("", name) and self._failure is None:
            try:
                self._pictures.append(picture(plan.cr, plan.groups, plan.variant or ""))
            except BoundExceeded as error:  # findings are told first
                self._failure = error.in_file(plan.item.doc.name)

    def finished(self) -> list[Picture]:
        """The pictures. Raises RequestError where there are none, and BoundExceeded."""
        if self._failure is not None:
            raise self._failure
        if not self._pictures:
            from podplan.core.suggestions import did_you_mean

            names = list(self._names)
            near = did_you_mean(self._job, names)
            raise RequestError(f'no job "{self._job}" here{near}; there are {", ".join(names[:10])}')
        return self._pictures


def _renderer(format_: str) -> Any:
    if format_ == "mermaid":
        from podplan.tools.graph.mermaid import mermaid

        return mermaid
    from podplan.tools.graph.svg import svg

    return svg
