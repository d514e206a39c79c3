"""Labels of jobs and annotations of their Pod templates that Kueue's webhooks reject.

Source: docs/evidence/kueue.md#refusals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from podplan.cluster.kinds import KUEUE_GROUP
from podplan.cluster.model import QUEUE_LABEL
from podplan.cluster.topology import (
    GROUP_NAME,
    PREFERRED,
    REQUIRED,
    SLICE_SIZE,
    SLICE_TOPOLOGY,
    UNCONSTRAINED,
)
from podplan.core.provenance import Cursor
from podplan.kinds.spec import PodSet
from podplan.kubernetes.names import matches_form

MAX_EXEC_TIME = f"{KUEUE_GROUP}/max-exec-time-seconds"
_PODS_OF_GROUP = 2


def iter_label_refusals(job: Cursor, queue: Cursor) -> Iterator[tuple[Cursor, str]]:
    """Yield what is refused in the labels of a job, each with its place; ``queue`` is the label with the
    queue."""
    if queue.value is not None and not matches_form("dns-subdomain", str(queue.value)):
        message = f'{QUEUE_LABEL}: Invalid value: "{queue.value}": must be the name of a LocalQueue'
        yield queue, message
    seconds = job.get("metadata", "labels", MAX_EXEC_TIME)
    if seconds.exists:
        text = str(seconds.value)
        if not text.lstrip("+-").isdigit() or int(text) <= 0:
            yield seconds, f'{MAX_EXEC_TIME}: Invalid value: "{text}": should be greater than 0'


def iter_template_refusals(pod_sets: Sequence[PodSet]) -> Iterator[tuple[Cursor, str]]:
    """Yield what is refused in the topology annotations of Pod templates."""
    groups: dict[str, list[PodSet]] = {}
    for pod_set in pod_sets:
        annotations = pod_set.template.get("metadata", "annotations")
        yield from _iter_topology_refusals(annotations, pod_set.size)
        if annotations.get(GROUP_NAME).exists:
            groups.setdefault(str(annotations.get(GROUP_NAME).value), []).append(pod_set)
    for name, members in groups.items():
        place = members[0].template.get("metadata", "annotations", GROUP_NAME)
        if len(members) != _PODS_OF_GROUP:
            yield (
                place,
                f'{GROUP_NAME}: Invalid value: "{name}": can only define groups of exactly 2 pod groups',
            )
            continue
        if all(member.size != 1 for member in members):
            yield place, f'{GROUP_NAME}: Invalid value: "{name}": one of the pod groups must have one Pod'
        requests = {
            tuple(member.template.get("metadata", "annotations", key).value for key in (REQUIRED, PREFERRED))
            for member in members
        }
        if len(requests) > 1 or requests == {(None, None)}:
            yield (
                place,
                f"{GROUP_NAME}: both pod groups need the same required or preferred topology",
            )


def _iter_topology_refusals(annotations: Cursor, count: int) -> Iterator[tuple[Cursor, str]]:
    written = [annotations.get(key) for key in (REQUIRED, PREFERRED, UNCONSTRAINED)]
    requests = [one for one in written if one.exists]
    if len(requests) > 1:
        yield requests[1], "must not contain more than one topology annotation"
    for one in (*written[:2], annotations.get(SLICE_TOPOLOGY)):
        if one.exists and not matches_form("qualified-name", str(one.value)):
            yield one, f'{one.path[-1]}: Invalid value: "{one.value}": must be the label of a level'
    if annotations.get(GROUP_NAME).exists and not matches_form(
        "label-value", str(annotations.get(GROUP_NAME).value)
    ):
        yield annotations.get(GROUP_NAME), f"{GROUP_NAME}: Invalid value: must be the value of a label"
    topology, size = annotations.get(SLICE_TOPOLOGY), annotations.get(SLICE_SIZE)
    if topology.exists and not size.exists:
        yield topology, f"{SLICE_SIZE}: must be set when '{SLICE_TOPOLOGY}' is specified"
    elif size.exists and not topology.exists:
        yield size, f"{SLICE_SIZE}: may not be set when '{SLICE_TOPOLOGY}' is not specified"
    if size.exists:
        text = str(size.value)
        if not text.lstrip("-").isdigit():
            yield size, f'{SLICE_SIZE}: Invalid value: "{text}": must be a numeric value'
        elif int(text) < 1 or int(text) > count:
            yield size, f"{SLICE_SIZE}: Invalid value: {text}: must be from 1 to the number of Pods, {count}"
