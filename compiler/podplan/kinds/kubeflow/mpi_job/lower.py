"""Lowering of an MPIJob of kubeflow.org/v1 to the objects that the operator creates."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.indexed_text import Indexed, ListedTexts, Listing, RepeatedLine
from podplan.core.provenance import Cursor, Traced, attribute_to, present_causes
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup, build_group
from podplan.core.typing import Any
from podplan.kinds.common.controller_variables import build_variable
from podplan.kinds.common.field_order import order_container_fields
from podplan.kinds.common.go_serialization import write_env, write_volumes
from podplan.kinds.kubeflow import behaviors
from podplan.kinds.kubeflow.job import (
    Job,
    JobReplicaType,
    build_job,
    build_labels,
    build_main_label,
    build_metadata,
    build_name,
    fails_at_once,
    is_ignored,
)
from podplan.kinds.kubeflow.mpi_job.constants import KIND
from podplan.kinds.kubeflow.pod_group import build_pod_groups
from podplan.kinds.kubeflow.pods import (
    INDEX,
    build_pod_group,
    build_pod_spec,
    write_container,
)
from podplan.kinds.spec import References

_RBAC_GROUP = "rbac.authorization.k8s.io"
_CONFIG_VOLUME, _KUBECTL_VOLUME = "mpi-job-config", "mpi-job-kubectl"
_CONFIG_PATH, _KUBECTL_PATH = "/etc/mpi", "/opt/kube"
_KUBEXEC = f"{_CONFIG_PATH}/kubexec.sh"
_FILE_MODES = {"kubexec.sh": 0o555, "hostfile": 0o444, "discover_hosts.sh": 0o555}
_INTEL_VARIABLES = {"I_MPI_HYDRA_BOOTSTRAP": "rsh", "I_MPI_HYDRA_BOOTSTRAP_EXEC": _KUBEXEC}


def lower(cr: Cursor, _references: References, options: LoweringOptions) -> list[ReplicaGroup]:
    """Build the objects of an MPIJob (docs/evidence/training-operator.md): Pods, ConfigMap, RBAC."""
    job = build_job(cr, KIND, options)
    launcher, workers = job.find_type("Launcher"), job.find_type("Worker")
    if is_ignored(job) or fails_at_once(job) or launcher is None:
        return []
    return [
        *build_pod_groups(job),
        *_build_permissions(job, launcher, workers),
        _build_config_map(job, launcher, workers),
        *(_build_workers(job, workers) if workers else ()),
        _build_launcher(job, launcher),
    ]


def _build_permissions(
    job: Job, launcher: JobReplicaType, workers: JobReplicaType | None
) -> Iterator[ReplicaGroup]:
    """Build the ServiceAccount of the launcher, and the Role for starting processes in the workers."""
    own_name = f"{job.name}-launcher"
    written = launcher.template.get("spec", "serviceAccountName")
    account = written.value or own_name
    yield _build_object(job, "v1", "ServiceAccount", account, {})
    exec_rule: dict[str, Any] = {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create"]}
    if workers is not None and workers.replicas > 0:
        exec_rule["resourceNames"] = attribute_to(
            (behaviors.MPI_OBJECTS, *workers.replica_origins),
            ListedTexts((RepeatedLine(build_name(job, workers), 0, workers.replicas),)),
        )
    pods_rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}
    yield _build_object(job, f"{_RBAC_GROUP}/v1", "Role", own_name, {"rules": [pods_rule, exec_rule]})
    subject = {"kind": "ServiceAccount", "name": account, "namespace": job.namespace}
    yield _build_object(
        job,
        f"{_RBAC_GROUP}/v1",
        "RoleBinding",
        own_name,
        {
            "roleRef": {"apiGroup": _RBAC_GROUP, "kind": "Role", "name": own_name},
            "subjects": [
                attribute_to(present_causes(written, launcher.entry, behaviors.MPI_OBJECTS), subject)
            ],
        },
    )


def _build_object(job: Job, api_version: str, kind: str, name: str, fields: dict[str, Any]) -> ReplicaGroup:
    labels = {"app": attribute_to((behaviors.MPI_OBJECTS, *job.name_origins), job.name)}
    tree = {"apiVersion": api_version, "kind": kind, "metadata": build_metadata(job, name, labels), **fields}
    return build_group(attribute_to((behaviors.MPI_OBJECTS, job.spec), tree))


def _build_config_map(job: Job, launcher: JobReplicaType, workers: JobReplicaType | None) -> ReplicaGroup:
    """Build the ConfigMap with the hostfile, the replacement of ssh, and the list of running hosts."""
    slots = job.spec.get("slotsPerWorker")
    slot_count = slots.value_or(1)
    launcher_name, is_host = f"{job.name}-launcher", _has_gpu(launcher)
    pieces: list[str | RepeatedLine | Indexed] = [f"{launcher_name} slots={slot_count}\n"] if is_host else []
    if workers is not None and workers.replicas > 0:
        line = Indexed((*build_name(job, workers).parts, f" slots={slot_count}\n"))
        pieces.append(RepeatedLine(line, 0, workers.replicas))
    container = job.spec.get("mainContainer")
    option = f" --container {container.value}" if container.value else ""
    kubexec = (
        f"#!/bin/sh\nset -x\nPOD_NAME=$1\nshift\n"
        f'{_KUBECTL_PATH}/kubectl exec ${{POD_NAME}}{option} -- /bin/sh -c "$*"'
    )
    hosts = "#!/bin/sh" + (f"\necho {launcher_name}:{slot_count}\n" if is_host else "")
    why = behaviors.MPI_OBJECTS
    data = {
        "hostfile": attribute_to(
            present_causes(why, *(workers.replica_origins if workers else ()), slots), Listing(tuple(pieces))
        ),
        "kubexec.sh": attribute_to(present_causes(why, container, job.spec), kubexec),
        "discover_hosts.sh": attribute_to((why, job.spec), hosts),
    }
    return _build_object(job, "v1", "ConfigMap", f"{job.name}-config", {"data": data})


def _has_gpu(launcher: JobReplicaType) -> bool:
    """Whether a container of the launcher has a limit named *gpu*, so that it also runs processes."""
    return any(
        "gpu" in name
        for container in launcher.template.get("spec", "containers").entries()
        for name in container.get("resources", "limits").fields()
    )


def _build_workers(job: Job, workers: JobReplicaType) -> list[ReplicaGroup]:
    if workers.replicas <= 0:
        return []
    containers = _write_containers(workers)
    if containers:
        first, why = containers[0], (behaviors.MPI_WORKER, workers.entry)
        if not (first.get("command") is not None and first["command"].value):
            first["command"] = attribute_to(why, ["sleep"])
            written = first.get("args")
            overridden = (written,) if isinstance(written, Cursor) else ()
            first["args"] = attribute_to(why, ["365d"], overridden)
        _mount(first, workers, (_CONFIG_VOLUME, _CONFIG_PATH))
    volumes = [_build_config_volume(job, workers, ("kubexec.sh",))]
    spec = build_pod_spec(job, workers, _order(workers, containers), **_add_volumes(workers, volumes))
    labels = build_labels(job, workers, INDEX)
    return [build_pod_group(job, workers, build_name(job, workers), labels, spec, 0, workers.replicas)]


def _build_launcher(job: Job, launcher: JobReplicaType) -> ReplicaGroup:
    containers = _write_containers(launcher)
    if containers:
        container = launcher.template.get("spec", "containers", 0)
        containers[0]["env"] = [*write_env(container), *_build_environment(launcher, container)]
        _mount(containers[0], launcher, (_KUBECTL_VOLUME, _KUBECTL_PATH), (_CONFIG_VOLUME, _CONFIG_PATH))
    volumes = [
        attribute_to((behaviors.MPI_LAUNCHER, launcher.entry), {"name": _KUBECTL_VOLUME, "emptyDir": {}}),
        _build_config_volume(job, launcher, tuple(_FILE_MODES)),
    ]
    fields = _add_volumes(launcher, volumes)
    if not launcher.template.get("spec", "serviceAccountName").value:
        fields["serviceAccountName"] = attribute_to(
            (behaviors.MPI_OBJECTS, *job.name_origins), f"{job.name}-launcher"
        )
    init_container = _build_init_container(job, launcher)
    spec = build_pod_spec(job, launcher, _order(launcher, containers), (init_container,), **fields)
    labels = build_labels(job, launcher, None) | build_main_label(launcher)
    return build_pod_group(job, launcher, f"{job.name}-launcher", labels, spec)


def _write_containers(replica_type: JobReplicaType) -> list[dict[str, Any]]:
    return [write_container(one) for one in replica_type.template.get("spec", "containers").entries()]


def _order(replica_type: JobReplicaType, containers: list[dict[str, Any]]) -> list[Any]:
    cursors = replica_type.template.get("spec", "containers").entries()
    return [
        attribute_to(cursor, order_container_fields(tree))
        for cursor, tree in zip(cursors, containers, strict=True)
    ]


def _mount(container: dict[str, Any], replica_type: JobReplicaType, *mounts: tuple[str, str]) -> None:
    written = replica_type.template.get("spec", "containers", 0, "volumeMounts").entries()
    added = [
        attribute_to((behaviors.MPI_LAUNCHER, replica_type.entry), {"name": name, "mountPath": path})
        for name, path in mounts
    ]
    container["volumeMounts"] = [*written, *added]


def _add_volumes(replica_type: JobReplicaType, volumes: list[Traced]) -> dict[str, Any]:
    written = write_volumes(replica_type.template.get("spec", "volumes"), behaviors.QUANTITY)
    entries = written.value if isinstance(written, Traced) else written.entries()
    return {"volumes": [*entries, *volumes]}


def _build_config_volume(job: Job, replica_type: JobReplicaType, files: tuple[str, ...]) -> Traced:
    items = [{"key": name, "path": name, "mode": _FILE_MODES[name]} for name in files]
    config_map = {"name": f"{job.name}-config", "items": items}
    return attribute_to(
        (behaviors.MPI_OBJECTS, replica_type.entry), {"name": _CONFIG_VOLUME, "configMap": config_map}
    )


def _build_environment(launcher: JobReplicaType, container: Cursor) -> Iterator[Traced]:
    why = (behaviors.MPI_LAUNCHER, launcher.entry)
    yield build_variable("OMPI_MCA_plm_rsh_agent", _KUBEXEC, *why)
    yield build_variable("OMPI_MCA_orte_default_hostfile", f"{_CONFIG_PATH}/hostfile", *why)
    if not _has_gpu(launcher):
        for name in ("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"):
            yield build_variable(name, "", behaviors.MPI_GPU_VARIABLES, launcher.entry)
    written = {one.get("name").value for one in container.get("env").entries()}
    for name, value in _INTEL_VARIABLES.items():
        if name not in written:
            yield build_variable(name, value, *why)


def _build_init_container(job: Job, launcher: JobReplicaType) -> Traced:
    image = job.options.resolve_behavior(behaviors.KUBECTL_IMAGE)
    amounts = {"cpu": "100m", "memory": "512Mi", "ephemeral-storage": "5Gi"}
    return attribute_to(
        (behaviors.MPI_LAUNCHER, launcher.entry),
        {
            "name": "kubectl-delivery",
            "image": attribute_to((image, launcher.entry), image.value),
            "imagePullPolicy": "IfNotPresent",
            "env": [
                {"name": "TARGET_DIR", "value": _KUBECTL_PATH},
                {"name": "NAMESPACE", "value": job.namespace},
            ],
            "resources": {"limits": amounts, "requests": amounts},
            "volumeMounts": [
                {"name": _KUBECTL_VOLUME, "mountPath": _KUBECTL_PATH},
                {"name": _CONFIG_VOLUME, "mountPath": _CONFIG_PATH},
            ],
        },
    )
