"""Hover: the meaning of a field, and its effects at this position."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import islice

from podplan.core.errors import UsageError
from podplan.core.findings import Path
from podplan.core.limits import LimitExceeded
from podplan.core.provenance import Behavior
from podplan.core.typing import Any, NamedTuple
from podplan.integrations.lsp.cursor import CursorContext
from podplan.integrations.lsp.field_effects import (
    MAX_PLANS,
    DerivedValue,
    describe_overrides,
    describe_pods,
    iter_derived_values,
)
from podplan.integrations.lsp.workspace import Workspace
from podplan.kinds.registry import KIND_NAMES, find_kind, name_of
from podplan.pipeline import PipelineSettings
from podplan.report.lowering_map import find_field_lowering
from podplan.schema import catalog, fields
from podplan.workspace.files import OutsideRoot

MAX_EFFECTS = 6
_SCHEMA_KINDS = {"JobProfileBase": "JobProfile"}  # a partial kind has the same fields
MAX_BEHAVIORS = 4
# The fields, of profiles and CRs, that determine the number of Pods and GPUs.
SIZE_FIELDS = frozenset(
    [
        *(
            "replicas",
            "processes",
            "hardware",
            "resources",
            "roles",
            "elastic",
            "job",
            "matrix",
            "environments",
        ),
        *("replicaSpecs", "worker", "procPerNode", "procPerWorker", "slotsPerWorker", "limits"),
    ]
)


def find_schema_name(context: CursorContext) -> str:
    """Return the name of the schema of a document, by its group and kind; by its kind if the group is
    missing."""
    if known := find_kind(context.api_version, context.kind):
        return name_of(known)
    return _SCHEMA_KINDS.get(context.kind, context.kind)


class SchemaVersions(NamedTuple):
    """The versions that schemas depend on: of Kubernetes, and of operators by API group."""

    kubernetes: str
    operators: tuple[tuple[str, str], ...] = ()


def find_schema_versions(settings: PipelineSettings) -> SchemaVersions:
    """Return the versions of a configuration."""
    operators = settings.lowering_options.operator_versions
    return SchemaVersions(settings.kubernetes_version, tuple(sorted(operators.items())))


@cache
def load_kind_schema(name: str, versions: SchemaVersions) -> dict[str, Any]:
    """Return the schema with a name, or {}."""
    if name not in catalog.list_schema_names():
        return {}
    return catalog.build_schema(name, versions.kubernetes, dict(versions.operators))


def render_hover(context: CursorContext, workspace: Workspace) -> str | None:
    """Render the hover text as Markdown; None if there is nothing to show."""
    path = context.path
    if not path:
        return None
    hover_lines = list(
        _iter_meaning_lines(
            context, path, find_schema_versions(workspace.find_settings(context.document.path).settings)
        )
    )
    traced_effects: list[DerivedValue] = []
    with suppress(UsageError, LimitExceeded, OutsideRoot):  # the diagnostics report it
        hover_lines += _iter_effect_lines(context, path, workspace, traced_effects)
    behaviors = (
        *(fact for one in traced_effects for fact in one.behaviors),
        *_iter_behaviors(context, path, bool(traced_effects)),
    )
    behavior_by_id = {fact.id: fact for fact in behaviors}
    hover_lines += _format_block(
        [f"- {fact.text} [{fact.basis}]" for fact in list(behavior_by_id.values())[:MAX_BEHAVIORS]]
    )
    return "\n".join(hover_lines) if hover_lines else None


def _iter_behaviors(context: CursorContext, path: Path, has_traced: bool) -> Iterator[Behavior]:
    """Yield the behaviors of a field in general: those that name it, and its default if it is not traced."""
    if path[:2] == ("spec", "environments"):
        path = ("spec", *path[3:])
    kind = find_schema_name(context)
    lowering = find_field_lowering(kind, ".".join(step for step in path if isinstance(step, str)))
    if not has_traced:
        job = context.get_text(("spec", "job"))
        lowered_fields = (
            part for part in lowering.lowered_fields if part.kind == job or part.kind not in KIND_NAMES
        )
        yield from (fact for part in lowered_fields for fact in part.behaviors)
    yield from lowering.mentioning_behaviors


def _iter_meaning_lines(context: CursorContext, path: Path, versions: SchemaVersions) -> Iterator[str]:
    kind_schema = load_kind_schema(find_schema_name(context), versions)
    schemas = fields.find_schemas_at(kind_schema, path)
    if not schemas:
        return
    field_name = ".".join(str(step) for step in path if isinstance(step, str))
    kinds = " or ".join(fields.collect_types(schemas, kind_schema))
    yield f"**{field_name}**" + (f" · {kinds}" if kinds else "")
    description = fields.find_description(schemas, kind_schema)
    yield from _format_block([description] if description else [])
    choices = [
        str(value) for value in fields.collect_choices(schemas, kind_schema) if not isinstance(value, bool)
    ]
    limits = fields.collect_bounds(schemas, kind_schema)
    notes = [f"one of {', '.join(f'`{value}`' for value in choices)}"] if choices else []
    notes += [
        f"{word} `{limits[key]}`"
        for key, word in _LIMIT_LABELS.items()
        if key in limits and limits[key] not in fields.TYPE_LIMITS
    ]
    yield from _format_block(["; ".join(notes)] if notes else [])


_LIMIT_LABELS = {"minimum": "at least", "maximum": "at most", "default": "default"}


def _iter_effect_lines(
    context: CursorContext, path: Path, workspace: Workspace, traced_effects: list[DerivedValue]
) -> Iterator[str]:
    """Yield lines about the resulting Pods, and about fields of CR or Pods that originate here, in one
    variant.

    The latter are added to ``traced_effects``.
    """
    if (
        context.parsed is None
        or context.item is None
        or context.item.category not in ("profile", "base", "cr")
    ):
        return
    document_plans = list(islice(workspace.iter_plans(context.document), MAX_PLANS))
    if context.item.category != "base":
        document_plans = [plan for plan in document_plans if context.is_at(plan.item.doc)]
    if SIZE_FIELDS & {step for step in path[-2:] if isinstance(step, str)}:
        yield from _format_block([f"- {line}" for line in describe_pods(document_plans)])
    if len(path) < 2:
        return
    is_base = context.item.category == "base"
    overrides = describe_overrides(document_plans, context.parsed, path, with_names=is_base)
    yield from _format_block(["overridden:", *(f"- {line}" for line in overrides)] if overrides else [])
    for plan in document_plans:
        derived_values = list(islice(iter_derived_values(plan, context.parsed, path), MAX_EFFECTS + 1))
        if not derived_values:
            continue
        variant = f", {plan.variant_id}" if plan.variant_id else ""
        for document in dict.fromkeys(one.document for one in derived_values[:MAX_EFFECTS]):
            effect_lines = [
                f"- `{one.path}`: `{one.value}`"
                for one in derived_values[:MAX_EFFECTS]
                if one.document == document
            ]
            yield from _format_block([f"in {document}{variant}:", *effect_lines])
        yield from ["- …"] if len(derived_values) > MAX_EFFECTS else []
        traced_effects += derived_values
        return


def _format_block(lines: list[str]) -> list[str]:
    return ["", *lines] if lines else []
