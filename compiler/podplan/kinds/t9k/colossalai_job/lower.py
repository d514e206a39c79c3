"""ColossalAIJob, both dialects: a launcher that runs colossalai run, and workers that run sshd."""

from __future__ import annotations

from podplan.core.provenance import Cursor, Marked, Why, at
from podplan.core.replica_groups import Group, Options
from podplan.core.typing import Any
from podplan.kinds.common.name_patterns import filled, naming
from podplan.kinds.t9k import behaviors, ssh_setup
from podplan.kinds.t9k.child_metadata import Tree
from podplan.kinds.t9k.colossalai_job import launcher_dialect, replica_dialect
from podplan.kinds.t9k.colossalai_job.launcher import container as launcher_container
from podplan.kinds.t9k.colossalai_job.settings import Training
from podplan.kinds.t9k.job import Job, Launch, Role, configured, job, launch, paused
from podplan.kinds.t9k.pod_group import members, pod_groups
from podplan.kinds.t9k.pods import (
    each_container,
    launched,
    pod_spec,
    pods,
    replica_labels,
    training_container,
    training_index,
    why_named,
)
from podplan.kinds.t9k.services import discovery, subdomain


def lower(cr: Cursor, options: Options) -> list[Group]:
    """The objects of a ColossalAIJob (docs/evidence/t9k-colossalaijob.md): PodGroup, Secret, ConfigMap,
    Services, Pods.
    """
    colossal = job(cr, options)
    dialect = replica_dialect if replica_dialect.told(colossal) else launcher_dialect
    training = dialect.read(colossal)
    lasting = [
        ssh_setup.secret(colossal),
        ssh_setup.config_map(
            colossal, ssh_setup.hostfile(colossal, training.workers, behaviors.COLOSSALAI_HOSTFILE_LINE)
        ),
        *discovery(colossal, [training.workers], [ssh_setup.ssh_port(colossal)]),
    ]
    scheduling = pod_groups(colossal, *_needed(colossal, training))
    if paused(colossal):
        return [*scheduling, *lasting]
    ssh = ssh_setup.mounted(colossal, colossal.spec.get("ssh", "authMountPath"))
    running = [*_launcher(colossal, training, ssh), *_workers(colossal, training.workers, ssh)]
    return [*scheduling, *lasting, *running]


def _needed(colossal: Job, training: Training) -> tuple[int, tuple[Why, ...]]:
    """How many Pods the job needs to start, and where the number comes from."""
    fact = colossal.options.fact(behaviors.COLOSSALAI_MIN_MEMBER)
    roles = [training.workers] if fact.value == "workers" else [training.launcher, training.workers]
    return members(roles, fact=fact)


def _launcher(colossal: Job, training: Training, ssh: ssh_setup.Mounted) -> list[Group]:
    role = training.launcher
    launching = launch(colossal, role.type)
    mounts = [
        *ssh_setup.keys_mounts(colossal, ssh),
        ssh_setup.file_mount(colossal, ssh, behaviors.SSH_HOSTFILE_KEY, behaviors.COLOSSALAI_HOSTFILE_PATH),
    ]
    worker = training_container(colossal, training.workers, behaviors.COLOSSALAI_TRAINING_CONTAINER)
    own = launcher_container(colossal, training, worker, mounts)
    # A launcher that nobody wrote lacks what the worker lacks.
    place = training.place if training.place.exists or "image" in own else worker
    chosen = colossal.options.told(behaviors.COLOSSALAI_LAUNCHER, behaviors.COLOSSALAI_LAUNCHER_CONTAINER)
    made = at((place, chosen), launched(own, launching))
    containers: list[Cursor | Marked] = [*role.template.get("spec", "containers").entries()]
    containers[training.position : training.position + 1] = [made]
    called = colossal.options.fact(behaviors.COLOSSALAI_LAUNCHER)
    return _pods(
        colossal,
        role,
        containers,
        launching,
        volumes=ssh_setup.volumes(colossal, ssh, files=True),
        name=str(filled(called.value, naming(colossal, role.type))),
        why=why_named(colossal, called),
        trains=training.position,
    )


def _workers(colossal: Job, role: Role, ssh: ssh_setup.Mounted) -> list[Group]:
    launching = launch(colossal, role.type)
    sshd_path = ssh_setup.setting(colossal, behaviors.SSHD_PATH, colossal.spec.get("ssh", "sshdPath"))
    mounts = ssh_setup.keys_mounts(colossal, ssh)

    def trained(container: Cursor) -> dict[str, object]:
        command = ssh_setup.sshd(colossal, container, sshd_path)
        return launched(ssh_setup.with_command(colossal, container, command, mounts), launching)

    chosen = configured(colossal, behaviors.COLOSSALAI_TRAINING_CONTAINER)
    trains = training_index(colossal, role, behaviors.COLOSSALAI_TRAINING_CONTAINER)
    containers = each_container(role, trains, trained, chosen=chosen)
    volumes, more = ssh_setup.volumes(colossal, ssh, files=False), subdomain(colossal, role)
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
    never = behaviors.RESTART_NEVER_ASSUMED
    spec = pod_spec(colossal, role, containers, launching, never=never, volumes=volumes, more=more)
    labels = replica_labels(colossal, role, behaviors.COLOSSALAI_LABELS)
    return pods(colossal, role, spec, labels=labels, name=name, why=why, trains=trains)
