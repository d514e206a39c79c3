"""The Jobs that create the Pods of a job, with the numbers of Pods at a time and in total.

Source: docs/evidence/jobset.md#pods-of-a-job.
"""

from __future__ import annotations

from podplan.core.provenance import Path, TracedDocument, root_cursor
from podplan.core.replica_groups import ReplicaGroup, find_name_text
from podplan.core.typing import NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.target import LoweredJob

_JOB_LABEL = "batch.kubernetes.io/job-name"
_SET_LABEL = "jobset.sigs.k8s.io/replicatedjob-name"
_DEFAULT_RETRIES = 6  # of backoffLimit


class PodJobs(NamedTuple):
    """The Jobs of a group of Pods: ``jobs`` of them, each with ``parallelism`` Pods at a time and
    ``completions`` in all, of which ``doc`` is the first."""

    doc: TracedDocument
    jobs: int
    parallelism: int
    completions: int
    is_indexed: bool

    @property
    def runs_in_turns(self) -> bool:
        """Whether some Pods start only after others have ended."""
        return self.completions > self.parallelism

    @property
    def parallelism_path(self) -> Path:
        """The path of the number of Pods at a time, which is at most the number of completions."""
        spec = get_mapping(self.doc.data, "spec")
        names = ("parallelism", "completions")
        if "parallelism" not in spec or spec.get("parallelism") != self.parallelism:
            names = ("completions", "parallelism")
        return ("spec", next((name for name in names if name in spec), "template"))


def find_pod_jobs(job: LoweredJob, group: ReplicaGroup) -> PodJobs | None:
    """Return the Jobs that create the Pods of a group; None if a controller creates them without a Job."""
    metadata = get_mapping(group.doc.data, "metadata")
    name = get_text(get_mapping(metadata, "labels"), _JOB_LABEL)
    if not name:
        return None
    owners = [one for one in job.groups if _has_template(one.doc) and _find_first_name(one) == name]
    if owners:
        return _read_jobs(owners[0].doc, owners[0].replicas)
    return _read_jobs(job.cr, 1) if job.cr is not None and _has_template(job.cr) else None


class Retries(NamedTuple):
    """How often failed Pods are recreated, and where that is stated: ``field`` at ``path`` of ``doc``."""

    number: int
    field: str
    doc: TracedDocument
    path: Path


def count_retries(job: LoweredJob, group: ReplicaGroup) -> Retries | None:
    """Return the retries of the Job of some Pods, or of its JobSet; None without a Job."""
    pod_jobs = find_pod_jobs(job, group)
    if pod_jobs is None:
        return None
    spec = get_mapping(pod_jobs.doc.data, "spec")
    field = "backoffLimitPerIndex" if "backoffLimitPerIndex" in spec else "backoffLimit"
    path: Path = ("spec", field) if field in spec else ("spec",)
    retries = Retries(_read_count(spec.get(field, _DEFAULT_RETRIES)), field, pod_jobs.doc, path)
    restarts = _count_restarts_of_set(job, group)
    return restarts if restarts is not None and restarts.number > retries.number else retries


def _count_restarts_of_set(job: LoweredJob, group: ReplicaGroup) -> Retries | None:
    """Return how often all Jobs of a JobSet are recreated if one fails."""
    doc = _find_set(job, group)
    policy = get_mapping(get_mapping(doc.data, "spec"), "failurePolicy") if doc is not None else {}
    if doc is None or "maxRestarts" not in policy:
        return None
    path: Path = ("spec", "failurePolicy", "maxRestarts")
    return Retries(_read_count(policy["maxRestarts"]), "failurePolicy.maxRestarts", doc, path)


def is_created_after_others(job: LoweredJob, group: ReplicaGroup) -> bool:
    """Whether the Job of some Pods is created only when other Jobs are ready or complete."""
    doc = _find_set(job, group)
    spec = get_mapping(doc.data, "spec") if doc is not None else {}
    entries = [entry for _, entry in get_entries(spec, "replicatedJobs")]
    number = [entry.get("name") for entry in entries].index(group.replica_type) if entries else 0
    is_in_order = get_mapping(spec, "startupPolicy").get("startupPolicyOrder") == "InOrder"
    return bool(entries) and (bool(entries[number].get("dependsOn")) or (is_in_order and number > 0))


