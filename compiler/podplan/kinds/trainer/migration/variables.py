"""The variables and the number of processes of the container node, from those of a PyTorchJob."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.conversion import Copied, Decision
from podplan.kinds.trainer.job_set_template import NODE, PORT
from podplan.kinds.trainer.migration.programs import (
    find_named_variables,
    starts_torchrun,
    states_process_count,
)
from podplan.kinds.trainer.migration.source_job import NAME_VARIABLE, SourceJob
from podplan.kinds.trainer.rendezvous import INDEX_FIELD
from podplan.kubernetes.quantities import UNITS_PER_ONE, parse_quantity

_OPERATOR_VARIABLES = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK")
_RESERVED = ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT")
_UNBUFFERED = "PYTHONUNBUFFERED"
_NAME_FIELD = "metadata.labels['jobset.sigs.k8s.io/jobset-name']"


class Variable(NamedTuple):
    """A variable of the new container: its entry, and its name."""

    name: str
    entry: Any


def find_processes(job: SourceJob, decisions: list[Decision]) -> int | None:
    """``numProcPerNode``; None where Trainer counts the same by itself."""
    elastic = job.elastic or {}
    written = job.spec.get("nprocPerNode", elastic.get("nProcPerNode", "auto"))
    path: Path = ("spec", "nprocPerNode") if "nprocPerNode" in job.spec else ("spec", "elasticPolicy")
    if re.fullmatch(r"[+-]?[0-9]+", str(written)):
        return int(written)
    gpus, is_counted = _count_gpus(job.container)
    if gpus and written in ("auto", "gpu"):
        return None if is_counted and written == "auto" else gpus
    if written == "auto" or states_process_count(job.container):
        if starts_torchrun(job.container) and not states_process_count(job.container):
            text = (
                "nprocPerNode auto without GPUs is one process per CPU of the node; Trainer counts the"
                " CPUs that"
                " the container requests; for another number, write numProcPerNode"
            )
            decisions.append(Decision(path, "changed", text))
        return None
    text = (
        f"nprocPerNode {written} has no field in a TrainJob: write --nproc-per-node={written} after torchrun"
    )
    decisions.append(Decision(path, "lost", text))
    return None


def _count_gpus(container: Mapping[str, Any]) -> tuple[int, bool]:
    """The devices of a container, and whether Trainer takes them for GPUs, which it knows by their names."""
    resources = container.get("resources") or {}
    amounts = {**(resources.get("requests") or {}), **(resources.get("limits") or {})}
    for name, amount in amounts.items():
        if "gpu" in name.lower() or name.startswith("nvidia.com/mig-"):
            return (parse_quantity(amount) or 0) // UNITS_PER_ONE, "gpu" in name.lower()
    return 0, False


def build_variables(job: SourceJob, decisions: list[Decision]) -> list[Variable]:
    """The variables of the container, then those of the operator that Trainer does not set."""
    path: Path = (*job.container_path, "env")
    replaced = {"PET_NNODES", "PET_NPROC_PER_NODE"}
    if "Master" in job.types:
        replaced |= {*_RESERVED, *_OPERATOR_VARIABLES}
    elastic_variables = dict(_iter_elastic_variables(job)) if job.elastic is not None else {}
    needed = _find_needed_variables(job, decisions)
    variables: dict[str, Variable] = {}
    for at, entry in enumerate(job.container.get("env") or ()):
        name = str(entry.get("name"))
        if name == _UNBUFFERED or name in elastic_variables:
            continue
        if name in replaced:
            text = f"the operator replaced {name} of the container; the one of Trainer counts now"
            decisions.append(Decision((*path, at), "same", text))
            continue
        if name in _RESERVED:
            text = f"{name} is removed: Trainer sets it, and refuses another"
            decisions.append(Decision((*path, at), "changed", text))
            continue
        if name in variables:
            text = f"{name} is there twice; the first is removed, since the last counts"
            decisions.append(Decision((*path, at), "same", text))
        variables[name] = Variable(name, Copied((*path, at)))
    host_pattern = re.compile(rf"\b{re.escape(job.name)}-(?:master|worker)-[0-9]+\b")
    for field in ("command", "args", "env"):
        match = host_pattern.search(str(job.container.get(field))) if job.name else None
        if match:
            text = (
                f"{field} has the host {match[0]}, which no longer exists: write {job.coordinator} for the"
                f" first node, {job.name}-{NODE}-0-N.{job.name} for node N"
            )
            decisions.append(Decision((*job.container_path, field), "lost", text))
    own = [Variable(_UNBUFFERED, {"name": _UNBUFFERED, "value": "1"})]
    if not job.name and (needed or elastic_variables):
        entry = {"name": NAME_VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": _NAME_FIELD}}}
        own.append(Variable(NAME_VARIABLE, entry))
    own += [Variable(name, {"name": name, "value": value}) for name, value in elastic_variables.items()]
    own += [Variable(name, entry) for name, entry in _build_operator_variables(job).items() if name in needed]
    return [*variables.values(), *own]


def _find_needed_variables(job: SourceJob, decisions: list[Decision]) -> frozenset[str]:
    """The variables of the operator that the program may read and that torchrun does not set."""
    if "Master" not in job.types:
        return frozenset()
    container, path = job.container, (*job.container_path, "command")
    if starts_torchrun(container):
        needed = find_named_variables(container) & frozenset(_OPERATOR_VARIABLES)
        why = "the command line names them, and Trainer sets PET_… only"
    else:
        needed = frozenset(_OPERATOR_VARIABLES)
        program = "the program is not torchrun" if container.get("command") else "the program is in the image"
        alone = ", with which each node would train alone" if job.nodes > 1 else ""
        why = f"{program}, and Trainer sets PET_… only{alone}"
    if not needed:
        return needed
    names = ", ".join(sorted(needed))
    decisions.append(Decision(path, "same", f"{names} are written in trainer.env: {why}"))
    return needed


def _build_operator_variables(job: SourceJob) -> dict[str, Any]:
    """The variables of the operator as Trainer can set them."""
    processes = str(job.spec.get("nprocPerNode"))
    size = job.nodes * (int(processes) if re.fullmatch(r"[+-]?[0-9]+", processes) else 1)
    return {
        "MASTER_ADDR": {"name": "MASTER_ADDR", "value": job.coordinator},
        "MASTER_PORT": {"name": "MASTER_PORT", "value": str(PORT)},
        "WORLD_SIZE": {"name": "WORLD_SIZE", "value": str(size)},
        "RANK": {"name": "RANK", "valueFrom": {"fieldRef": {"fieldPath": INDEX_FIELD}}},
    }


def _iter_elastic_variables(job: SourceJob) -> Iterator[tuple[str, str]]:
    """Yield the variables of torchrun that Trainer leaves to the job."""
    elastic = job.elastic or {}
    host, port = elastic.get("rdzvHost") or job.coordinator, elastic.get("rdzvPort") or PORT
    yield "PET_RDZV_BACKEND", str(elastic.get("rdzvBackend") or "c10d")
    yield "PET_RDZV_ENDPOINT", f"{host}:{port}"
    for name, field in (("PET_MAX_RESTARTS", "maxRestarts"), ("PET_RDZV_ID", "rdzvId")):
        if elastic.get(field) is not None:
            yield name, str(elastic[field])
    if elastic.get("rdzvConf"):
        yield (
            "PET_RDZV_CONF",
            ",".join(f"{one.get('key', '')}={one.get('value', '')}" for one in elastic["rdzvConf"]),
        )
    if elastic.get("standalone") is True:
        yield "PET_STANDALONE", ""
