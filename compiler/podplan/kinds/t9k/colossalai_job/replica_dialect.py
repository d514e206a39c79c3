"""The dialect with ``torchConfig`` and ``replicaSpecs``.

Source: docs/evidence/t9k-colossalaijob.md#fields-of-the-replica-dialect.
"""

from __future__ import annotations

from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.colossalai_job.settings import Training, absent
from podplan.kinds.t9k.job import Job, Role, replica_roles
from podplan.kinds.t9k.pods import training_index


def told(job: Job) -> bool:
    """Whether a job is in this dialect."""
    return any(job.spec.get(field).exists for field in ("torchConfig", "replicaSpecs"))


def read(job: Job) -> Training:
    """What a job in this dialect says; of several entries of one type, the first counts."""
    roles = replica_roles(job)
    launcher = next((role for role in roles if role.type == "launcher"), _unwritten(job, "launcher", 1))
    workers = next((role for role in roles if role.type == "worker"), _unwritten(job, "worker", 0))
    containers = launcher.template.get("spec", "containers")
    position = training_index(job, launcher, behaviors.COLOSSALAI_LAUNCHER_CONTAINER)
    config = job.spec.get("torchConfig")
    return Training(
        workers=workers,
        launcher=launcher._replace(replicas=min(1, launcher.replicas)),
        container={**containers.get(position).fields()},
        position=position,
        place=containers.get(position),
        processes=config.get("procPerWorker"),
        script=config.get("script"),
        torchrun_options=config.get("extraArgs"),
    )


def _unwritten(job: Job, type_: str, replicas: int) -> Role:
    """A role that replicaSpecs does not mention."""
    specs = job.spec.get("replicaSpecs")
    return Role(type_, specs, replicas, (behaviors.REPLICAS, specs), absent(specs, "template"))
