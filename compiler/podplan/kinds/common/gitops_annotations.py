"""Annotations that a CR gets for the GitOps tool that applies it, besides those in the profile."""

from __future__ import annotations

from podplan.core.provenance import Behavior, Cursor, Flag, attribute_to, compute_traced
from podplan.core.typing import Any
from podplan.kinds.common.gitops_tools import ARGOCD_SYNC_OPTIONS, TOOL_ANNOTATIONS
from podplan.kinds.common.merge import drop_nulls


def build_annotations(metadata: Cursor, gitops_tool: str) -> Any:
    """Return the annotations of ``metadata`` with those for ``gitops_tool``; annotations in the profile take
    precedence.

    The option against pruning is appended to a list of sync options without an option about pruning.
    """
    written_annotations = metadata.get("annotations")
    if written_annotations.exists and not isinstance(written_annotations.value, dict):
        return written_annotations
    tool_annotations = {
        key: _build_annotation(metadata, written_annotations.get(key), fact, gitops_tool)
        for key, fact in TOOL_ANNOTATIONS[gitops_tool].items()
        if not written_annotations.get(key).exists
        or _lacks_sync_option(key, written_annotations.get(key), fact)
    }
    fields = {key: drop_nulls(below) for key, below in written_annotations.fields().items()}
    return attribute_to(
        written_annotations if written_annotations.exists else metadata, {**fields, **tool_annotations}
    )


def _build_annotation(metadata: Cursor, annotation: Cursor, behavior: Behavior, gitops_tool: str) -> Any:
    if not annotation.exists:
        return attribute_to((behavior, Flag(f"--gitops {gitops_tool}"), metadata), behavior.value)
    return compute_traced(
        lambda options: ",".join((*_split_options(options), behavior.value)), annotation, behavior=behavior
    )


def _lacks_sync_option(key: str, annotation: Cursor, behavior: Behavior) -> bool:
    """Whether an annotation is a list of options that lacks the one of ``behavior``."""
    if key != ARGOCD_SYNC_OPTIONS or not isinstance(annotation.value, str):
        return False
    name = behavior.value.partition("=")[0]
    return name not in (option.partition("=")[0] for option in _split_options(annotation.value))


def _split_options(text: str) -> list[str]:
    return [option.strip() for option in text.split(",") if option.strip()]
