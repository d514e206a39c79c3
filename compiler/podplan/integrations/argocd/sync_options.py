"""Adds sync options to generated CRs, after those of their profiles."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from podplan.core.errors import UsageError
from podplan.core.typing import Any
from podplan.kinds.common.gitops_tools import ARGOCD_SYNC_OPTIONS

_OPTION = re.compile(r"[A-Za-z]+=[A-Za-z]+")


def require_sync_options(options: Iterable[str]) -> None:
    """Raise UsageError for an invalid sync option; a valid one is such as ``Delete=confirm``."""
    for option in options:
        if not _OPTION.fullmatch(option):
            raise UsageError(f'--sync-option wants NAME=VALUE, such as Delete=confirm, not "{option[:60]}"')


def add_sync_options(data: Mapping[str, Any], options: Iterable[str]) -> dict[str, Any]:
    """Return an object with these options appended; an option that it already has keeps its value."""
    metadata = dict(data.get("metadata") or {})
    annotations = dict(metadata.get("annotations") or {})
    own_options = [option.strip() for option in str(annotations.get(ARGOCD_SYNC_OPTIONS, "")).split(",")]
    own_options = [option for option in own_options if option]
    names = {option.partition("=")[0] for option in own_options}
    added_options = [option for option in dict.fromkeys(options) if option.partition("=")[0] not in names]
    if not added_options:
        return dict(data)
    annotations[ARGOCD_SYNC_OPTIONS] = ",".join([*own_options, *added_options])
    metadata["annotations"] = annotations
    return {**data, "metadata": metadata}