class Dependency(NamedTuple):
    """Two types of Pods, and where their order is stated: the Job of ``waiting`` starts when that of
    ``awaited`` has ended if ``is_ended``, and when it runs if ``is_ready``."""

    waiting: str
    awaited: str
    doc: TracedDocument
    path: Path
    is_ready: bool
    is_ended: bool


def find_job_set(job: LoweredJob) -> TracedDocument | None:
    """Return the JobSet that creates the Jobs of a job, which may be the CR itself."""
    return next((found for group in job.pods if (found := _find_set(job, group)) is not None), None)


def list_overlaps(job: LoweredJob) -> list[Dependency]:
    """The pairs of Jobs of a set of which one starts before the other has ended."""
    return [one for one in _list_dependencies(job) if not one.is_ended]


def list_sequences(job: LoweredJob) -> list[Dependency]:
    """The pairs of Jobs of a set of which one starts after the other has ended."""
    return [one for one in _list_dependencies(job) if one.is_ended]


def _list_dependencies(job: LoweredJob) -> list[Dependency]:
    doc = find_job_set(job)
    entries = get_entries(get_mapping(doc.data, "spec"), "replicatedJobs") if doc is not None else []
    dependencies: list[Dependency] = []
    complete: dict[str, set[str]] = {}
    for number, entry in entries:
        name, path = get_text(entry, "name"), ("spec", "replicatedJobs", number)
        states = {
            get_text(one, "name"): (at, one.get("status")) for at, one in get_entries(entry, "dependsOn")
        }
        ended = {other for other, (_, state) in states.items() if state == "Complete"}
        complete[name] = ended.union(*(complete.get(other, ()) for other in states))
        for _, other_entry in entries:
            other = get_text(other_entry, "name")
            if doc is None or other == name:
                continue
            at, state = states.get(other, (0, None))
            place: Path = (*path, "dependsOn", at, "status") if state is not None else (*path, "name")
            is_ended = other in complete[name]
            dependencies.append(Dependency(name, other, doc, place, state == "Ready", is_ended))
    return dependencies


def list_job_counts(job: LoweredJob, group: ReplicaGroup) -> list[tuple[TracedDocument, Path, str]]:
    """Return the number of Jobs of a replicated job with several, as a related location."""
    doc = _find_set(job, group)
    return [
        (doc, ("spec", "replicatedJobs", number, "replicas"), f"{entry['replicas']} Jobs")
        for number, entry in get_entries(
            get_mapping(doc.data, "spec") if doc is not None else {}, "replicatedJobs"
        )
        if doc is not None
        and entry.get("name") == group.replica_type
        and isinstance(entry.get("replicas"), int)
        and entry["replicas"] > 1
    ]


def _find_set(job: LoweredJob, group: ReplicaGroup) -> TracedDocument | None:
    """Return the JobSet of some Pods: the CR, or the one that its controller creates."""
    if _SET_LABEL not in get_mapping(get_mapping(group.doc.data, "metadata"), "labels"):
        return None
    documents = [job.cr, *(one.doc for one in job.groups)]
    return next(
        (one for one in documents if one is not None and "replicatedJobs" in get_mapping(one.data, "spec")),
        None,
    )


def _read_count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _read_jobs(doc: TracedDocument, jobs: int) -> PodJobs:
    from podplan.kinds.batch.pods import count_active_pods, is_indexed

    cursor = root_cursor(doc)
    parallelism, completions = count_active_pods(cursor), cursor.get("spec", "completions").value
    in_all = parallelism if completions is None else int(completions)
    return PodJobs(doc, jobs, parallelism, in_all, is_indexed(cursor))


def _has_template(doc: TracedDocument) -> bool:
    return "template" in get_mapping(doc.data, "spec")


def _find_first_name(group: ReplicaGroup) -> str:
    text = find_name_text(group.doc)
    return str(
        text.text_at(group.start) if text is not None else get_text(group.doc.data["metadata"], "name")
    )
