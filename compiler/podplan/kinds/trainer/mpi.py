"""The launcher and the nodes of an MPI runtime: hostfile, ssh keys and variables of Open MPI."""

from __future__ import annotations

from podplan.core.indexed_text import Indexed, Listing, RepeatedLine
from podplan.core.provenance import Cause, attribute_to
from podplan.core.replica_groups import ReplicaGroup, build_group
from podplan.core.typing import Any
from podplan.kinds.common.controller_variables import build_variable
from podplan.kinds.common.merge import list_entries
from podplan.kinds.trainer import behaviors
from podplan.kinds.trainer.job import TrainJob, build_metadata
from podplan.kinds.trainer.job_set_template import (
    LAUNCHER,
    NODE,
    TRAINER_STEP,
    NodeCount,
    TemplateJob,
    TracedMap,
    set_variables,
    upsert,
)
from podplan.kinds.trainer.processes import count_gpus

_SSH_VOLUME, _HOSTFILE_VOLUME, _HOSTFILE_PATH = "mpi-ssh-auth", "mpi-hostfile", "/etc/mpi"
_PRIVATE_KEY, _PUBLIC_KEY = "ssh-privatekey", "ssh-publickey"
_KEY_FILES = (
    (_PRIVATE_KEY, "id_rsa", 0o640),
    (_PUBLIC_KEY, "id_rsa.pub", 0o644),
    (_PUBLIC_KEY, "authorized_keys", 0o644),
)
_DEFAULT_SSH_PATH = "/root/.ssh"
_KEY_PLACEHOLDER = "a2V5"  # "key" in base64


def apply_policy(
    train_job: TrainJob, jobs: list[TemplateJob]
) -> tuple[list[TemplateJob], list[ReplicaGroup]]:
    """The jobs of an MPI runtime, the Secret with the ssh keys and the ConfigMap with the hostfile."""
    policy = train_job.policy.get("mpi")
    as_node = policy.get("runLauncherAsNode").value is True
    jobs = [_count(train_job, one, as_node) for one in jobs]
    slots, slot_causes = _count_slots(train_job, jobs)
    jobs = [_mount_keys(train_job, one) for one in jobs]
    jobs = [_complete_launcher(train_job, one, slots, slot_causes) for one in jobs]
    return jobs, [_build_secret(train_job), _build_hostfile(train_job, jobs, slots, slot_causes, as_node)]


def _count(train_job: TrainJob, job: TemplateJob, as_node: bool) -> TemplateJob:
    """The job of the nodes with its number of Pods: numNodes of the runtime counts launchers only."""
    written = train_job.trainer.get("numNodes")
    if job.name != NODE or not written.exists:
        return job
    total = int(written.value)
    if as_node:
        return job._replace(nodes=NodeCount(max(total - 1, 1), (written, behaviors.LAUNCHER_NODE)))
    return job._replace(nodes=NodeCount(total, (written, behaviors.NODES)))


def _count_slots(train_job: TrainJob, jobs: list[TemplateJob]) -> tuple[int, tuple[Cause, ...]]:
    written, default = train_job.trainer.get("numProcPerNode"), train_job.policy.get("mpi", "numProcPerNode")
    place = written if written.exists else default
    slots = place.value if isinstance(place.value, int) else 1  # the webhook refuses words
    job = next((one for one in jobs if one.ancestor == TRAINER_STEP), None)
    if slots == 1 and job is not None and not written.exists:
        gpus, causes = count_gpus(train_job, job)
        if gpus > 1:
            return gpus, (*causes, behaviors.MPI_PROCESSES)
    return slots, (place if place.exists else train_job.policy, behaviors.MPI_PROCESSES)


def _add_mount(fields: TracedMap, name: str, path: str, cause: tuple[Cause, ...]) -> TracedMap:
    mount = attribute_to(cause, {"name": name, "mountPath": path})
    return {**fields, "volumeMounts": upsert(list_entries(fields.get("volumeMounts")), [mount], "mountPath")}


