"""A job as checks about several of its objects see it: roles of the CR, Pods, GPUs, places to point at."""

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
    """An entry of a CR that has replicas: its place in the CR and what is written there."""

    type: str
    path: Path
    data: Mapping[str, Any]


class JobIdentity(NamedTuple):
    """Which job of the repository this is: the file and document that it is written in, and its name.

    A profile in several environments is one instance, the entries of a matrix are several. ``entry`` is the
    path to an entry of a List.
    """

    file: str
    document_index: int
    name: str
    entry: Path = ()


class JobNameSummary(NamedTuple):
    """What a job leaves for those that are compared with it: its name, and which job it is."""

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
    """The spec of the CR."""
    return get_mapping(job.cr.data, "spec") if job.cr is not None else {}


@cache_latest
def kind_of(job: LoweredJob) -> str:
    return get_text(job.cr.data, "kind") if job.cr is not None else ""


@cache_latest
def find_kind_spec(job: LoweredJob) -> KindSpec | None:
    """What the kind of the job answers; None without a CR."""
    if job.declared_kind is not None:
        return job.declared_kind
    kind = find_kind(job.cr.data.get("apiVersion"), kind_of(job)) if job.cr is not None else None
    return load_spec(kind) if kind is not None else None


def has_trait(job: LoweredJob, trait: str) -> bool:
    """Whether the kind of the job has a trait of podplan.kinds.traits."""
    kind_spec = find_kind_spec(job)
    return kind_spec is not None and trait in kind_spec.traits


def format_type_of(group: ReplicaGroup) -> str:
    """The replica type of Pods after the word Pods: " of worker"; "" for those of a Job, which has none."""
    return f" of {group.replica_type}" if group.replica_type not in ("", "pod") else ""


def find_clean_up(job: LoweredJob) -> CleanUp | None:
    """The field that says what ends with the job; None where the kind has none."""
    kind_spec = find_kind_spec(job)
    return kind_spec.clean_up if kind_spec is not None else None


def leaves_replicas(job: LoweredJob, clean_up: CleanUp) -> bool:
    """Whether the clean-up of the job leaves replicas running, which it does unless the CR says otherwise."""
    values = (value_at(spec_of(job), field) for field in (clean_up.field, clean_up.other_field) if field)
    value = next((value for value in values if value is not None), clean_up.leaving_value)
    return value == clean_up.leaving_value


def get_job_label(job: LoweredJob) -> str:
    """The job as messages name it: kind and name; the kind has its group where several groups have it."""
    metadata = get_mapping(job.cr.data, "metadata") if job.cr is not None else {}
    kind = resource_label(job.cr.data.get("apiVersion"), kind_of(job)) if job.cr is not None else ""
    return f"{kind}/{get_text(metadata, 'name') or get_text(metadata, 'generateName')}"


def namespace_of(job: LoweredJob) -> str:
    """The namespace that the CR names, or ""."""
    return get_text(get_mapping(job.cr.data, "metadata"), "namespace") if job.cr is not None else ""


@cache_latest
def get_replica_specs(job: LoweredJob) -> tuple[ReplicaSpec, ...]:
    """The replica types of the CR, in the order written; an empty map is none."""
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
    """How many Pods of each replica type there are."""
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
    """Where the number of replicas of each type is written, as a related place: "4 Pods"."""
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
            places.setdefault(group.replica_type, (pod_jobs.doc, pod_jobs.count_path, label))
    return places


def list_replica_places(job: LoweredJob) -> list[tuple[TracedDocument, Path, str]]:
    """Where the numbers of replicas are written, of all types."""
    return list(find_replica_places(job).values())


@cache_latest
def count_pods(job: LoweredJob) -> int:
    """How many Pods the job has."""
    return sum(group.replicas for group in job.pods)


def find_training_pods(job: LoweredJob) -> list[ReplicaGroup]:
    """The Pods that train: all but the one that only launches."""
    return [
        group
        for group in job.pods
        if not (has_trait(job, "launcher-replica") and group.replica_type == "launcher")
    ]


def count_gpus(group: ReplicaGroup) -> int:
    """How many GPUs one Pod of a group has."""
    return sum(count_accelerators(container).number for _, container in list_containers(group))


def find_gpu_path(group: ReplicaGroup) -> Path | None:
    """Where the first container that has GPUs says so."""
    for path, container in list_containers(group):
        amount = count_accelerators(container)
        if amount.number and amount.path is not None:
            return (*path, *amount.path)
    return None


def count_pods_and_gpus(groups: list[ReplicaGroup]) -> tuple[int, int]:
    """How many Pods there are in groups, and how many GPUs they have together."""
    return sum(g.replicas for g in groups), sum(g.replicas * count_gpus(g) for g in groups)


def find_pod_group(job: LoweredJob) -> ReplicaGroup | None:
    """The PodGroup of the job, where it is scheduled as a gang."""
    return next((group for group in job.groups if group.doc.data["kind"] == "PodGroup"), None)


def queue_of(gang: ReplicaGroup) -> str:
    """The queue of a PodGroup."""
    return get_text(get_mapping(gang.doc.data, "spec"), "queue")


def has_isolated_replicas(job: LoweredJob) -> bool:
    """Whether the replicas cannot reach each other: the CR could ask for Services, and does not.

    Source: docs/evidence/t9k-genericjob.md#services.
    """
    return has_trait(job, "service-on-request") and not get_mapping(spec_of(job), "service")


def is_mode_enabled(job: LoweredJob, name: str) -> bool:
    """Whether the CR turns a run mode on: debug or pause."""
    return name in _find_enabled_modes(job)


@cache_latest
def _find_enabled_modes(job: LoweredJob) -> list[str]:
    modes = get_mapping(spec_of(job), "runMode")
    return [name for name in modes if get_mapping(modes, name).get("enabled") is True]


def find_torchrun_switch(job: LoweredJob) -> list[tuple[TracedDocument, Path, str]]:
    """The line that says whether the controller starts torchrun, as a related place, if there is one."""
    candidates: tuple[tuple[TracedDocument | None, Path], ...] = (
        (job.cr, ("spec", "torchrunConfig", "enabled")),
        (job.profile, ("spec", "launcher")),
    )
    for doc, path in candidates:
        if doc is not None and value_at(doc.data, path) is not None:
            return [(doc, path, "selects the launcher")]
    return []


def find_written_path(data: object, *path: str | int) -> Path:
    """``path`` as far as it is written in ``data``: the place to point at for what is missing."""
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
    """Which job of the repository a job is."""
    assert job.cr is not None
    source_doc = trace_to_source(job.cr, find_written_path(job.cr.data, "metadata", "name"))[-1]
    label = get_job_label(job)
    if source_doc.doc.source is None:
        return JobIdentity(source_doc.doc.name, 0, label)
    entry = source_doc.path[:-2] if source_doc.path[:1] == ("items",) else ()
    return JobIdentity(source_doc.doc.source.file, source_doc.doc.source.index, label, entry)


@cache_latest
def find_gpu_pods(job: LoweredJob) -> list[ReplicaGroup]:
    """The groups of Pods that have GPUs."""
    return [group for group in job.pods if count_gpus(group)]


@cache_latest
def build_name_summary(job: LoweredJob) -> JobNameSummary:
    """The name of a job, and which one it is."""
    identity = identify_job(job)
    return JobNameSummary(namespace_of(job), identity.name, identity)


def format_list(words: list[str], limit: int = 4) -> str:
    """Some words as a list for people."""
    shown = words[:limit]
    hidden_count = len(words) - len(shown)
    if hidden_count:
        return f"{', '.join(shown)} and {hidden_count} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)
