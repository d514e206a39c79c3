"""How the replicas of a PyTorchTrainingJob find each other: the environment, and the torchrun line."""

from __future__ import annotations

from typing import Any

from podplan import facts
from podplan.kinds._job import Job, Role
from podplan.kinds.pytorch_training_job.elastic import elastic
from podplan.provenance import Cursor, Indexed, Marked, Why, at, default


def uses_torchrun(job: Job) -> bool:
    return job.spec.get("torchrunConfig", "enabled").value is True


def environment(job: Job, roles: list[Role], first_rank: int) -> list[Marked]:
    """What stands before the env of the template; ranks only where torchrun does not give them."""
    port = job.options.fact(facts.PYTORCH_MASTER_PORT)
    first = next((role for role in roles if role.replicas > 0), roles[0])
    variables = [
        at(
            (first.where.get("type"), facts.PYTORCH_MASTER_ADDR),
            {"name": "MASTER_ADDR", "value": f"{job.base}-{first.type}-0"},
        ),
        at((port, job.spec), {"name": "MASTER_PORT", "value": str(port.value)}),
    ]
    if uses_torchrun(job):
        return variables
    total, counted = _total(roles)
    return [
        *variables,
        at((facts.PYTORCH_RANK, job.spec), {"name": "RANK", "value": Indexed((first_rank,))}),
        at((facts.PYTORCH_WORLD_SIZE, *counted), {"name": "WORLD_SIZE", "value": str(total)}),
    ]


def master_port(job: Job, key: str) -> Marked:
    """The port of the rendezvous as an entry of ``ports``; ``key`` is port or containerPort."""
    port, name = job.options.fact(facts.PYTORCH_MASTER_PORT), job.options.fact(facts.PYTORCH_PORT_NAME)
    return at((name, job.spec), {"name": name.value, key: at((port, job.spec), port.value)})


def torchrun(job: Job, roles: list[Role], role: Role, container: Cursor) -> Marked:
    """The command of the training container: torchrun and its options; the args of the container follow."""
    config = job.spec.get("torchrunConfig")
    nodes, counted = _nodes(job, roles)
    options: list[Any] = ["torchrun", "--nnodes", at((facts.TORCHRUN_ARGUMENTS, *counted), nodes)]
    options += _option("--nproc_per_node", config.get("procPerNode"))
    options += ["--rdzv_backend", default(config.get("rdzvBackend"), job.options.fact(facts.RDZV_BACKEND))]
    options += ["--rdzv_endpoint", "$(MASTER_ADDR):$(MASTER_PORT)"]
    options += _option("--max_restarts", config.get("maxRestarts"))
    options += ["--role", at((role.where.get("type"), facts.TORCHRUN_ARGUMENTS), role.type)]
    options += config.get("extraOptions").entries()
    return at((config, facts.TORCHRUN), options, over=(container.get("command"),))


def _option(flag: str, value: Cursor) -> list[Any]:
    """A flag with what is written for it, as text; nothing where nothing is written."""
    return [at(value, flag), at(value, str(value.value))] if value.exists else []


def _nodes(job: Job, roles: list[Role]) -> tuple[str, tuple[Why, ...]]:
    least, most = job.spec.get("elastic", "minReplicas"), job.spec.get("elastic", "maxReplicas")
    if elastic(job) and least.exists and most.exists:
        return f"{least.value}:{most.value}", (least, most)
    total, counted = _total(roles)
    return str(total), counted


def _total(roles: list[Role]) -> tuple[int, tuple[Why, ...]]:
    return sum(role.replicas for role in roles), tuple(why for role in roles for why in role.counted)
