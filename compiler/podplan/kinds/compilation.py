"""Compiles a resolved profile to a CR."""

from __future__ import annotations

from collections.abc import Iterable

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, TracedDocument, attribute_to, build_traced_document, root_cursor
from podplan.core.suggestions import suggest_phrase
from podplan.core.typing import Any, NamedTuple
from podplan.core.wording import join_words
from podplan.kinds.common.merge import apply_patches, drop_nulls, order_keys
from podplan.kinds.common.profile import find_repeated_names, find_unused_fields, format_value
from podplan.kinds.common.schedule import build_labels, validate_schedule
from podplan.kinds.registry import (
    COMPILED_KINDS,
    GroupVersionKind,
    iter_kinds_named,
    load_module,
    load_spec,
)

METADATA_FIELD_ORDER = ("name", "generateName", "namespace", "labels", "annotations")


class CompileResult(NamedTuple):
    """The CR, or None if the profile cannot be compiled; the paths of ``diagnostics`` are in the profile."""

    cr: TracedDocument | None
    diagnostics: list[Diagnostic]


def compile_profile(
    profile: TracedDocument, inventory: TracedDocument | None, gitops_tool: str = "none"
) -> CompileResult:
    """Compile a resolved profile: one without extends, params, environments, matrix and expressions.

    The CR states what the profile states: no default of a controller is written out, and only annotations for
    ``gitops_tool`` are added. Each path of it traces to the profile, the inventory or a behavior.
    """
    profile_cursor = root_cursor(profile)
    job_kind = profile_cursor.get("spec", "job")
    kinds = [kind for kind in iter_kinds_named(job_kind.value) if kind in COMPILED_KINDS.values()]
    if len(kinds) != 1:
        return CompileResult(None, [_diagnose_unknown_kind(job_kind, kinds)])
    kind, spec = kinds[0], load_spec(kinds[0])
    kind_module = load_module(kind, "compile")
    tree, diagnostics = kind_module.compile(
        profile_cursor, root_cursor(inventory if inventory is not None else TracedDocument("", {}))
    )
    profile_spec = profile_cursor.get("spec")
    diagnostics = [
        *find_unused_fields(profile_spec, spec, _find_kinds_with_field),
        *find_repeated_names(profile_spec),
        *validate_schedule(profile_spec, spec.schedulers),
        *diagnostics,
    ]
    overrides = (override.get("spec") for override in profile_cursor.get("spec", "override").entries())
    tree = apply_patches(tree, (spec for spec in overrides if isinstance(spec.value, dict)))
    return CompileResult(
        build_traced_document(
            _build_cr(profile_cursor, job_kind, kind, tree, gitops_tool, spec.schedulers),
            f"{kind.kind}/{_find_name(profile_cursor)}",
        ),
        diagnostics,
    )


def _build_cr(
    profile_cursor: Cursor,
    job_kind: Cursor,
    kind: GroupVersionKind,
    spec: Any,
    gitops_tool: str,
    schedulers: tuple[str, ...],
) -> Any:
    metadata = profile_cursor.get("metadata")
    labels = build_labels(profile_cursor.get("spec"), schedulers)
    return attribute_to(
        profile_cursor,
        {
            "apiVersion": attribute_to(job_kind, kind.api_version),
            "kind": job_kind if job_kind.value == kind.kind else attribute_to(job_kind, kind.kind),
            "metadata": _build_metadata(metadata, gitops_tool, labels),
            "spec": spec,
        },
    )


def _build_metadata(metadata_cursor: Cursor, gitops_tool: str, labels: dict[str, Any]) -> Any:
    """Return the metadata of the profile with ``labels``, and the name first even if a base profile gave the
    others."""
    if not isinstance(metadata_cursor.value, dict):
        return metadata_cursor
    fields = {key: drop_nulls(value) for key, value in metadata_cursor.fields().items()}
    if labels:
        written = metadata_cursor.get("labels")
        fields["labels"] = attribute_to(
            written if written.exists else metadata_cursor, {**written.fields(), **labels}
        )
    if gitops_tool != "none":
        from podplan.kinds.common.gitops_annotations import build_annotations

        fields["annotations"] = build_annotations(metadata_cursor, gitops_tool)
    return attribute_to(metadata_cursor, order_keys(fields, METADATA_FIELD_ORDER))


def _find_name(profile_cursor: Cursor) -> Any:
    metadata = profile_cursor.get("metadata")
    return metadata.get("name").value_or(metadata.get("generateName").value_or(""))


def _find_kinds_with_field(field: str, in_role: bool) -> Iterable[str]:
    """Return the kinds that have a field."""
    specs = ((name, load_spec(kind)) for name, kind in COMPILED_KINDS.items())
    return (name for name, spec in specs if field in (spec.role_fields if in_role else spec.profile_fields))


def _diagnose_unknown_kind(job_kind: Cursor, candidates: list[GroupVersionKind]) -> Diagnostic:
    kind_names = join_words(list(COMPILED_KINDS), "or")
    if not job_kind.exists:
        return Diagnostic("PROF025", f"spec.job is missing; write {kind_names}", job_kind.path[:-1])
    if candidates:
        names = join_words([kind.qualified_name for kind in candidates], "or")
        message = f"several API groups have a kind {format_value(job_kind.value)}; write {names}"
        return Diagnostic("PROF025", message, job_kind.path)
    hint = suggest_phrase(str(job_kind.value), COMPILED_KINDS) or f"; there is {kind_names}"
    return Diagnostic(
        "PROF025", f"there is no kind of job {format_value(job_kind.value)}{hint}", job_kind.path
    )
