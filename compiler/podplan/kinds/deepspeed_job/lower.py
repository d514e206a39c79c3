"""DeepSpeedJob: sshd on every worker, and deepspeed on worker-0, which reaches the others by pdsh."""

from __future__ import annotations

from podplan import facts
from podplan.groups import Group, Options
from podplan.kinds import _ssh
from podplan.kinds._children import Tree
from podplan.kinds._elastic import elastic_bounds
from podplan.kinds._job import Job, Role, configured, job, launch, paused, role
from podplan.kinds._pods import (
    each_container,
    launched,
    pod_spec,
    training_container,
    training_index,
    with_master,
)
from podplan.kinds._scheduling import members, pod_groups
from podplan.kinds._services import discovery, subdomain
from podplan.kinds.deepspeed_job import env_file
from podplan.kinds.deepspeed_job.launcher import launcher
from podplan.provenance import Cursor


def lower(cr: Cursor, options: Options) -> list[Group]:
    """The objects of a DeepSpeedJob (docs/evidence/t9k-deepspeedjob.md): PodGroup, Secret, ConfigMap,
    Services, Pods.
    """
    training = job(cr, options)
    workers = _workers(training)
    slots = training.spec.get("config", "slotsPerWorker")
    one = training.options.fact(facts.DEEPSPEED_SLOTS)
    number, given = (slots.value, (slots,)) if slots.exists else (one.value, (slots, one))
    files = _ssh.hostfile(training, workers, facts.DEEPSPEED_HOSTFILE_LINE, number, *given)
    training_one = training_container(training, workers, facts.DEEPSPEED_TRAINING_CONTAINER)
    files |= env_file.env_file(training, training_one)
    lasting = [
        _ssh.secret(training),
        _ssh.config_map(training, files),
        *discovery(training, [workers], [_ssh.ssh_port(training)]),
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
    return workers._replace(replicas=expected.value, counted=(expected, facts.ELASTIC_REPLICAS))


def _pods(training: Job, workers: Role, files: Tree) -> list[Group]:
    """Worker-0, and the others as a group of their own: they run only sshd."""
    trains = training_index(training, workers, facts.DEEPSPEED_TRAINING_CONTAINER)
    ssh = _ssh.mounted(training, None)
    first, others = (_spec(training, workers, files, ssh, leads) for leads in (True, False))
    return with_master(training, workers, first, others, trains=trains)


def _spec(training: Job, workers: Role, files: Tree, ssh: _ssh.Mounted, leads: bool) -> Tree:
    launching = launch(training, workers.type, facts.DEEPSPEED_DEBUG)
    sshd_path = _ssh.setting(training, facts.SSHD_PATH, None)
    mounts = [
        *_ssh.keys_mounts(training, ssh),
        _ssh.file_mount(training, ssh, facts.SSH_HOSTFILE_KEY, facts.DEEPSPEED_HOSTFILE_PATH),
    ]
    if env_file.key(training) in files:
        key, path = facts.DEEPSPEED_ENV_FILE_KEY, facts.DEEPSPEED_ENV_FILE_PATH
        mounts.append(_ssh.file_mount(training, ssh, key, path))

    def trained(container: Cursor) -> Tree:
        starts = (
            launcher(training, workers, container) if leads else _ssh.sshd(training, container, sshd_path)
        )
        return launched(_ssh.with_command(training, container, starts, mounts), launching)

    chosen = configured(training, facts.DEEPSPEED_TRAINING_CONTAINER)
    trains = training_index(training, workers, facts.DEEPSPEED_TRAINING_CONTAINER)
    containers = each_container(workers, trains, trained, chosen=chosen)
    added = _ssh.volumes(training, ssh, files=True)
    more = subdomain(training, workers)
    return pod_spec(training, workers, containers, launching, volumes=added, more=more)
