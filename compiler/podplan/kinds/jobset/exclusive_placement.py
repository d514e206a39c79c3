"""What the Pod webhook of JobSet does so that each Job has a topology domain for itself.

Source: docs/evidence/jobset.md#exclusive-placement.
"""

from __future__ import annotations

from podplan.core.indexed_text import Indexed
from podplan.core.provenance import Cursor, Traced, attribute_to, root_cursor
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.batch.pods import JobPods, Webhook
from podplan.kinds.jobset import behaviors

TOPOLOGY_ANNOTATION = "alpha.jobset.sigs.k8s.io/exclusive-topology"
NODE_SELECTOR_ANNOTATION = "alpha.jobset.sigs.k8s.io/node-selector"
_JOB_KEY = "jobset.sigs.k8s.io/job-key"
_PRIORITY = "jobset.sigs.k8s.io/priority"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class Placement(NamedTuple):
    """Where the annotations about exclusive placement are written; None where they are not."""

    topology: Cursor | None = None
    node_selector: Cursor | None = None
    labels_all_pods: bool = True

    @property
    def by_node_selector(self) -> bool:
        return self.node_selector is not None and self.node_selector.exists

    @property
    def splits_pods(self) -> bool:
        """Whether the first Pod of a Job differs from the others."""
        return self.topology is not None and not self.by_node_selector


def build_webhook(placement: Placement) -> Webhook:
    """What the webhook changes in the Pods of the Jobs with this placement."""

    def admit(pods: JobPods) -> JobPods:
        if placement.by_node_selector or (placement.topology is None and not placement.labels_all_pods):
            return pods
        labels = pods.metadata["labels"]
        priority = _find_priority(pods)
        if priority is None:
            return pods
        label = attribute_to((behaviors.PRIORITY,), priority)
        metadata = {**pods.metadata, "labels": Traced({**labels.value, _PRIORITY: label}, labels.origin)}
        pods = pods._replace(metadata=metadata)
        if placement.topology is None:
            return pods
        if pods.range.first == 0:
            return pods._replace(spec=_keep_others_out(pods, placement.topology, priority))
        return pods._replace(spec=_follow_first(pods, placement.topology))

    return admit


def _find_priority(pods: JobPods) -> str | None:
    written = root_cursor(pods.job.doc).get("spec", "template", "spec")
    if written.get("priority").exists:
        return str(written.get("priority").value)
    return None if written.get("priorityClassName").exists else "0"


def _keep_others_out(pods: JobPods, topology: Cursor, priority: str) -> dict[str, Any]:
    written = root_cursor(pods.job.doc).get("spec", "template", "spec", "affinity")
    key = pods.metadata["labels"].value[_JOB_KEY]

    def build_term(*expressions: dict[str, Any]) -> Traced:
        return attribute_to(
            (topology, behaviors.EXCLUSIVE),
            {
                "labelSelector": {"matchExpressions": list(expressions)},
                "topologyKey": topology,
                "namespaceSelector": {},
            },
        )

    own = build_term({"key": _JOB_KEY, "operator": "In", "values": [key]})
    others = build_term(
        {"key": _JOB_KEY, "operator": "Exists"},
        {"key": _JOB_KEY, "operator": "NotIn", "values": [key]},
        {"key": _PRIORITY, "operator": "In", "values": [priority]},
    )
    affinity: dict[str, Any] = dict(written.fields())
    for field, term in (("podAffinity", own), ("podAntiAffinity", others)):
        terms = [*written.get(field, _REQUIRED).entries(), term]
        affinity[field] = attribute_to(
            (topology, behaviors.EXCLUSIVE), {**written.get(field).fields(), _REQUIRED: terms}
        )
    return {**pods.spec, "affinity": attribute_to((topology, behaviors.EXCLUSIVE), affinity)}


def _follow_first(pods: JobPods, topology: Cursor) -> dict[str, Any]:
    written = root_cursor(pods.job.doc).get("spec", "template", "spec", "nodeSelector")
    domain = attribute_to((topology, behaviors.DOMAIN), pods.spread(Indexed(("domain-", 0))))
    selector = {**written.fields(), str(topology.value): domain}
    return {**pods.spec, "nodeSelector": attribute_to((topology, behaviors.FOLLOWER), selector)}
