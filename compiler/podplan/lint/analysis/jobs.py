"""Parts of a job that checks use: replica types of the CR, Pods, GPUs, and their locations."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from podplan.core.findings import Path, value_at
from podplan.core.provenance import TracedDocument, trace_to_source
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple, TypeVar
from podplan.core.wording import format_count
from podplan.kinds.registry import find_kind, load_spec, resource_label
from podplan.kinds.spec import CleanUp, KindSpec, iter_replica_types
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.analysis.pod_jobs import find_pod_jobs
from podplan.lint.analysis.resources import count_accelerators, list_containers
from podplan.lint.target import LoweredJob, cache_latest

T = TypeVar("T")


class ReplicaSpec(NamedTuple):
    """A replica type of a CR: its path in the CR, and the data there."""

    type: str
    path: Path
    data: Mapping[str, Any]


class JobIdentity(NamedTuple):
    """The identity of a job in the repository: its file, its document and its name.

    A profile in several environments is one instance, the entries of a matrix are several. ``entry`` is the
    path to an entry of a List.
    """

    file: str
    document_index: int
    name: str
    entry: Path = ()


class JobNameSummary(NamedTuple):
    """The summary of a job for comparisons with others: its name and its identity."""

    namespace: str
    job_label: str
    identity: JobIdentity

    @property
    def keys(self) -> list[Hashable]:
        return [(self.namespace, self.job_label)]

    @property
    def owner(self) -> Hashable:
        return self.identity


@cache_latest
def spec_of(job: LoweredJob) -> Mapping[str, Any]:
    """Return the spec of the CR."""
    return get_mapping(job.cr.data, "spec") if job.cr is not None else {}


@cache_latest
def kind_of(job: LoweredJob) -> str:
    return get_text(job.cr.data, "kind") if job.cr is not None else ""


@cache_latest
def find_kind_spec(job: LoweredJob) -> KindSpec | None:
    """Return the ``KindSpec`` of the job; None without a CR."""
    if job.declared_kind is not None:
        return job.declared_kind
    kind = find_kind(job.cr.data.get("apiVersion"), kind_of(job)) if job.cr is not None else None
    return load_spec(kind) if kind is not None else None


def has_trait(job: LoweredJob, trait: str) -> bool:
    """Whether the kind of the job has a trait of podplan.kinds.traits."""
    kind_spec = find_kind_spec(job)
    return kind_spec is not None and trait in kind_spec.traits


def format_type_of(group: ReplicaGroup) -> str:
    """Format the replica type of Pods for messages: " of worker"; "" for a Job, which has none."""
    return f" of {group.replica_type}" if group.replica_type not in ("", "pod") else ""


def find_clean_up(job: LoweredJob) -> CleanUp | None:
    """Return the clean-up field; None if the kind has none."""
    kind_spec = find_kind_spec(job)
    return kind_spec.clean_up if kind_spec is not None else None


def leaves_replicas(job: LoweredJob, clean_up: CleanUp) -> bool:
    """Whether replicas continue to run after the clean-up of the job, as they do by default."""
    values = (value_at(spec_of(job), field) for field in (clean_up.field, clean_up.other_field) if field)
    value = next((value for value in values if value is not None), clean_up.leaving_value)
    return value == clean_up.leaving_value


def get_job_label(job: LoweredJob) -> str:
    """Return kind and name for messages, with the group if several groups have the kind."""
    metadata = get_mapping(job.cr.data, "metadata") if job.cr is not None else {}
    kind = resource_label(job.cr.data.get("apiVersion"), kind_of(job)) if job.cr is not None else ""
    return f"{kind}/{get_text(metadata, 'name') or get_text(metadata, 'generateName')}"


def namespace_of(job: LoweredJob) -> str:
    """Return the namespace of the CR, or ""."""
    return get_text(get_mapping(job.cr.data, "metadata"), "namespace") if job.cr is not None else ""


@cache_latest
def get_replica_specs(job: LoweredJob) -> tuple[ReplicaSpec, ...]:
    """Return the replica types of the CR in their order, without empty maps."""
    kind_spec = find_kind_spec(job)
    if kind_spec is None or job.cr is None:
        return ()
    return tuple(
        ReplicaSpec(one.type, one.path, one.data)
        for one in iter_replica_types(kind_spec, job.cr.data)
        if one.data or isinstance(one.path[-1], int)
    )


@cache_latest
def count_replicas_by_type(job: LoweredJob) -> dict[str, int]:
    """Count the Pods of each replica type."""
    counts: dict[str, int] = {}
    for group in job.pods:
        counts[group.replica_type] = counts.get(group.replica_type, 0) + group.replicas
    return counts


def is_number_of_workers(job: LoweredJob, option: str, number: int) -> bool:
    """Whether an option --workers may be the number of replicas of the type worker, and not of processes.

    A job has to tell its processes that number where its controller does not.
    """
    is_given = option == "--workers" and has_trait(job, "ranks-by-user")
    return is_given and number == count_replicas_by_type(job).get("worker", 0) > 1


@cache_latest
def find_replica_places(job: LoweredJob) -> dict[str, tuple[TracedDocument, Path, str]]:
    """Return where the number of replicas of each type is written, as a related location: "4 Pods"."""
    counts = count_replicas_by_type(job)
    places: dict[str, tuple[TracedDocument, Path, str]] = {}
    for replica_spec in get_replica_specs(job):
        number = counts.get(replica_spec.type, 0)
        if job.cr is not None and "replicas" in replica_spec.data and number:
            places[replica_spec.type] = (
                job.cr,
                (*replica_spec.path, "replicas"),
                format_count(number, "Pod"),
            )
    for group in job.pods if not places else ():
        pod_jobs = find_pod_jobs(job, group)
        if pod_jobs is not None:
            label = format_count(counts[group.replica_type], "Pod")
            if pod_jobs.jobs > 1:
                label = f"{format_count(pod_jobs.parallelism, 'Pod')} in each of {pod_jobs.jobs} Jobs"
            places.setdefault(group.replica_type, (pod_jobs.doc, pod_jobs.parallelism_path, label))
    return places


def list_replica_places(job: LoweredJob) -> list[tuple[TracedDocument, Path, str]]:
    """Return where the numbers of replicas of all types are written."""
    return list(find_replica_places(job).values())


@cache_latest
def count_pods(job: LoweredJob) -> int:
    """Count the Pods of the job."""
    return sum(group.replicas for group in job.pods)


def find_training_pods(job: LoweredJob) -> list[ReplicaGroup]:
    """Return the Pods that train: all except a launcher."""
    return [
        group
        for group in job.pods
        if not (has_trait(job, "launcher-replica") and group.replica_type == "launcher")
    ]


def count_gpus(group: ReplicaGroup) -> int:
    """Count the GPUs of one Pod of a group."""
    return sum(count_accelerators(container).number for _, container in list_containers(group))


def find_gpu_path(group: ReplicaGroup) -> Path | None:
    """Return the path of the GPUs of the first container that has any."""
    for path, container in list_containers(group):
        amount = count_accelerators(container)
        if amount.number and amount.path is not None:
            return (*path, *amount.path)
    return None


def count_pods_and_gpus(groups: list[ReplicaGroup]) -> tuple[int, int]:
    """Count the Pods of groups and their GPUs."""
    return sum(g.replicas for g in groups), sum(g.replicas * count_gpus(g) for g in groups)


def find_pod_group(job: LoweredJob) -> ReplicaGroup | None:
    """Return the PodGroup of the job; None if it is not scheduled as a gang."""
    return next((group for group in job.groups if group.doc.data["kind"] == "PodGroup"), None)


def queue_of(gang: ReplicaGroup) -> str:
    """Return the queue of a PodGroup."""
    return get_text(get_mapping(gang.doc.data, "spec"), "queue")


def has_isolated_replicas(job: LoweredJob) -> bool:
    """Whether the replicas cannot reach each other because the CR does not request Services.

    Source: docs/evidence/t9k-genericjob.md#services.
    """
    return has_trait(job, "service-on-request") and not get_mapping(spec_of(job), "service")


def is_mode_enabled(job: LoweredJob, name: str) -> bool:
    """Whether the CR enables a run mode: debug or pause."""
    return name in _find_enabled_modes(job)


@cache_latest
def _find_enabled_modes(job: LoweredJob) -> list[str]:
    modes = get_mapping(spec_of(job), "runMode")
    return [name for name in modes if get_mapping(modes, name).get("enabled") is True]


def find_torchrun_switch(job: LoweredJob) -> list[tuple[TracedDocument, Path, str]]:
    """Return the field that decides whether the controller starts torchrun, as a related location."""
    candidates: tuple[tuple[TracedDocument | None, Path], ...] = (
        (job.cr, ("spec", "torchrunConfig", "enabled")),
        (job.profile, ("spec", "launcher")),
    )
    for doc, path in candidates:
        if doc is not None and value_at(doc.data, path) is not None:
            return [(doc, path, "selects the launcher")]
    return []


def find_written_path(data: object, *path: str | int) -> Path:
    """Return the part of ``path`` that exists in ``data``: the location to report for a missing field."""
    for depth, step in enumerate(path):
        child = _get_child(data, step)
        if child is None:
            return path[:depth]
        data = child
    return path


def _get_child(data: object, step: str | int) -> object:
    if isinstance(data, dict):
        return data.get(step)
    if isinstance(data, list) and isinstance(step, int) and 0 <= step < len(data):
        return data[step]
    return None


def identify_job(job: LoweredJob) -> JobIdentity:
    """Return the identity of a job."""
    assert job.cr is not None
    source_doc = trace_to_source(job.cr, find_written_path(job.cr.data, "metadata", "name"))[-1]
    label = get_job_label(job)
    if source_doc.doc.source is None:
        return JobIdentity(source_doc.doc.name, 0, label)
    entry = source_doc.path[:-2] if source_doc.path[:1] == ("items",) else ()
    return JobIdentity(source_doc.doc.source.file, source_doc.doc.source.index, label, entry)


@cache_latest
def find_gpu_pods(job: LoweredJob) -> list[ReplicaGroup]:
    """Return the groups of Pods that have GPUs."""
    return [group for group in job.pods if count_gpus(group)]


@cache_latest
def build_name_summary(job: LoweredJob) -> JobNameSummary:
    """Return the name and the identity of a job."""
    identity = identify_job(job)
    return JobNameSummary(namespace_of(job), identity.name, identity)


def format_list(words: list[str], limit: int = 4) -> str:
    """Format words as a list for messages."""
    shown = words[:limit]
    hidden_count = len(words) - len(shown)
    if hidden_count:
        return f"{', '.join(shown)} and {hidden_count} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)
