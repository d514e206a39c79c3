"""What the operator changes in the Pod templates of launcher and workers alike."""

from __future__ import annotations

from podplan.core.indexed_text import Indexed
from podplan.core.provenance import Cursor, Traced, attribute_to, present_causes
from podplan.core.typing import Any
from podplan.kinds.common.field_order import order_container_fields, order_pod_fields
from podplan.kinds.common.go_serialization import write_container, write_env
from podplan.kinds.kubeflow.job import Job, JobReplicaType
from podplan.kinds.mpi_operator import behaviors
from podplan.kinds.mpi_operator.names import DEFAULT_SSH_PATH, SSH_VOLUME
from podplan.kinds.mpi_operator.pod_group import (
    build_gang_annotations,
    build_gang_labels,
    build_scheduler_name,
)

TracedMap = dict[str, Any]
_PREFIX = "training.kubeflow.org"
SELECTOR_LABELS = (f"{_PREFIX}/operator-name", f"{_PREFIX}/job-name")
_PRIVATE_KEY, _PUBLIC_KEY = "ssh-privatekey", "ssh-publickey"
_KEY_FILES = {"id_rsa": _PRIVATE_KEY, "id_rsa.pub": _PUBLIC_KEY, "authorized_keys": _PUBLIC_KEY}
_OWNER_ONLY = 0o600


def build_label(job: Job, name: str) -> Traced:
    """The value of a label by which the Service of a job finds its Pods."""
    if name == SELECTOR_LABELS[0]:
        return attribute_to((behaviors.LABELS, job.cr.get("kind")), "mpi-operator")
    return attribute_to((behaviors.LABELS, *job.name_origins), job.name)


def build_pod_metadata(
    job: Job, replica_type: JobReplicaType, role: str, index: Indexed | str | None
) -> TracedMap:
    """Labels and annotations of the Pods of a type: those of the template, and the operator's over them."""
    template = replica_type.template.get("metadata")
    written_labels, written_annotations = template.get("labels"), template.get("annotations")
    labels = {
        **written_labels.fields(),
        **{name: build_label(job, name) for name in SELECTOR_LABELS},
        f"{_PREFIX}/job-role": attribute_to((behaviors.LABELS, replica_type.entry), role),
        **build_gang_labels(job),
    }
    if index is not None:
        causes = present_causes(job.spec.get("runLauncherAsWorker"), replica_type.entry, behaviors.LABELS)
        labels[f"{_PREFIX}/replica-index"] = attribute_to(causes, index)
    annotations = {**written_annotations.fields(), **build_gang_annotations(job)}
    tree: TracedMap = {
        "labels": attribute_to(present_causes(written_labels, replica_type.entry, behaviors.LABELS), labels)
    }
    if annotations:
        causes = present_causes(written_annotations, replica_type.entry, behaviors.POD_GROUP)
        tree["annotations"] = attribute_to(causes, annotations)
    return tree


def build_pod_spec(
    job: Job,
    replica_type: JobReplicaType,
    host_name: Indexed | str,
    default_restart_policy: str,
    first_container: TracedMap,
    volumes: tuple[Traced, ...] = (),
    **fields: Any,
) -> TracedMap:
    """The spec of the template with what all Pods of a job get, and with ``first_container`` as the first."""
    template = replica_type.template.get("spec")
    containers = [_write_container(one) for one in template.get("containers").entries()]
    if containers:
        containers[0] = first_container
    tree: TracedMap = {
        **template.fields(),
        **fields,
        "containers": [
            attribute_to(cursor, order_container_fields(container))
            for cursor, container in zip(template.get("containers").entries(), containers, strict=True)
        ],
        "volumes": [*template.get("volumes").entries(), _build_ssh_volume(job), *volumes],
        "hostname": attribute_to(
            (*job.name_origins, behaviors.HOST_NAME), host_name, (template.get("hostname"),)
        ),
        "subdomain": attribute_to(
            (*job.name_origins, behaviors.HOST_NAME), job.name, (template.get("subdomain"),)
        ),
        "restartPolicy": _build_restart_policy(replica_type, default_restart_policy),
    }
    if template.get("initContainers").entries():
        tree["initContainers"] = [
            attribute_to(one, order_container_fields(_write_container(one)))
            for one in template.get("initContainers").entries()
        ]
    if template.get("hostNetwork").value is True:
        causes = (template.get("hostNetwork"), behaviors.HOST_NETWORK)
        tree["dnsPolicy"] = attribute_to(causes, "ClusterFirstWithHostNet", (template.get("dnsPolicy"),))
    scheduler = build_scheduler_name(job, template)
    if scheduler is not None:
        tree["schedulerName"] = scheduler
    return order_pod_fields(tree)


def _write_container(container: Cursor) -> TracedMap:
    return write_container(container, behaviors.PROTOCOL, behaviors.QUANTITY)


def build_first_container(
    job: Job, replica_type: JobReplicaType, variables: list[Traced], mounts: tuple[Traced, ...] = ()
) -> TracedMap:
    """The first container of a type with variables, the ssh keys and further mounts."""
    container = replica_type.template.get("spec", "containers", 0)
    tree = _write_container(container)
    tree["env"] = [*write_env(container), *variables]
    path = job.spec.get("sshAuthMountPath")
    mount = {"name": SSH_VOLUME, "mountPath": str(path.value or DEFAULT_SSH_PATH)}
    causes = present_causes(path, replica_type.entry, behaviors.SSH_MOUNT)
    tree["volumeMounts"] = [
        *container.get("volumeMounts").entries(),
        attribute_to(causes, mount),
        *mounts,
    ]
    return tree


def _build_ssh_volume(job: Job) -> Traced:
    path = job.spec.get("sshAuthMountPath")
    secret: TracedMap = {
        "secretName": attribute_to((*job.name_origins, behaviors.NAMES), f"{job.name}-ssh"),
        "items": [{"key": key, "path": file} for file, key in _KEY_FILES.items()],
    }
    if (path.value or DEFAULT_SSH_PATH) == DEFAULT_SSH_PATH:
        secret["defaultMode"] = _OWNER_ONLY
    return attribute_to(
        present_causes(path, job.spec, behaviors.SSH_MOUNT), {"name": SSH_VOLUME, "secret": secret}
    )


def _build_restart_policy(replica_type: JobReplicaType, default: str) -> Traced:
    policy = replica_type.entry.get("restartPolicy")
    return attribute_to(
        (policy if policy.value else replica_type.entry, behaviors.RESTART_POLICY),
        str(policy.value or default),
        overridden=(replica_type.template.get("spec", "restartPolicy"),),
    )