def _mount_keys(train_job: TrainJob, job: TemplateJob) -> TemplateJob:
    if job.name not in (NODE, LAUNCHER):
        return job
    path = train_job.policy.get("mpi", "sshAuthMountPath")
    why: tuple[Cause, ...] = (path if path.exists else train_job.policy.get("mpi"), behaviors.MPI)
    job = job.map_containers(
        NODE, lambda fields: _add_mount(fields, _SSH_VOLUME, str(path.value_or(_DEFAULT_SSH_PATH)), why)
    )
    has_modes = train_job.version.has_key_modes
    volume = {
        "name": _SSH_VOLUME,
        "secret": {
            "secretName": f"{train_job.name}-{_SSH_VOLUME}",
            **({"defaultMode": 0o400} if has_modes else {}),
            "items": [
                {"key": key, "path": file, **({"mode": mode} if has_modes else {})}
                for key, file, mode in _KEY_FILES
            ],
        },
    }
    added = attribute_to((train_job.policy.get("mpi"), behaviors.MPI), volume)
    return job._replace(volumes=tuple(upsert(list(job.volumes), [added], "name")))


def _complete_launcher(
    train_job: TrainJob, job: TemplateJob, slots: int, slot_causes: tuple[Cause, ...]
) -> TemplateJob:
    if job.name != LAUNCHER:
        return job
    why: tuple[Cause, ...] = (train_job.policy.get("mpi"), behaviors.MPI)
    variables: list[Any] = [
        build_variable("OMPI_MCA_orte_default_hostfile", f"{_HOSTFILE_PATH}/hostfile", *why),
        build_variable("OMPI_MCA_orte_keep_fqdn_hostnames", "true", *why),
        build_variable("OMPI_MCA_orte_set_default_slots", str(slots), *slot_causes),
        build_variable("OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10", *why),
    ]
    job = job.map_containers(
        NODE,
        lambda fields: _add_mount(set_variables(fields, variables), _HOSTFILE_VOLUME, _HOSTFILE_PATH, why),
    )
    volume = {
        "name": _HOSTFILE_VOLUME,
        "configMap": {
            "name": f"{train_job.name}-{_HOSTFILE_VOLUME}",
            "items": [{"key": "hostfile", "path": "hostfile", "mode": 0o444}],
        },
    }
    return job._replace(volumes=tuple(upsert(list(job.volumes), [attribute_to(why, volume)], "name")))


def _build_secret(train_job: TrainJob) -> ReplicaGroup:
    key = attribute_to((behaviors.SSH_KEYS, train_job.policy.get("mpi")), _KEY_PLACEHOLDER)
    tree = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": build_metadata(train_job, f"{train_job.name}-{_SSH_VOLUME}"),
        "type": "kubernetes.io/ssh-auth",
        "immutable": True,
        "data": {_PRIVATE_KEY: key, _PUBLIC_KEY: key},
    }
    return build_group(attribute_to((train_job.policy.get("mpi"), behaviors.SSH_KEYS), tree))


def _build_hostfile(
    train_job: TrainJob, jobs: list[TemplateJob], slots: int, slot_causes: tuple[Cause, ...], as_node: bool
) -> ReplicaGroup:
    subdomain = train_job.template.get("spec", "network", "subdomain").value or train_job.name
    listed = [one for one in jobs if one.name == NODE or (as_node and one.name == LAUNCHER)]
    lines = tuple(
        RepeatedLine(
            Indexed((f"{train_job.name}-{one.name}-0-", 0, f".{subdomain} slots={slots}\n")),
            0,
            one.nodes.value,
        )
        for one in listed
    )
    causes = tuple(why for one in listed for why in one.nodes.causes)
    text = attribute_to((*causes, *slot_causes, behaviors.MPI), Listing(lines))
    tree = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": build_metadata(train_job, f"{train_job.name}-{_HOSTFILE_VOLUME}"),
        "data": {"hostfile": text},
    }
    return build_group(attribute_to((train_job.policy.get("mpi"), behaviors.MPI), tree))
