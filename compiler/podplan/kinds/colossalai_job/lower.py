"""ColossalAIJob, both dialects: a launcher that runs colossalai run, and workers that run sshd."""

from __future__ import annotations

from podplan import facts
from podplan.groups import Group, Options
from podplan.kinds import _ssh
from podplan.kinds._children import Tree
from podplan.kinds._job import Job, Launch, Role, configured, job, launch, paused
from podplan.kinds._patterns import filled, naming
from podplan.kinds._pods import (
    each_container,
    launched,
    pod_spec,
    pods,
    replica_labels,
    training_container,
    training_index,
    why_named,
)
from podplan.kinds._scheduling import members, pod_groups
from podplan.kinds._services import discovery, subdomain
from podplan.kinds.colossalai_job import launcher_dialect, replica_dialect
from podplan.kinds.colossalai_job.launcher import container as launcher_container
from podplan.kinds.colossalai_job.training import Training
from podplan.provenance import Cursor, Marked, Why, at
from podplan.typing import Any


def lower(cr: Cursor, options: Options) -> list[Group]:
    """The objects of a ColossalAIJob (docs/evidence/t9k-colossalaijob.md): PodGroup, Secret, ConfigMap,
    Services, Pods.
    """
    colossal = job(cr, options)
    dialect = replica_dialect if replica_dialect.told(colossal) else launcher_dialect
    training = dialect.read(colossal)
    lasting = [
        _ssh.secret(colossal),
        _ssh.config_map(colossal, _ssh.hostfile(colossal, training.workers, facts.COLOSSALAI_HOSTFILE_LINE)),
        *discovery(colossal, [training.workers], [_ssh.ssh_port(colossal)]),
    ]
    scheduling = pod_groups(colossal, *_needed(colossal, training))
    if paused(colossal):
        return [*scheduling, *lasting]
    ssh = _ssh.mounted(colossal, colossal.spec.get("ssh", "authMountPath"))
    running = [*_launcher(colossal, training, ssh), *_workers(colossal, training.workers, ssh)]
    return [*scheduling, *lasting, *running]


def _needed(colossal: Job, training: Training) -> tuple[int, tuple[Why, ...]]:
    """How many Pods the job needs to start, and where the number comes from."""
    fact = colossal.options.fact(facts.COLOSSALAI_MIN_MEMBER)
    roles = [training.workers] if fact.value == "workers" else [training.launcher, training.workers]
    return members(roles, fact=fact)


def _launcher(colossal: Job, training: Training, ssh: _ssh.Mounted) -> list[Group]:
    role = training.launcher
    launching = launch(colossal, role.type)
    mounts = [
        *_ssh.keys_mounts(colossal, ssh),
        _ssh.file_mount(colossal, ssh, facts.SSH_HOSTFILE_KEY, facts.COLOSSALAI_HOSTFILE_PATH),
    ]
    worker = training_container(colossal, training.workers, facts.COLOSSALAI_TRAINING_CONTAINER)
    own = launcher_container(colossal, training, worker, mounts)
    # A launcher that nobody wrote lacks what the worker lacks.
    place = training.place if training.place.exists or "image" in own else worker
    chosen = colossal.options.told(facts.COLOSSALAI_LAUNCHER, facts.COLOSSALAI_LAUNCHER_CONTAINER)
    made = at((place, chosen), launched(own, launching))
    containers: list[Cursor | Marked] = [*role.template.get("spec", "containers").entries()]
    containers[training.position : training.position + 1] = [made]
    called = colossal.options.fact(facts.COLOSSALAI_LAUNCHER)
    return _pods(
        colossal,
        role,
        containers,
        launching,
        volumes=_ssh.volumes(colossal, ssh, files=True),
        name=str(filled(called.value, naming(colossal, role.type))),
        why=why_named(colossal, called),
        trains=training.position,
    )


def _workers(colossal: Job, role: Role, ssh: _ssh.Mounted) -> list[Group]:
    launching = launch(colossal, role.type)
    sshd_path = _ssh.setting(colossal, facts.SSHD_PATH, colossal.spec.get("ssh", "sshdPath"))
    mounts = _ssh.keys_mounts(colossal, ssh)

    def trained(container: Cursor) -> dict[str, object]:
        command = _ssh.sshd(colossal, container, sshd_path)
        return launched(_ssh.with_command(colossal, container, command, mounts), launching)

    chosen = configured(colossal, facts.COLOSSALAI_TRAINING_CONTAINER)
    trains = training_index(colossal, role, facts.COLOSSALAI_TRAINING_CONTAINER)
    containers = each_container(role, trains, trained, chosen=chosen)
    volumes, more = _ssh.volumes(colossal, ssh, files=False), subdomain(colossal, role)
    return _pods(colossal, role, containers, launching, volumes=volumes, more=more, trains=trains)


def _pods(
    colossal: Job,
    role: Role,
    containers: list[Any],
    launching: Launch,
    *,
    volumes: list[Any],
    trains: int,
    more: Tree | None = None,
    name: str | None = None,
    why: tuple[Why, ...] | None = None,
) -> list[Group]:
    """The Pods of a role, launcher or worker, around its containers; see ``pod_spec`` and ``pods``."""
    never = facts.RESTART_NEVER_ASSUMED
    spec = pod_spec(colossal, role, containers, launching, never=never, volumes=volumes, more=more)
    labels = replica_labels(colossal, role, facts.COLOSSALAI_LABELS)
    return pods(colossal, role, spec, labels=labels, name=name, why=why, trains=trains)
