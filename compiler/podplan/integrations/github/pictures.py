"""Mermaid drawings of the jobs that a change creates or changes, for the job summary."""

from __future__ import annotations

from podplan.checker.check import collect_findings
from podplan.core.limits import LimitExceeded
from podplan.pipeline import JobPlan, PipelineSettings
from podplan.tools.diff.model import Diff
from podplan.tools.graph.mermaid import render_mermaid
from podplan.tools.graph.picture import build_graph
from podplan.tools.graph.variants import GraphFold
from podplan.workspace.file_loader import load_files
from podplan.workspace.loader import Loader

MAX_JOBS = 5
MAX_TEXT_LENGTH = 20_000  # characters; GitHub draws up to 50,000


def render_pictures(diff: Diff, settings: PipelineSettings) -> str:
    """Render created and changed jobs as one collapsed drawing; "" if there are none."""
    wanted = {
        (job.namespace, job.name, job.environment): job.file
        for job in diff.jobs
        if job.is_job and job.what in ("created", "changed", "mended") and job.effect != "none"
    }
    shown_keys = list(wanted)[:MAX_JOBS]
    fold = GraphFold()
    too_large: list[str] = []

    def draw(plan: JobPlan, _: bool) -> None:
        if plan.cr is None or not plan.is_lowered:
            return
        metadata = plan.cr.data.get("metadata") or {}
        name = str(metadata.get("name") or "")
        if (str(metadata.get("namespace") or ""), name, plan.environment) in shown_keys:
            try:
                graph = build_graph(
                    plan.cr, plan.replica_groups, plan.variant_id or "", plan.referenced_documents
                )
            except LimitExceeded:
                too_large.append(name)
            else:
                fold.add(graph, plan.item.doc.name, plan.variant_id or "")

    files = dict.fromkeys(wanted[key] for key in shown_keys)
    collect_findings(
        load_files(files),
        settings._replace(policies=()),
        Loader(),
        frozenset({"profile", "cr"}),
        draw,
    )
    text = "" if fold.is_empty else render_mermaid(fold.list_graphs())
    omitted = len(wanted) - len(shown_keys) + len(too_large)
    if not text or len(text) > MAX_TEXT_LENGTH:
        return ""
    note = f"\n{omitted} more: podplan graph draws them\n" if omitted else ""
    title = "The Pods of the changed jobs"
    return f"<details><summary>{title}</summary>\n\n```mermaid\n{text}```\n{note}\n</details>\n"
