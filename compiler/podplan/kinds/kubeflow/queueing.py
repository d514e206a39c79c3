"""Jobs of the training operator as Kueue queues them. Source: docs/evidence/kueue.md#pod-sets."""

from __future__ import annotations

from podplan.core.provenance import Cursor
from podplan.core.replica_groups import LoweringOptions
from podplan.kinds.kubeflow.training_kind import TrainingKind
from podplan.kinds.spec import PodSet, QueueIntegration, References

# The order of pod sets, for all kinds: that of Kueue, which passes over other types.
_ORDER = ("Chief", "Master", "PS", "Worker", "Evaluator")


def build_integration(kind: TrainingKind) -> QueueIntegration:
    """How Kueue sees the jobs of a kind."""

    def list_pod_sets(cr: Cursor, _references: References, _options: LoweringOptions) -> list[PodSet]:
        entries = cr.get("spec", kind.specs_field)
        return [
            PodSet(
                name.lower(),
                int(entries.get(name, "replicas").value_or(1)),
                entries.get(name, "template"),
                entries.get(name, "replicas"),
            )
            for name in _ORDER
            if name in kind.types and entries.get(name).exists
        ]

    return QueueIntegration(list_pod_sets)
