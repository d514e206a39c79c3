"""JobSets as Kueue queues them. Source: docs/evidence/kueue.md#pod-sets."""

from __future__ import annotations

from podplan.core.provenance import Cursor
from podplan.core.replica_groups import LoweringOptions
from podplan.kinds.spec import PodSet, References


def list_pod_sets(cr: Cursor, _references: References, _options: LoweringOptions) -> list[PodSet]:
    """A pod set for each replicated job: the Pods that run at once in all its Jobs."""
    pod_sets = []
    for entry in cr.get("spec", "replicatedJobs").entries():
        spec = entry.get("template", "spec")
        parallelism, completions = spec.get("parallelism"), spec.get("completions")
        pods = int(parallelism.value_or(1))
        if completions.exists:
            pods = min(pods, int(completions.value))
        replicas = entry.get("replicas")
        place = replicas if replicas.exists and replicas.value != 1 else parallelism
        name = str(entry.get("name").value).lower()
        pod_sets.append(PodSet(name, int(replicas.value_or(1)) * pods, spec.get("template"), place))
    return pod_sets
