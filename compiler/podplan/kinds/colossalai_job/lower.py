"""ColossalAIJob, both dialects: a launcher that runs colossalai run, and workers that run sshd."""

from __future__ import annotations

from podplan import facts
from podplan.groups import Group, Options
from podplan.kinds import _ssh
from podplan.kinds._job import Job, Role, job, launch, paused
from podplan.kinds._pods import each_container, launched, pod_spec, pods, replica_labels, training_index
from podplan.kinds._scheduling import members, pod_groups
from podplan.kinds._services import services
from podplan.kinds.colossalai_job import launcher_dialect, replica_dialect
from podplan.kinds.colossalai_job.launcher import container as launcher_container
from podplan.kinds.colossalai_job.training import Training
from podplan.provenance import Cursor, Marked, at


def lower(cr: Cursor, options: Options) -> list[Group]:
    """The objects of a ColossalAIJob (t9k-semantics §3): PodGroup, Secret, ConfigMap, Services, Pods."""
    colossal = job(cr, options)
    dialect = replica_dialect if replica_dialect.told(colossal) else launcher_dialect
    training = dialect.read(colossal)
    lasting = [
        _ssh.secret(colossal),
        _ssh.config_map(colossal, {_ssh.HOSTFILE: _ssh.hostfile(colossal, training.workers)}),
        *services(colossal, training.workers, [_ssh.ssh_port(colossal)]),
    ]
    if paused(colossal):
        return lasting
    needed = members(colossal, [training.launcher, training.workers], fact=facts.COLOSSALAI_MIN_MEMBER)
    running = [*_launcher(colossal, training), *_workers(colossal, training.workers)]
    return [*pod_groups(colossal, *needed), *lasting, *running]


def _launcher(colossal: Job, training: Training) -> list[Group]:
    role = training.launcher
    launching = launch(colossal, role.type)
    keys_at = _keys_at(colossal)
    mounts = [
        _ssh.keys_mount(colossal, keys_at),
        _ssh.file_mount(colossal, _ssh.HOSTFILE, facts.COLOSSALAI_HOSTFILE_PATH),
    ]
    worker = _training_container(colossal, training.workers)
    own = launcher_container(colossal, training, worker, mounts)
    # A launcher that nobody wrote lacks what the worker lacks.
    place = training.place if training.place.exists or "image" in own else worker
    made = at((place, facts.COLOSSALAI_LAUNCHER), launched(own, launching))
    containers: list[Cursor | Marked] = [*role.template.get("spec", "containers").entries()]
    containers[training.position : training.position + 1] = [made]
    spec = pod_spec(
        colossal,
        role,
        containers,
        launching,
        never=facts.RESTART_NEVER_ASSUMED,
        volumes=_ssh.volumes(colossal, keys_at, files=True),
    )
    labels = replica_labels(colossal, role, facts.COLOSSALAI_LABELS)
    return pods(
        colossal, role, spec, labels=labels, name=f"{colossal.base}-{role.type}", trains=training.position
    )


def _workers(colossal: Job, role: Role) -> list[Group]:
    launching = launch(colossal, role.type)
    keys_at = _keys_at(colossal)
    sshd_path = _ssh.setting(colossal, facts.SSHD_PATH, colossal.spec.get("ssh", "sshdPath"))
    mounts = [_ssh.keys_mount(colossal, keys_at)]

    def trained(container: Cursor) -> dict[str, object]:
        command = _ssh.sshd(colossal, container, sshd_path)
        return launched(_ssh.with_command(container, command, mounts), launching)

    containers = each_container(role, _training_index(colossal, role), trained)
    spec = pod_spec(
        colossal,
        role,
        containers,
        launching,
        never=facts.RESTART_NEVER_ASSUMED,
        volumes=_ssh.volumes(colossal, keys_at, files=False),
    )
    labels = replica_labels(colossal, role, facts.COLOSSALAI_LABELS)
    return pods(colossal, role, spec, labels=labels, trains=_training_index(colossal, role))


def _keys_at(colossal: Job) -> Cursor | Marked:
    return _ssh.setting(colossal, facts.SSH_MOUNT_PATH, colossal.spec.get("ssh", "authMountPath"))


def _training_index(colossal: Job, role: Role) -> int:
    preferred = str(colossal.options.fact(facts.COLOSSALAI_TRAINING_CONTAINER).value)
    return training_index(role.template.get("spec", "containers").entries(), preferred)


def _training_container(colossal: Job, role: Role) -> Cursor:
    return role.template.get("spec", "containers").get(_training_index(colossal, role))
