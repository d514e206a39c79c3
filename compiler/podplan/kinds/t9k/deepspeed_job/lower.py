"""DeepSpeedJob: sshd on every worker, and deepspeed on worker-0, which reaches the others by pdsh."""

from __future__ import annotations

from podplan.core.provenance import Cursor
from podplan.core.replica_groups import Group, Options
from podplan.kinds.t9k import behaviors, ssh_setup
from podplan.kinds.t9k.child_metadata import Tree
from podplan.kinds.t9k.deepspeed_job import env_file
from podplan.kinds.t9k.deepspeed_job.launcher import launcher
from podplan.kinds.t9k.elastic import elastic_bounds
from podplan.kinds.t9k.job import Job, Role, configured, job, launch, paused, role
from podplan.kinds.t9k.pod_group import members, pod_groups
from podplan.kinds.t9k.pods import (
    each_container,
    launched,
    pod_spec,
    training_container,
    training_index,
    with_master,
)
from podplan.kinds.t9k.services import discovery, subdomain


def lower(cr: Cursor, options: Options) -> list[Group]:
    """The objects of a DeepSpeedJob (docs/evidence/t9k-deepspeedjob.md): PodGroup, Secret, ConfigMap,
    Services, Pods.
    """
    training = job(cr, options)
    workers = _workers(training)
    slots = training.spec.get("config", "slotsPerWorker")
    one = training.options.fact(behaviors.DEEPSPEED_SLOTS)
    number, given = (slots.value, (slots,)) if slots.exists else (one.value, (slots, one))
    files = ssh_setup.hostfile(training, workers, behaviors.DEEPSPEED_HOSTFILE_LINE, number, *given)
    training_one = training_container(training, workers, behaviors.DEEPSPEED_TRAINING_CONTAINER)
    files |= env_file.env_file(training, training_one)
    lasting = [
        ssh_setup.secret(training),
        ssh_setup.config_map(training, files),
        *discovery(training, [workers], [ssh_setup.ssh_port(training)]),
    ]
    bounds = elastic_bounds(training, [workers]) if _elastic(training) else None
    scheduling = pod_groups(training, *members([workers], elastic=bounds))
    if paused(training):
        return [*scheduling, *lasting]
    return [*scheduling, *lasting, *_pods(training, workers, files)]


def _elastic(training: Job) -> bool:
    return training.spec.get("elastic", "enabled").value is True


def _workers(training: Job) -> Role:
    """The workers; an elastic job has as many as it expects."""
    workers = role(training.spec.get("worker"), "worker")
    expected = training.spec.get("elastic", "expectedReplicas")
    if not _elastic(training) or not expected.exists:
        return workers
    return workers._replace(replicas=expected.value, counted=(expected, behaviors.ELASTIC_REPLICAS))


def _pods(training: Job, workers: Role, files: Tree) -> list[Group]:
    """Worker-0, and the others as a group of their own: they run only sshd."""
    trains = training_index(training, workers, behaviors.DEEPSPEED_TRAINING_CONTAINER)
    ssh = ssh_setup.mounted(training, None)
    first, others = (_spec(training, workers, files, ssh, leads) for leads in (True, False))
    return with_master(training, workers, first, others, trains=trains)


def _spec(training: Job, workers: Role, files: Tree, ssh: ssh_setup.Mounted, leads: bool) -> Tree:
    launching = launch(training, workers.type, behaviors.DEEPSPEED_DEBUG)
    sshd_path = ssh_setup.setting(training, behaviors.SSHD_PATH, None)
    mounts = [
        *ssh_setup.keys_mounts(training, ssh),
        ssh_setup.file_mount(training, ssh, behaviors.SSH_HOSTFILE_KEY, behaviors.DEEPSPEED_HOSTFILE_PATH),
    ]
    if env_file.key(training) in files:
        key, path = behaviors.DEEPSPEED_ENV_FILE_KEY, behaviors.DEEPSPEED_ENV_FILE_PATH
        mounts.append(ssh_setup.file_mount(training, ssh, key, path))

    def trained(container: Cursor) -> Tree:
        starts = (
            launcher(training, workers, container)
            if leads
            else ssh_setup.sshd(training, container, sshd_path)
        )
        return launched(ssh_setup.with_command(training, container, starts, mounts), launching)

    chosen = configured(training, behaviors.DEEPSPEED_TRAINING_CONTAINER)
    trains = training_index(training, workers, behaviors.DEEPSPEED_TRAINING_CONTAINER)
    containers = each_container(workers, trains, trained, chosen=chosen)
    added = ssh_setup.volumes(training, ssh, files=True)
    more = subdomain(training, workers)
    return pod_spec(training, workers, containers, launching, volumes=added, more=more)
