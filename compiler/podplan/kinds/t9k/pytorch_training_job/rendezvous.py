"""How the replicas of a PyTorchTrainingJob find each other: the environment, and the torchrun line."""

from __future__ import annotations

from podplan.core.indexed_text import Indexed
from podplan.core.provenance import Cursor, Fact, Marked, Why, at
from podplan.core.replica_groups import CONFIGURED
from podplan.core.typing import Any
from podplan.kinds.common.name_patterns import INDEX, WORD, filled
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.elastic import Bounds
from podplan.kinds.t9k.job import Job, Role, name_of
from podplan.kinds.t9k.pods import training_container
from podplan.kinds.t9k.services import NAMING, host


def uses_torchrun(job: Job) -> bool:
    return job.spec.get("torchrunConfig", "enabled").value is True


# What the replicas are told, by word: each with its origin, or None where nothing is known of it.
Rendezvous = dict[str, Marked | None]


def rendezvous(job: Job, roles: list[Role], port: Marked, bounds: Bounds | None) -> Rendezvous:
    """Where the replicas meet and how many they are, which is the same for all of them.

    The host is the replica of rank 0. ``bounds`` are those of an elastic job.
    """
    first = _first(roles)
    address = job.options.told(behaviors.PYTORCH_MASTER_ADDR, *NAMING)
    backend = job.options.fact(behaviors.RDZV_BACKEND)
    total = sum(role.replicas for role in roles)
    counted = tuple(why for role in roles for why in role.counted)
    config = job.spec.get("torchrunConfig")
    replicas = at((behaviors.TORCHRUN_ARGUMENTS, *counted), str(total))
    return {
        "master-addr": at((first.where.get("type"), address), host(job, first).text(0)),
        "master-port": port._replace(value=str(port.value)),
        "world-size": _world_size(job, total, counted),
        "replicas": replicas,
        "nnodes": _range(bounds) or replicas,
        "processes": _written(config.get("procPerNode")),
        "rdzv-backend": _written(config.get("rdzvBackend")) or at((backend, config), backend.value),
        "max-restarts": _written(config.get("maxRestarts")),
        "base": at(job.base_why, job.base),
        "job": name_of(job),
    }


def _written(cursor: Cursor) -> Marked | None:
    """What is written, as text; an empty string counts as not written, as in Go."""
    return at(cursor, str(cursor.value)) if cursor.exists and cursor.value != "" else None


def _world_size(job: Job, total: int, counted: tuple[Why, ...]) -> Marked:
    """The number of replicas, or of processes where a setting says so and a replica has several."""
    fact, processes = (
        job.options.fact(behaviors.PYTORCH_WORLD_SIZE),
        job.spec.get("torchrunConfig", "procPerNode"),
    )
    each = str(processes.otherwise(""))
    if fact.value == "processes" and each.isdecimal():
        return at((fact, *counted, processes), str(total * int(each)))
    return at((fact, *counted), str(total))


def _range(bounds: Bounds | None) -> Marked | None:
    """The fewest and the most nodes of an elastic job; None where nothing bounds them."""
    if bounds is None or not bounds.written:
        return None
    why = (*bounds.least_why, *bounds.most_why, behaviors.TORCHRUN_ARGUMENTS)
    return at(why, f"{bounds.least}:{bounds.most}")


def environment(job: Job, meeting: Rendezvous, role: Role, first_rank: int) -> list[Marked]:
    """The variables that the controller sets; ranks only where torchrun does not give them."""
    fact = job.options.fact(behaviors.PYTORCH_TORCHRUN_ENV if uses_torchrun(job) else behaviors.PYTORCH_ENV)
    rank = at((behaviors.PYTORCH_RANK, job.spec), Indexed((first_rank,)))
    known = meeting | _of_role(role) | {"rank": rank, "index": at(role.where, INDEX)}
    found = ((name, _told(str(pattern), known, fact, job.spec)) for name, pattern in fact.value.items())
    return [
        Marked({"name": name, "value": value}, value.origin) for name, value in found if value is not None
    ]


def _of_role(role: Role) -> Rendezvous:
    return {"type": at((role.where.get("type"), behaviors.TORCHRUN_ARGUMENTS), role.type)}


def _told(pattern: str, known: Rendezvous, fact: Fact, asked: Cursor) -> Marked | None:
    """A pattern with its words filled in: what a single word stands for, with the origin of that.

    Other text is there because of ``asked``, the part of the CR that asks for it.
    """
    single = WORD.fullmatch(pattern)
    if single and single[1] in known:
        value = known[single[1]]
        if value is None or fact.basis != CONFIGURED or _is_configured(value):
            return value
        return Marked(value.value, value.origin._replace(fact=fact))
    text = filled(pattern, {word: value and value.value for word, value in known.items()})
    return None if text is None else at((fact, asked), text)


def rendezvous_port(job: Job, roles: list[Role]) -> Marked:
    """The number of the port: what rank 0 declares under its name, else the one of the controller."""
    number, by_name = (
        job.options.fact(behaviors.PYTORCH_MASTER_PORT),
        job.options.fact(behaviors.PYTORCH_PORT_BY_NAME),
    )
    declared = _declared_number(job, _first(roles)) if roles else None
    if declared is None:
        return at((number, job.spec), number.value)
    if by_name.value:
        return at((declared, by_name), declared.value)
    told = job.options.told(behaviors.PYTORCH_MASTER_PORT, behaviors.PYTORCH_PORT_BY_NAME)
    return at((told, job.spec), number.value)


def _declared_number(job: Job, role: Role) -> Cursor | None:
    """The number that the training container declares under the name of the rendezvous port."""
    name = job.options.fact(behaviors.PYTORCH_PORT_NAME).value
    container = training_container(job, role, behaviors.PYTORCH_TRAINING_CONTAINER)
    numbers = (
        port.get("containerPort")
        for port in container.get("ports").entries()
        if port.get("name").value == name
    )
    return next((number for number in numbers if isinstance(number.value, int)), None)


def named_port(job: Job, port: Marked, key: str) -> Marked:
    """The port of the rendezvous as an entry of ``ports``; ``key`` is port or containerPort."""
    name = job.options.fact(behaviors.PYTORCH_PORT_NAME)
    return at((name, job.spec), {"name": name.value, key: port})


def _first(roles: list[Role]) -> Role:
    """The role of rank 0."""
    return next((role for role in roles if role.replicas > 0), roles[0])


def torchrun(job: Job, meeting: Rendezvous, role: Role, container: Cursor) -> Marked:
    """The command of the training container: torchrun and its options; the args of the container follow."""
    config, fact = job.spec.get("torchrunConfig"), job.options.fact(behaviors.TORCHRUN_ARGUMENTS)
    known = meeting | _of_role(role)
    words: list[Any] = []
    for option in fact.value:
        told = [_told(word, known, fact, config) for word in option.split()]
        words += [word for word in told if word is not None] if None not in told else []
    words += config.get("extraOptions").entries()
    told_by = job.options.told(behaviors.TORCHRUN, behaviors.TORCHRUN_ARGUMENTS)
    return at((config, told_by), words, over=(container.get("command"),))


def _is_configured(value: Marked) -> bool:
    return value.origin.fact is not None and value.origin.fact.basis == CONFIGURED
