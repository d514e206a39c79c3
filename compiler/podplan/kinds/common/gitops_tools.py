"""Behaviors of GitOps tools: the annotations of a CR that they read. They are no lowering options.

A training job that runs must not be pruned because its file was moved or removed, and Flux substitutes
``${…}`` in every document that it applies.
"""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.provenance import Behavior

GITOPS_TOOLS = ("none", "argocd", "flux")

ARGOCD_SYNC_OPTIONS = "argocd.argoproj.io/sync-options"
ARGOCD_SYNC_WAVE = "argocd.argoproj.io/sync-wave"
ARGOCD_PRUNE = Behavior(
    "gitops.argocd-prune",
    "Argo CD asks before it deletes a resource with Prune=confirm that is not in git any more",
    "documented",
    "docs/evidence/gitops-argocd.md#pruning-with-confirmation",
    "Prune=confirm",
)
FLUX_PRUNE = Behavior(
    "gitops.flux-prune",
    "Flux does not delete a resource with prune: disabled that is not in its source any more",
    "documented",
    "docs/evidence/gitops-flux.md#pruning",
    "disabled",
)
FLUX_SUBSTITUTE = Behavior(
    "gitops.flux-substitute",
    "Flux replaces no ${VARIABLE} in a resource with substitute: disabled",
    "documented",
    "docs/evidence/gitops-flux.md#substitution",
    "disabled",
)
# The annotations that a rendered CR gets for each tool, with the value of the behavior.
TOOL_ANNOTATIONS: Mapping[str, Mapping[str, Behavior]] = {
    "none": {},
    "argocd": {ARGOCD_SYNC_OPTIONS: ARGOCD_PRUNE},
    "flux": {
        "kustomize.toolkit.fluxcd.io/prune": FLUX_PRUNE,
        "kustomize.toolkit.fluxcd.io/substitute": FLUX_SUBSTITUTE,
    },
}
