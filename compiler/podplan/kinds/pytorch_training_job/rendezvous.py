"""How the replicas of a PyTorchTrainingJob find each other: the environment, and the torchrun line."""

from __future__ import annotations

from typing import Any, NamedTuple

from podplan import facts
from podplan.kinds._job import Job, Role
from podplan.kinds.pytorch_training_job.elastic import elastic
from podplan.provenance import Cursor, Indexed, Marked, at, default


def uses_torchrun(job: Job) -> bool:
    return job.spec.get("torchrunConfig", "enabled").value is True


class Rendezvous(NamedTuple):
    """Where the replicas meet and how many they are, which is the same for all of them."""

    address: Marked
    port: Marked
    world_size: Marked
    nodes: Marked


def rendezvous(job: Job, roles: list[Role]) -> Rendezvous:
    """The rendezvous of a job; its host is the replica of rank 0."""
    first = next((role for role in roles if role.replicas > 0), roles[0])
    port = job.options.fact(facts.PYTORCH_MASTER_PORT)
    total = str(sum(role.replicas for role in roles))
    counted = tuple(why for role in roles for why in role.counted)
    return Rendezvous(
        address=at((first.where.get("type"), facts.PYTORCH_MASTER_ADDR), f"{job.base}-{first.type}-0"),
        port=at((port, job.spec), str(port.value)),
        world_size=at((facts.PYTORCH_WORLD_SIZE, *counted), total),
        nodes=_range(job) or at((facts.TORCHRUN_ARGUMENTS, *counted), total),
    )


def _range(job: Job) -> Marked | None:
    """The fewest and the most nodes of an elastic job."""
    least, most = job.spec.get("elastic", "minReplicas"), job.spec.get("elastic", "maxReplicas")
    if not (elastic(job) and least.exists and most.exists):
        return None
    return at((facts.TORCHRUN_ARGUMENTS, least, most), f"{least.value}:{most.value}")


def environment(job: Job, meeting: Rendezvous, first_rank: int) -> list[Marked]:
    """What stands before the env of the template; ranks only where torchrun does not give them."""
    variables = {"MASTER_ADDR": meeting.address, "MASTER_PORT": meeting.port}
    if not uses_torchrun(job):
        variables["RANK"] = at((facts.PYTORCH_RANK, job.spec), Indexed((first_rank,)))
        variables["WORLD_SIZE"] = meeting.world_size
    return [Marked({"name": name, "value": value}, value.origin) for name, value in variables.items()]


def master_port(job: Job, key: str) -> Marked:
    """The port of the rendezvous as an entry of ``ports``; ``key`` is port or containerPort."""
    port, name = job.options.fact(facts.PYTORCH_MASTER_PORT), job.options.fact(facts.PYTORCH_PORT_NAME)
    return at((name, job.spec), {"name": name.value, key: at((port, job.spec), port.value)})


def torchrun(job: Job, meeting: Rendezvous, role: Role, container: Cursor) -> Marked:
    """The command of the training container: torchrun and its options; the args of the container follow."""
    config = job.spec.get("torchrunConfig")
    options: list[Any] = ["torchrun", "--nnodes", meeting.nodes]
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
