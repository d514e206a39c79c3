"""The GitOps tool of a job, and the annotations that it reads.

Sources: the Argo CD documentation on sync options, sync waves and resource hooks; the Flux documentation of
Kustomization; docs/evidence/gitops-argocd.md#pruning-with-confirmation, docs/evidence/gitops-flux.md#pruning.
"""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.findings import Path
from podplan.core.typing import Any
from podplan.kinds.common.gitops_tools import ARGOCD_SYNC_OPTIONS, ARGOCD_SYNC_WAVE
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.target import LoweredJob

ARGOCD_PREFIX, FLUX_PREFIX = "argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/"
TOOL_NAMES = {"argocd": "Argo CD", "flux": "Flux"}
HOOK_ANNOTATION, DELETE_POLICY_ANNOTATION, WAVE_ANNOTATION = (
    ARGOCD_PREFIX + "hook",
    ARGOCD_PREFIX + "hook-delete-policy",
    ARGOCD_SYNC_WAVE,
)
PRUNE_ANNOTATION, SUBSTITUTE_ANNOTATION, FORCE_ANNOTATION = (
    FLUX_PREFIX + "prune",
    FLUX_PREFIX + "substitute",
    FLUX_PREFIX + "force",
)


def get_annotation_path(name: str) -> Path:
    """Return the path of an annotation."""
    return ("metadata", "annotations", name)


def get_annotations(data: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the annotations of an object that are text; the API server rejects other values."""
    annotations = get_mapping(get_mapping(data, "metadata"), "annotations")
    return {key: value for key, value in annotations.items() if isinstance(value, str)}


def find_gitops_tool(job: LoweredJob) -> str:
    """Return the tool that applies a job, by the configuration or an annotation; "" if it is not known."""
    if job.gitops_tool in TOOL_NAMES:
        return job.gitops_tool
    annotations = get_annotations(job.cr.data) if job.cr is not None else {}
    prefixes = (("argocd", ARGOCD_PREFIX), ("flux", FLUX_PREFIX))
    return next((tool for tool, prefix in prefixes if any(key.startswith(prefix) for key in annotations)), "")


def find_hook_phases(data: Mapping[str, Any]) -> list[str]:
    """Return the phases of Argo CD in which an object is a hook."""
    return [phase for phase in split_list(get_annotations(data).get(HOOK_ANNOTATION, "")) if phase != "Skip"]


def parse_sync_options(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the sync options of Argo CD that an object has, by name."""
    pairs = (
        option.partition("=") for option in split_list(get_annotations(data).get(ARGOCD_SYNC_OPTIONS, ""))
    )
    return {name.strip(): value.strip() for name, _, value in pairs}


def parse_delete_policies(data: Mapping[str, Any]) -> list[str]:
    """Return when Argo CD deletes a hook; the default is before it creates it again."""
    return split_list(get_annotations(data).get(DELETE_POLICY_ANNOTATION, "")) or ["BeforeHookCreation"]


def parse_sync_wave(data: Mapping[str, Any]) -> int:
    """Return the sync wave of an object; Argo CD ignores a value that is not an integer."""
    return parse_integer(get_text(get_annotations(data), WAVE_ANNOTATION)) or 0


def parse_integer(value: str) -> int | None:
    """Parse an integer as strconv.Atoi of Go does: an optional sign and digits."""
    digits = value[1:] if value[:1] in ("+", "-") else value
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 18):
        return None
    return -int(digits) if value[0] == "-" else int(digits)


def split_list(value: str) -> list[str]:
    """Split the value of an annotation at commas."""
    return [one.strip() for one in value.split(",") if one.strip()]
