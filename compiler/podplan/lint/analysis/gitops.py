"""What a GitOps tool reads on an object, and which tool it is.

Sources: the Argo CD documentation on sync options, sync waves and resource hooks; the Flux documentation of
Kustomization; docs/evidence/gitops-argocd.md#pruning-with-confirmation, docs/evidence/gitops-flux.md#pruning.
"""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.findings import Path
from podplan.core.typing import Any
from podplan.kinds.common.gitops_tools import ARGOCD_SYNC_OPTIONS, ARGOCD_SYNC_WAVE
from podplan.kubernetes.accessors import mapping, text
from podplan.lint.target import Job

ARGOCD, FLUX = "argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/"
NAMES = {"argocd": "Argo CD", "flux": "Flux"}
HOOK, DELETE_POLICY, WAVE = ARGOCD + "hook", ARGOCD + "hook-delete-policy", ARGOCD_SYNC_WAVE
PRUNE, SUBSTITUTE, FORCE = FLUX + "prune", FLUX + "substitute", FLUX + "force"


def at(name: str) -> Path:
    """The path of an annotation."""
    return ("metadata", "annotations", name)


def annotations_of(data: Mapping[str, Any]) -> Mapping[str, str]:
    """The annotations of an object that are text; another value is what the API server refuses."""
    found = mapping(mapping(data, "metadata"), "annotations")
    return {key: value for key, value in found.items() if isinstance(value, str)}


def tool_of(job: Job) -> str:
    """The tool that applies a job, as the configuration says or an annotation shows; "" for none known."""
    if job.gitops in NAMES:
        return job.gitops
    written = annotations_of(job.cr.data) if job.cr is not None else {}
    prefixes = (("argocd", ARGOCD), ("flux", FLUX))
    return next((tool for tool, prefix in prefixes if any(key.startswith(prefix) for key in written)), "")


def hooks(data: Mapping[str, Any]) -> list[str]:
    """The phases that an object is a hook of, in Argo CD."""
    return [phase for phase in listed(annotations_of(data).get(HOOK, "")) if phase != "Skip"]


def sync_options(data: Mapping[str, Any]) -> dict[str, str]:
    """The sync options of Argo CD that an object has, by name."""
    pairs = (option.partition("=") for option in listed(annotations_of(data).get(ARGOCD_SYNC_OPTIONS, "")))
    return {name.strip(): value.strip() for name, _, value in pairs}


def delete_policies(data: Mapping[str, Any]) -> list[str]:
    """When Argo CD deletes a hook; without a policy, before it makes it again."""
    return listed(annotations_of(data).get(DELETE_POLICY, "")) or ["BeforeHookCreation"]


def wave_of(data: Mapping[str, Any]) -> int:
    """The sync wave of an object; Argo CD takes what is no whole number for none at all."""
    return whole_number(text(annotations_of(data), WAVE)) or 0


def whole_number(written: str) -> int | None:
    """A whole number as strconv.Atoi of Go reads it: a sign and digits, and nothing besides."""
    digits = written[1:] if written[:1] in ("+", "-") else written
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 18):
        return None
    return -int(digits) if written[0] == "-" else int(digits)


def listed(written: str) -> list[str]:
    """What an annotation lists, parted by commas."""
    return [one.strip() for one in written.split(",") if one.strip()]
