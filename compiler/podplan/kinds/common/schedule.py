"""``schedule`` of a profile: the queue, the priority and the topology, for the scheduler that admits the job.

Sources: https://kueue.sigs.k8s.io/docs/tasks/run/jobs/, https://kueue.sigs.k8s.io/docs/concepts/workload_priority_class/,
https://kueue.sigs.k8s.io/docs/concepts/topology_aware_scheduling/.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, attribute_to
from podplan.core.typing import Any
from podplan.core.wording import add_article, join_words
from podplan.kinds.common.behaviors import QUEUE_LABEL, TOPOLOGY_ANNOTATION
from podplan.kinds.common.profile import ProfileRole, format_value
from podplan.kinds.spec import KUEUE_QUEUE_LABEL

T9K, VOLCANO, KUEUE = "t9k", "volcano", "kueue"
# The labels of a job by which Kueue finds what a field states.
KUEUE_LABELS = {"queue": KUEUE_QUEUE_LABEL, "priority": "kueue.x-k8s.io/priority-class"}
_TOPOLOGY_ANNOTATIONS = {
    "required": "kueue.x-k8s.io/podset-required-topology",
    "preferred": "kueue.x-k8s.io/podset-preferred-topology",
}
_PRIORITY_CLASSES = {VOLCANO: "PriorityClass", KUEUE: "WorkloadPriorityClass"}


def find_scheduler(spec: Cursor, schedulers: Sequence[str]) -> str:
    """Return the scheduler of a profile: the one that it names, else the first of ``schedulers``."""
    named = spec.get("schedule", "by").value
    return named if named in schedulers else schedulers[0]


def validate_schedule(spec: Cursor, schedulers: Sequence[str]) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each part of ``schedule`` that the kind with ``schedulers`` cannot express."""
    schedule, job = spec.get("schedule"), str(spec.get("job").value)
    named, priority, topology = (schedule.get(field) for field in ("by", "priority", "topology"))
    scheduler = find_scheduler(spec, schedulers)
    if named.exists and named.value not in schedulers:
        choices = join_words(list(schedulers), "or")
        message = f"schedule.by of {add_article(job)} is {choices}, not {format_value(named.value)}"
        yield Diagnostic("PROF024", message, named.path)
    if scheduler == T9K and isinstance(priority.value, str):
        message = (
            f"priority of {add_article(job)} is a number from 0 to 100, not {format_value(priority.value)}"
        )
        yield Diagnostic("PROF024", message, priority.path)
    elif scheduler != T9K and isinstance(priority.value, int):
        remedy = f"write the name of a {_PRIORITY_CLASSES[scheduler]}"
        message = f"{add_article(job)} has no number for a priority; {remedy}"
        yield Diagnostic("PROF020", message, priority.path)
    if topology.exists and scheduler != KUEUE:
        remedy = "write by: kueue as well" if KUEUE in schedulers else "only kinds that Kueue admits have it"
        message = f"{scheduler} does not read the topology of {add_article(job)}; {remedy}"
        yield Diagnostic("PROF020", message, topology.path, on_key=True)


def find_priority_class(spec: Cursor) -> Cursor | None:
    """Return the priority of a profile if it is the name of a class."""
    priority = spec.get("schedule", "priority")
    return priority if isinstance(priority.value, str) else None


def build_labels(spec: Cursor, schedulers: Sequence[str]) -> dict[str, Any]:
    """Return the labels by which Kueue finds the queue and the priority of a job."""
    if find_scheduler(spec, schedulers) != KUEUE:
        return {}
    values = {"queue": spec.get("schedule", "queue"), "priority": find_priority_class(spec)}
    return {
        KUEUE_LABELS[field]: attribute_to((value, QUEUE_LABEL), value.value)
        for field, value in values.items()
        if value is not None and value.exists
    }


def build_topology_annotations(role: ProfileRole) -> dict[str, Any]:
    """Return the annotations of the Pods of a role by which Kueue finds their topology."""
    topology = role.get_field("schedule").get("topology")
    return {
        _TOPOLOGY_ANNOTATIONS[field]: attribute_to((level, TOPOLOGY_ANNOTATION), level.value)
        for field, level in topology.fields().items()
        if field in _TOPOLOGY_ANNOTATIONS
    }
