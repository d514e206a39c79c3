"""podplan graph"""

from __future__ import annotations

from collections.abc import Sequence

import click

from podplan.cli.exit_codes import CLEAN, NO_INPUT
from podplan.cli.help import HelpCommand
from podplan.cli.job_selection import JobSelection, job_option, report_failed_jobs
from podplan.cli.options import input_options, lowering_options
from podplan.cli.output import print_message, replace_file, write_stdout
from podplan.cli.plan_loader import load_job_plans
from podplan.core.errors import UsageError
from podplan.core.limits import LimitExceeded
from podplan.core.typing import Any
from podplan.pipeline import JobPlan, PipelineSettings, is_job
from podplan.tools.graph.model import Graph
from podplan.tools.graph.picture import build_graph
from podplan.tools.graph.variants import GraphFold

PLAN_CATEGORIES = frozenset({"profile", "cr"})
MERMAID_SUFFIXES = (".mmd", ".mermaid")
OTHER_FORMATS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf", ".eps", ".dot", ".gv", ".html")


@click.command("graph", cls=HelpCommand)
@click.argument("paths", nargs=-1)
@input_options
@lowering_options
@job_option("Draw only this job.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["svg", "mermaid"]),
    default=None,
    help="Format of the picture [svg].",
)
@click.option("-o", "--output", metavar="FILE", default="", help="Output file instead of standard output.")
def command(paths: Sequence[str], job: str, format_: str | None, output: str, **flags: Any) -> int:
    """Draw the Pods of jobs with their volumes, references and network connections.

    Jobs with errors are named on standard error with their findings, and all others are drawn; the exit code
    is then 1. Several jobs are drawn one below the other, and variants of a profile that differ only in their
    names once, with their number. An output file that ends with .mmd is written as Mermaid, any other as SVG,
    unless --format says otherwise; names of other picture formats are refused. Values of Secrets and
    variables are not drawn.
    """
    if output.lower().endswith(OTHER_FORMATS):
        raise UsageError(f"{output}: podplan graph writes SVG (.svg) or Mermaid (.mmd), and no other format")
    gallery = _Gallery()
    selection = JobSelection(job)
    loaded = load_job_plans(paths, PLAN_CATEGORIES, gallery.add, selection=selection, **flags)
    selection.require_found()
    report_failed_jobs(loaded.failed, "drawn")
    if not gallery.has_jobs:
        if loaded.code == CLEAN:
            print_message("no JobProfile and no training job here, so nothing to draw")
        return loaded.code or NO_INPUT
    graphs = gallery.finish()
    text = _select_renderer(format_ or ("mermaid" if output.endswith(MERMAID_SUFFIXES) else "svg"))(graphs)
    if output:
        replace_file(output, text)
    else:
        write_stdout(text)
    return loaded.code


class _Gallery:
    """Builds the graphs of jobs from one plan after the other."""

    def __init__(self) -> None:
        self.has_jobs = False
        self._fold = GraphFold()
        self._failure: LimitExceeded | None = None

    def add(self, plan: JobPlan, _: PipelineSettings) -> None:
        """Add a plan that has the CR of a job."""
        if plan.cr is None or not plan.is_lowered or not is_job(plan):
            return
        self.has_jobs = True
        if self._failure is None:
            try:
                variant = plan.variant_id or ""
                graph = build_graph(plan.cr, plan.replica_groups, variant, plan.referenced_documents)
                self._fold.add(graph, plan.item.doc.name, variant)
            except LimitExceeded as error:  # findings are reported first
                self._failure = error.with_file(plan.item.doc.name)

    def finish(self) -> list[Graph]:
        """Return the graphs. Raises LimitExceeded: if one is too big."""
        if self._failure is not None:
            raise self._failure
        return self._fold.list_graphs()


def _select_renderer(format_: str) -> Any:
    if format_ == "mermaid":
        from podplan.tools.graph.mermaid import render_mermaid

        return render_mermaid
    from podplan.tools.graph.svg import render_svg

    return render_svg
