"""Pods of a Job, as the Job controller of Kubernetes creates them.

A Job may itself stand for several: the Jobs of a JobSet that differ only by their index. Then the index of a
Pod counts through the Pods of the first Job, of the second and so on.
"""

from __future__ import annotations

from collections.abc import Callable

from podplan.core.indexed_text import Digest, IndexDigits, Indexed
from podplan.core.provenance import Cursor, Traced, attribute_to, root_cursor
from podplan.core.replica_groups import ReplicaGroup, build_group
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.batch import behaviors
from podplan.kinds.batch.pod_defaults import apply_pod_defaults
from podplan.kinds.common.field_order import order_container_fields, order_pod_fields
from podplan.kinds.common.merge import list_entries, to_plain_data
from podplan.kubernetes.accessors import get_text

OWN_MANAGER = "kubernetes.io/job-controller"
INDEX_ANNOTATION = "batch.kubernetes.io/job-completion-index"
INDEX_VARIABLE = "JOB_COMPLETION_INDEX"
_MAX_GENERATED_NAME = 58
TracedMap = dict[str, Any]
Parts = tuple[str | int | IndexDigits, ...]


class IndexRange(NamedTuple):
    """The Pods of each Job from one index on; without ``is_indexed`` they are all alike."""

    first: int
    size: int
    is_indexed: bool


class JobPods(NamedTuple):
    """Pods of the Jobs of a group on their way: what a webhook may change, and how texts depend on the index.

    ``width`` is how many of these Pods each Job has.
    """

    job: ReplicaGroup
    range: IndexRange
    width: int
    metadata: TracedMap
    spec: TracedMap

    def spread(self, text: Indexed | Digest) -> Indexed | Digest | str:
        """A text that depends on the index of the Job, for the Pods."""
        return text.text_at(self.job.start) if self.job.replicas == 1 else text.spread(self.width)

    def index_text(self) -> Indexed | str:
        """The index of a Pod in its Job."""
        if self.range.size == 1:
            return str(self.range.first)
        return Indexed((self.index_part(),))

    def index_part(self) -> str | int | IndexDigits:
        if self.range.size == 1:
            return str(self.range.first)
        return 0 if self.job.replicas == 1 else IndexDigits(1, self.width, self.range.first)


Webhook = Callable[[JobPods], JobPods]


def count_active_pods(job: Cursor) -> int:
    """How many Pods a Job has as soon as it runs."""
    spec = job.get("spec")
    parallelism, completions = spec.get("parallelism").value_or(1), spec.get("completions").value
    return max(int(parallelism if completions is None else min(parallelism, completions)), 0)


def is_indexed(job: Cursor) -> bool:
    return bool(job.get("spec", "completionMode").value == "Indexed")


def creates_pods(job: Cursor, resumed: bool) -> bool:
    """Whether the Job controller creates the Pods of a Job.

    The Job is neither suspended nor managed by others, and does not fail at once by its deadline.
    """
    spec = job.get("spec")
    is_suspended = spec.get("suspend").value is True and not resumed
    if is_suspended or spec.get("activeDeadlineSeconds").value == 0:
        return False
    return bool(spec.get("managedBy").value_or(OWN_MANAGER) == OWN_MANAGER)


def split_pods(job: Cursor, splits_first: bool = False) -> list[IndexRange]:
    """The Pods of a Job as ranges; with ``splits_first`` the first is one of its own."""
    count, indexed = count_active_pods(job), is_indexed(job)
    ranges = [IndexRange(0, count, indexed)]
    if splits_first and indexed:
        ranges = [IndexRange(0, min(count, 1), True), IndexRange(1, count - 1, True)]
    return [one for one in ranges if one.size > 0]


def build_pods(
    jobs: ReplicaGroup,
    pod_range: IndexRange,
    webhook: Webhook | None = None,
    replica_type: str = "pod",
    *,
    with_priority: bool = True,
) -> ReplicaGroup:
    """The Pods of a range for each Job that a group stands for.

    ``with_priority`` states the priority that the API server gives a Pod without a PriorityClass.
    """
    job = root_cursor(jobs.doc)
    width = pod_range.size
    pods = JobPods(jobs, pod_range, width, {}, {})
    pods = pods._replace(metadata=_build_metadata(pods, job), spec=_build_spec(pods, job, with_priority))
    if webhook is not None:
        pods = webhook(pods)
    tree = attribute_to(
        (job.get("spec", "template"), behaviors.POD),
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": pods.metadata,
            "spec": order_pod_fields(pods.spec),
        },
    )
    start = pod_range.first if jobs.replicas == 1 else jobs.start * width
    if jobs.replicas == 1 and pod_range.size == 1:
        start = pod_range.first
    return build_group(tree, replica_type, start, jobs.replicas * width)._replace(training_container_index=0)


