"""What an editor shows beside a document: its lowered objects as text, and its picture."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from podplan.core.errors import UsageError
from podplan.core.typing import Any
from podplan.integrations.lsp.documents import OpenDocument
from podplan.integrations.lsp.field_effects import MAX_PLANS
from podplan.integrations.lsp.workspace import Workspace
from podplan.pipeline import JobPlan, PipelineSettings
from podplan.rendering import Folded
from podplan.tools.graph.picture import build_graph
from podplan.tools.graph.svg import render_svg
from podplan.tools.graph.variants import GraphFold


class _Preview(Folded):
    """Folded objects below the job and variant, because objects of two variants may have the same name."""

    def documents(self, plan: JobPlan, settings: PipelineSettings) -> Iterator[str]:
        assert plan.cr is not None
        metadata = plan.cr.data.get("metadata") or {}
        name = " ".join(str(metadata.get("name", metadata.get("generateName"))).split())
        variant = f", {_name_variant(plan.variant_id)}" if plan.profile is not None else ""
        heading = f"# === {plan.cr.data.get('kind')}/{name}{variant}\n"
        for text in super().documents(plan, settings):
            yield heading + text
            heading = ""


def lower_document(document: OpenDocument, workspace: Workspace, variant: str | None) -> dict[str, Any]:
    """Return the lowered objects of a document as folded YAML, and the names of its variants.

    ``variant`` is one of these names, None for all. At most ``MAX_PLANS`` variants are lowered.

    Raises UsageError: if there are none. Raises LimitExceeded: if the text is too long.
    """
    settings = workspace.find_settings(document.path).settings
    plans, is_truncated = _list_plans(document, workspace)
    preview = _Preview()
    lowered_plans = _select_lowered(plans, variant)
    for plan in lowered_plans:
        preview.add(plan, settings)
    try:
        text = preview.finish().text()
    except ValueError as error:  # a number that YAML cannot express
        raise UsageError(str(error)) from None
    compiled = [plan for plan in plans if plan.cr is not None]
    names = dict.fromkeys(_name_variant(plan.variant_id) for plan in compiled if plan.profile is not None)
    failed = [_name_variant(name) for plan in plans for name in _list_failed(plan)]
    notes = [f"# not lowered because of errors: {', '.join(failed)}\n"] if failed and variant is None else []
    if is_truncated:
        notes.append(f"# the first {MAX_PLANS} variants; podplan lower --fold prints all\n")
    return {"text": "".join(notes) + text, "variants": list(names)}


def draw_document(document: OpenDocument, workspace: Workspace) -> dict[str, Any]:
    """Return the picture of a document as SVG; variants that differ only in their names are drawn once.

    Raises UsageError: if there is nothing to draw. Raises LimitExceeded: if the picture is too big.
    """
    plans, _ = _list_plans(document, workspace)
    fold = GraphFold()
    for plan in _select_lowered(plans, None):
        assert plan.cr is not None
        variant = plan.variant_id or ""
        fold.add(
            build_graph(plan.cr, plan.replica_groups, variant, plan.referenced_documents),
            plan.item.doc.name,
            variant,
        )
    return {"svg": render_svg(fold.list_graphs())}


def _list_plans(document: OpenDocument, workspace: Workspace) -> tuple[list[JobPlan], bool]:
    """Return the plans of a document, and whether there are more; if it has none, of its dependents."""
    plans = list(islice(workspace.iter_plans(document), MAX_PLANS + 1))
    own = [plan for plan in plans if plan.item.doc.name == document.path]
    return (own or plans)[:MAX_PLANS], len(own or plans) > MAX_PLANS


def _select_lowered(plans: list[JobPlan], variant: str | None) -> list[JobPlan]:
    """Return the lowered plans of a variant, or of all. Raises UsageError: if there are none."""
    lowered_plans = [
        plan
        for plan in plans
        if plan.cr is not None and plan.is_lowered and variant in (None, _name_variant(plan.variant_id))
    ]
    if lowered_plans:
        return lowered_plans
    if variant is not None:
        raise UsageError(f"{variant} is not lowered; the findings say why")
    if plans:
        raise UsageError("this file has errors that prevent lowering; the findings name them")
    raise UsageError("no JobProfile and no training job can be read here")


def _list_failed(plan: JobPlan) -> tuple[str, ...]:
    """Return the variants of a plan that are not lowered."""
    if plan.variant_id is None:
        return plan.failed_environments
    return () if plan.is_lowered else (plan.variant_id,)


def _name_variant(variant_id: str | None) -> str:
    return variant_id or "as written"
