"""Jobs of Volcano: what its webhook refuses, and their PodGroup.

Source: docs/workload-mapping.md#bundled-mappings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Diagnostic, Path
from podplan.core.provenance import Behavior, Cursor, attribute_to
from podplan.core.replica_groups import ReplicaGroup, build_group
from podplan.core.suggestions import suggest_phrase
from podplan.core.typing import Any
from podplan.kinds.workload_mapping.known_controllers import KnownController
from podplan.kubernetes.accessors import get_entries, get_mapping, get_number, get_text, get_texts

_WEBHOOK = "the webhook of Volcano refuses it"
_MAX_POD_NAME = 63
_COUNTS = ("replicas", "minAvailable")
_EVENTS = (
    "*",
    "PodFailed",
    "PodEvicted",
    "PodPending",
    "Unknown",
    "TaskCompleted",
    "TaskFailed",
    "JobUpdated",
)
_ACTIONS = (
    "AbortJob",
    "RestartJob",
    "RestartTask",
    "RestartPod",
    "RestartPartition",
    "TerminateJob",
    "CompleteJob",
    "ResumeJob",
)
POD_GROUP = Behavior(
    "declared.volcano-pod-group",
    "Volcano creates a PodGroup for each Job, with its queue and minAvailable, by default that of all tasks.",
    "documented",
    "docs/workload-mapping.md#bundled-mappings",
)


def validate_cr(cr: Mapping[str, Any]) -> list[Diagnostic]:
    """Return what the webhook of Volcano refuses in a Job."""
    spec, name = get_mapping(cr, "spec"), get_text(get_mapping(cr, "metadata"), "name")
    return [*_iter_problems(spec), *_iter_name_problems(spec, name)]


def _iter_name_problems(spec: Mapping[str, Any], job: str) -> Iterator[Diagnostic]:
    """Yield the longest name of a Pod, with the number of its task, if it is too long."""
    names = [f"{job}-{get_text(task, 'name')}-{number}" for number, task in get_entries(spec, "tasks")]
    longest = max(names, key=len, default="")
    if job and len(longest) > _MAX_POD_NAME:
        message = f'the name "{longest}" has {len(longest)} characters, and {_MAX_POD_NAME} are allowed'
        yield Diagnostic("SCHEMA006", f"{message}; {_WEBHOOK}", ("metadata", "name"))


def _iter_problems(spec: Mapping[str, Any]) -> Iterator[Diagnostic]:
    tasks = list(get_entries(spec, "tasks"))
    if not tasks:
        yield Diagnostic("SCHEMA003", f"the job has no tasks; {_WEBHOOK}", ("spec",))
    seen: set[str] = set()
    for number, task in tasks:
        path: Path = ("spec", "tasks", number)
        name, replicas, minimum = task.get("name"), *(get_number(task, one) for one in _COUNTS)
        if minimum > replicas:
            message = f"minAvailable is {minimum}, and the task has {replicas} replicas; {_WEBHOOK}"
            yield Diagnostic("SCHEMA005", message, (*path, "minAvailable"))
        if isinstance(name, str) and name in seen:
            yield Diagnostic("SCHEMA007", f'there are two tasks "{name}"; {_WEBHOOK}', (*path, "name"))
        elif isinstance(name, str):
            seen.add(name)
        yield from _iter_policy_problems(task, path)
    total, minimum = sum(get_number(task, "replicas") for _, task in tasks), get_number(spec, "minAvailable")
    if minimum > total and tasks:
        message = f"minAvailable is {minimum}, and the tasks have {total} replicas together; {_WEBHOOK}"
        yield Diagnostic("SCHEMA005", message, ("spec", "minAvailable"))
    yield from _iter_policy_problems(spec, ("spec",))


def _iter_policy_problems(holder: Mapping[str, Any], path: Path) -> Iterator[Diagnostic]:
    """Yield the problems of the policies of a job or of a task."""
    for number, policy in get_entries(holder, "policies"):
        at: Path = (*path, "policies", number)
        events: list[tuple[Path, str]] = [
            (("events", index), event) for index, event in get_texts(policy, "events")
        ]
        if get_text(policy, "event"):
            events.append((("event",), get_text(policy, "event")))
        if events and policy.get("exitCode") is not None:
            message = f"a policy has either an event or an exitCode; {_WEBHOOK}"
            yield Diagnostic("SCHEMA009", message, (*at, "exitCode"))
        elif not events and policy.get("exitCode") is None:
            message = f"a policy needs an event or an exitCode; {_WEBHOOK}"
            yield Diagnostic("SCHEMA003", message, at)
        for steps, event in events:
            if event not in _EVENTS:
                message = f'there is no event "{event}"{suggest_phrase(event, _EVENTS)}; {_WEBHOOK}'
                yield Diagnostic("SCHEMA004", message, (*at, *steps))
        action = get_text(policy, "action")
        if events and action not in _ACTIONS:
            message = f'there is no action "{action}"{suggest_phrase(action, _ACTIONS)}; {_WEBHOOK}'
            yield Diagnostic("SCHEMA004", message, (*at, "action") if "action" in policy else at)


def lower_gang(cr: Cursor) -> list[ReplicaGroup]:
    """Return the PodGroup of a Job."""
    spec = cr.get("spec")
    name, minimum, queue = cr.get("metadata", "name"), spec.get("minAvailable"), spec.get("queue")
    members = sum(
        get_number(task, "minAvailable") if "minAvailable" in task else get_number(task, "replicas")
        for _, task in get_entries(spec.value, "tasks")
    )
    tree = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {
            "name": attribute_to((POD_GROUP, name), str(name.value_or("job"))),
            "namespace": cr.get("metadata", "namespace"),
        },
        "spec": {
            "minMember": minimum if minimum.value else attribute_to((POD_GROUP, spec.get("tasks")), members),
            "queue": queue if queue.value else attribute_to((POD_GROUP, spec), "default"),
        },
    }
    return [build_group(attribute_to((POD_GROUP, spec), tree))]


CONTROLLER = KnownController(validate_cr, frozenset(("own-name-rules",)), lower_gang=lower_gang)
