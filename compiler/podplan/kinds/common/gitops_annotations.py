"""What a CR is given for the GitOps tool that applies it: annotations beside those that somebody wrote."""

from __future__ import annotations

from podplan.core.provenance import Cursor, Fact, Flag, at, computed
from podplan.core.typing import Any
from podplan.kinds.common.gitops_tools import ANNOTATIONS, ARGOCD_SYNC_OPTIONS
from podplan.kinds.common.merge import without_nulls


def annotated(metadata: Cursor, tool: str) -> Any:
    """The annotations of ``metadata`` with those for ``tool``; what is written stays as it is.

    A list of sync options that says nothing of pruning has the one for that put at its end.
    """
    written = metadata.get("annotations")
    if written.exists and not isinstance(written.value, dict):
        return written
    given = {
        key: _added(metadata, written.get(key), fact, tool)
        for key, fact in ANNOTATIONS[tool].items()
        if not written.get(key).exists or _may_grow(key, written.get(key), fact)
    }
    fields = {key: without_nulls(below) for key, below in written.fields().items()}
    return at(written if written.exists else metadata, {**fields, **given})


def _added(metadata: Cursor, written: Cursor, fact: Fact, tool: str) -> Any:
    if not written.exists:
        return at((fact, Flag(f"--gitops {tool}"), metadata), fact.value)
    return computed(lambda options: ",".join((*_options(options), fact.value)), written, fact=fact)


def _may_grow(key: str, written: Cursor, fact: Fact) -> bool:
    """Whether an annotation is a list of options, and none of them is the one of ``fact``."""
    if key != ARGOCD_SYNC_OPTIONS or not isinstance(written.value, str):
        return False
    name = fact.value.partition("=")[0]
    return name not in (option.partition("=")[0] for option in _options(written.value))


def _options(text: str) -> list[str]:
    return [option.strip() for option in text.split(",") if option.strip()]
