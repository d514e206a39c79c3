"""Jobs with a map of replica types as Kueue queues them. Source: docs/evidence/kueue.md#pod-sets."""

from __future__ import annotations

from collections.abc import Collection

from podplan.core.provenance import Cursor, Path
from podplan.core.replica_groups import LoweringOptions
from podplan.kinds.spec import PodSet, QueueIntegration, References

# The order in which Kueue lists pod sets; it passes over other types.
_ORDER = ("Chief", "Master", "PS", "Launcher", "Worker", "Evaluator")


def build_integration(specs_path: Path, types: Collection[str]) -> QueueIntegration:
    """How Kueue sees jobs with a pod set for each replica type at ``specs_path``."""

    def list_pod_sets(cr: Cursor, _references: References, _options: LoweringOptions) -> list[PodSet]:
        entries = cr.get(*specs_path)
        return [
            PodSet(
                name.lower(),
                int(entries.get(name, "replicas").value_or(1)),
                entries.get(name, "template"),
                entries.get(name, "replicas"),
            )
            for name in _ORDER
            if name in types and entries.get(name).exists
        ]

    return QueueIntegration(list_pod_sets)
