"""A job of the training operator during lowering: its kind, its names and its replica types."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.indexed_text import Indexed
from podplan.core.provenance import Behavior, Cause, Cursor, Traced, attribute_to
from podplan.core.replica_groups import UID_FLAG, LoweringOptions
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.kubeflow import behaviors
from podplan.kinds.kubeflow.training_kind import TrainingKind

GENERATED_SUFFIX = "xxxxx"  # the five characters that the API server adds to generateName
OWN_MANAGER = "kubeflow.org/training-operator"
_LABEL_PREFIX = "training.kubeflow.org"


class JobReplicaType(NamedTuple):
    """One replica type of a job.

    ``name`` is the one that the operator uses, such as Worker, ``key`` the one in the CR, and ``label`` the
    one in names and labels.
    ``replicas`` is the number in variables, and ``pod_count`` the number of Pods.
    """

    name: str
    key: str
    label: str
    entry: Cursor
    replicas: int
    replica_origins: tuple[Cause, ...]
    pod_count: int

    @property
    def template(self) -> Cursor:
        return self.entry.get("template")


class Job(NamedTuple):
    """A CR with the properties that all its children share."""

    cr: Cursor
    spec: Cursor
    kind: TrainingKind
    name: str
    name_origins: tuple[Cause, ...]
    namespace: str
    types: tuple[JobReplicaType, ...]
    options: LoweringOptions

    @property
    def replica_count(self) -> int:
        """Return the number of replicas of all types."""
        return sum(one.replicas for one in self.types)

    @property
    def replica_origins(self) -> tuple[Cause, ...]:
        return tuple(why for one in self.types for why in one.replica_origins)

    def find_type(self, *names: str) -> JobReplicaType | None:
        """Return the first of these types that the job has."""
        return next((one for name in names for one in self.types if one.name == name), None)


def build_job(cr: Cursor, kind: TrainingKind, options: LoweringOptions) -> Job:
    """Build the job of a valid CR."""
    metadata, spec = cr.get("metadata"), cr.get("spec")
    name, prefix = metadata.get("name"), metadata.get("generateName")
    job_name = str(name.value_or(f"{prefix.value}{GENERATED_SUFFIX}" if prefix.exists else ""))
    return Job(
        cr,
        spec,
        kind,
        job_name,
        (name if name.exists else prefix,),
        str(metadata.get("namespace").value_or("default")),
        tuple(_iter_types(spec.get(kind.specs_field), kind)),
        options,
    )


def _iter_types(specs: Cursor, kind: TrainingKind) -> Iterator[JobReplicaType]:
    entries = specs.fields()
    leading_type = kind.find_leading_type([kind.normalize_type(key) for key in entries])
    for key, entry in entries.items():
        name = kind.normalize_type(key)
        if key == name and any(other != key and kind.normalize_type(other) == name for other in entries):
            continue  # the operator overwrites this one with the type in another case
        replicas, default = entry.get("replicas"), kind.default_replicas.get(name, 1)
        why = behaviors.DEFAULT_REPLICAS if default else behaviors.DEFAULT_WORKERS_MPI
        count = int(replicas.value_or(default))
        # The operator creates the Pod of the leading type also for replicas: 0, and then stops.
        pod_count = 1 if count == 0 and name == leading_type else max(count, 0)
        yield JobReplicaType(
            name, key, key.lower(), entry, count, (replicas,) if replicas.exists else (why, entry), pod_count
        )


def is_ignored(job: Job) -> bool:
    """Whether the operator creates nothing: the job is suspended or has another controller."""
    policy = job.spec.get("runPolicy")
    if policy.get("suspend").value is True and not job.options.resumed:
        return True
    manager = policy.get("managedBy")
    return job.kind.has_manager and manager.exists and manager.value != OWN_MANAGER


def fails_at_once(job: Job) -> bool:
    """Whether the job fails before the operator creates its Pods."""
    return int(job.spec.get("runPolicy", "backoffLimit").value_or(0)) < 0


def build_name(job: Job, replica_type: JobReplicaType) -> Indexed:
    """Build the name of the Pods and Services of a type."""
    return Indexed((f"{job.name}-{replica_type.label}-", 0))


def build_labels(job: Job, replica_type: JobReplicaType, index: Indexed | None) -> dict[str, Any]:
    """Build the labels of the Pods of a type, which Services select."""
    labels: dict[str, Any] = {
        "operator-name": attribute_to(
            (behaviors.LABELS, job.cr.get("kind")), f"{job.kind.name.lower()}-controller"
        ),
        "job-name": attribute_to((behaviors.LABELS, *job.name_origins), job.name),
        "replica-type": attribute_to((behaviors.LABELS, replica_type.entry), replica_type.label),
    }
    if index is not None:
        labels["replica-index"] = attribute_to((behaviors.LABELS, replica_type.entry), index)
    return {f"{_LABEL_PREFIX}/{key}": value for key, value in labels.items()}


def build_main_label(replica_type: JobReplicaType) -> dict[str, Any]:
    """Build the label of the Pod that decides over the job."""
    return {f"{_LABEL_PREFIX}/job-role": attribute_to((behaviors.MAIN_LABEL, replica_type.entry), "master")}


def build_metadata(
    job: Job,
    name: Indexed | str,
    labels: Any = None,
    annotations: Any = None,
    *,
    name_behavior: Behavior = behaviors.POD_NAME,
    owner_behavior: Behavior = behaviors.OWNER,
    **fields: Any,
) -> dict[str, Any]:
    """Build the metadata of a child; the job is its owner once it has a uid."""
    tree = {
        "name": attribute_to((*job.name_origins, name_behavior), name),
        "namespace": job.cr.get("metadata", "namespace"),
        "labels": labels,
        "annotations": annotations,
        **fields,
        "ownerReferences": build_owners(job, owner_behavior) or None,
    }
    return {key: value for key, value in tree.items() if value is not None}


def build_owners(job: Job, behavior: Behavior, unknown_uid: str = "") -> list[Traced]:
    """Build the owner of the children; without a uid and without ``unknown_uid`` there is none."""
    uid: Traced | Cursor = job.cr.get("metadata", "uid")
    if not uid.value:
        uid = attribute_to(UID_FLAG if job.options.uid else behavior, job.options.uid or unknown_uid)
    if not uid.value:
        return []
    owner = {
        "apiVersion": job.cr["apiVersion"],
        "kind": job.cr["kind"],
        "name": job.name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return [attribute_to((behavior, *job.name_origins), owner)]
