"""The decision of Kueue about a job as written, of which another tool may fill in a part."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.cluster.admission import QueuedJob, Verdict, decide_admission, find_queue_label
from podplan.cluster.cohorts import QuotaTree
from podplan.cluster.kinds import KUEUE_GROUP
from podplan.cluster.model import Cluster
from podplan.core.provenance import Cursor
from podplan.workspace.templates import iter_placeholders

# Fields of a Pod that Kueue reads, besides the resources of its containers.
_POD_FIELDS = (
    *("nodeSelector", "affinity", "tolerations", "priorityClassName", "runtimeClassName"),
    *("overhead", "resources"),
)
_CONTAINER_FIELDS = ("initContainers", "containers")


def decide_as_written(job: QueuedJob, cluster: Cluster, tree: QuotaTree) -> Verdict:
    """Decide what Kueue does with a job; unknown if that depends on a value that another tool fills in."""
    verdict = decide_admission(job, cluster, tree)
    places = list(_iter_metadata(job.place))
    if verdict.name != "ignored":
        places += _iter_fields(job)
    for place in places:
        placeholder = next(iter_placeholders(place.value), "")
        if placeholder:
            label = find_queue_label(job).value
            queue = str(label) if label is not None else None
            return Verdict("unknown", explain_placeholder(placeholder), queue, place=place)
    return verdict


def explain_placeholder(placeholder: str) -> str:
    """Return why the verdict is unknown if another tool fills in a value of the job."""
    return f"another tool fills in {placeholder}, on which the verdict depends"


def _iter_metadata(holder: Cursor) -> Iterator[Cursor]:
    """Yield the namespace, and the labels and annotations of Kueue."""
    metadata = holder.get("metadata")
    yield metadata.get("namespace")
    for field in ("labels", "annotations"):
        values = metadata.get(field).fields()
        yield from (value for name, value in values.items() if str(name).startswith(KUEUE_GROUP))


def _iter_fields(job: QueuedJob) -> Iterator[Cursor]:
    """Yield the other values that Kueue decides by: templates and the priority class."""
    yield job.priority_class
    for pod_set in job.pod_sets or ():
        yield from _iter_metadata(pod_set.template)
        spec = pod_set.template.get("spec")
        yield from (spec.get(field) for field in _POD_FIELDS)
        for field in _CONTAINER_FIELDS:
            yield from (container.get("resources") for container in spec.get(field).entries())