def spread_tree(pods: JobPods, cursor: Cursor) -> Any:
    """What is at ``cursor`` of a Job for its Pods: texts that depend on the Job depend on the Pod."""
    texts = pods.job.doc.replica_texts
    if cursor.path in texts:
        text = texts[cursor.path]
        return attribute_to(cursor, pods.spread(text) if isinstance(text, Indexed | Digest) else text)
    if not any(path[: len(cursor.path)] == cursor.path for path in texts):
        return cursor
    if isinstance(cursor.value, dict):
        return attribute_to(cursor, {key: spread_tree(pods, one) for key, one in cursor.fields().items()})
    return attribute_to(cursor, [spread_tree(pods, one) for one in cursor.entries()])


def _spread_name(pods: JobPods, job: Cursor) -> Parts:
    text = pods.job.doc.replica_texts.get(("metadata", "name"))
    spread = pods.spread(text) if isinstance(text, Indexed) else str(job.get("metadata", "name").value)
    return spread.parts if isinstance(spread, Indexed) else (str(spread),)


def _join(*parts: str | int | IndexDigits) -> Indexed | str:
    """A text of parts, in which those that are plain and follow each other are one."""
    joined: list[str | int | IndexDigits] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    return joined[0] if len(joined) == 1 and isinstance(joined[0], str) else Indexed(tuple(joined))


def _build_metadata(pods: JobPods, job: Cursor) -> TracedMap:
    name, template = _spread_name(pods, job), job.get("spec", "template", "metadata")
    job_name = attribute_to((behaviors.LABELS, job.get("metadata", "name")), _join(*name))
    labels = {
        **_spread_map(pods, template.get("labels")),
        "batch.kubernetes.io/job-name": job_name,
        "job-name": job_name,
    }
    annotations = _spread_map(pods, template.get("annotations"))
    prefix: Indexed | str = _join(*name, "-")
    if pods.range.is_indexed:
        suffix = ("-", pods.index_part(), "-")
        prefix = _join(*_truncate(name, pods), *suffix)
        index = attribute_to((behaviors.INDEX, job.get("spec", "completionMode")), pods.index_text())
        labels[INDEX_ANNOTATION] = annotations[INDEX_ANNOTATION] = index
        if job.get("spec", "backoffLimitPerIndex").exists:
            annotations["batch.kubernetes.io/job-index-failure-count"] = attribute_to(
                (behaviors.INDEX, job.get("spec", "backoffLimitPerIndex")), "0"
            )
    tree: TracedMap = {
        "generateName": attribute_to((job.get("metadata", "name"), behaviors.POD_NAME), prefix),
        "namespace": job.get("metadata", "namespace"),
        "labels": attribute_to((template.get("labels"), behaviors.LABELS), labels),
    }
    if annotations:
        tree["annotations"] = attribute_to((template.get("annotations"), behaviors.INDEX), annotations)
    return tree


def _truncate(name: Parts, pods: JobPods) -> Parts:
    """The name of a Job so far as the name of a Pod, with its index, has room for it."""
    last = pods.range.first + pods.range.size - 1
    room = _MAX_GENERATED_NAME - len(f"-{last}-")
    text = Indexed(name).text_at(0)
    return name if len(text) <= room else (text[:room],)


def _spread_map(pods: JobPods, cursor: Cursor) -> TracedMap:
    return {key: spread_tree(pods, one) for key, one in cursor.fields().items()}


def _build_spec(pods: JobPods, job: Cursor, with_priority: bool) -> TracedMap:
    written = job.get("spec", "template", "spec")
    tree = apply_pod_defaults(written)
    for field in ("nodeSelector",):
        if written.get(field).exists:
            tree[field] = spread_tree(pods, written.get(field))
    if with_priority and not written.get("priorityClassName").exists and not written.get("priority").exists:
        tree["priority"] = attribute_to((behaviors.DEFAULT, written), 0)
    if pods.range.is_indexed:
        mode = job.get("spec", "completionMode")
        if not written.get("hostname").exists:
            host = _join(*_spread_name(pods, job), "-", pods.index_part())
            tree["hostname"] = attribute_to((behaviors.INDEX, mode), host)
        for field in ("initContainers", "containers"):
            if isinstance(tree.get(field), list):
                tree[field] = [_add_index_variable(one, mode) for one in tree[field]]
    return tree


def _add_index_variable(container: Traced, mode: Cursor) -> Traced:
    """A container with the variable that has the index of the Pod, unless it has one of that name."""
    tree: TracedMap = container.value
    env = list_entries(tree.get("env"))
    if any(get_text(to_plain_data(one), "name") == INDEX_VARIABLE for one in env):
        return container
    reference = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX_ANNOTATION}']"}}
    variable = attribute_to((behaviors.INDEX, mode), {"name": INDEX_VARIABLE, "valueFrom": reference})
    return Traced(order_container_fields({**tree, "env": [*env, variable]}), container.origin)
