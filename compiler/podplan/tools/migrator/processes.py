"""The processes of lowered Pods: their number, their rendezvous, and their variables.

A process is identified by its node and its number there. Of nodes that differ only by their index,
only the first, the second and the last are read, so that the cost does not depend on their number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from podplan.core.lazy_regex import compile_lazily
from podplan.core.replica_groups import ReplicaGroup, build_at_index
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.quantities import UNITS_PER_ONE, parse_quantity
from podplan.launchers.commands import TorchrunCommand
from podplan.launchers.discovery import Invocation, find_programs
from podplan.launchers.kubelet import resolve_environment

_METADATA_FIELD = compile_lazily(r"metadata\.(annotations|labels)\['([^']+)'\]")
# Variables that torch.distributed reads in processes that torchrun did not start.
RENDEZVOUS_VARIABLES = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")
UNKNOWN = "?"


class TrainingNode(NamedTuple):
    """A Pod that trains: its rank, its object, and its container with variables from Pod fields resolved."""

    rank: int
    pod: Mapping[str, Any]
    container_index: int
    container: Mapping[str, Any]

    @property
    def variables(self) -> Mapping[str, str | None]:
        """The variables of the container; None for a value that only the cluster knows."""
        return resolve_environment(self.container)


class NodeProcesses(NamedTuple):
    """The processes of one node.

    ``process_count`` is their number, None if unknown; ``count_text`` states it in words. ``world_size``
    is the number of processes that they wait for, None if unknown. ``rendezvous`` is its address, or "".
    ``variables`` are those of its processes, with the range of values if these differ.
    """

    node: TrainingNode
    program: str
    process_count: int | None
    count_text: str
    world_size: int | None
    rendezvous: str
    max_restarts: int
    variables: Mapping[str, str]


class JobProcesses(NamedTuple):
    """The processes of a job; ``nodes`` are the first, the second and the last."""

    node_count: int
    nodes: tuple[NodeProcesses, ...]


def read_processes(pods: Sequence[ReplicaGroup]) -> JobProcesses:
    """Read the processes of the Pods that train."""
    found: list[TrainingNode] = []
    count = 0
    for group in pods:
        last = group.start + group.replicas - 1
        for index in sorted({group.start, min(group.start + 1, last), last}):
            found.append(_read_node(group, index, count + index - group.start))
        count += group.replicas
    found.sort(key=lambda node: node.rank)
    kept = {node.rank: node for node in (*found[:2], *found[-1:])}
    return JobProcesses(count, tuple(_read_node_processes(node) for node in kept.values()))


def _read_node(group: ReplicaGroup, index: int, order: int) -> TrainingNode:
    pod = build_at_index(group.doc, index)
    at = group.training_container_index or 0
    container = dict(pod["spec"]["containers"][at])
    container["env"] = [_fill_field(entry, pod["metadata"]) for entry in container.get("env") or ()]
    variables = resolve_environment(container)
    rank = next(
        (
            int(text)
            for text in (variables.get(name) or "" for name in ("PET_NODE_RANK", "RANK"))
            if text.isdecimal()
        ),
        order,
    )
    return TrainingNode(rank, pod, at, container)


def _fill_field(entry: Mapping[str, Any], metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a variable with its value, if it is a label or an annotation of the Pod."""
    field = ((entry.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath") or ""
    match = _METADATA_FIELD.fullmatch(field)
    value = (metadata.get(match[1]) or {}).get(match[2]) if match else None
    return {"name": entry.get("name"), "value": str(value)} if value is not None else entry


def _read_node_processes(node: TrainingNode) -> NodeProcesses:
    invocations = find_programs(node.container).invocations
    launches = [one for one in invocations if isinstance(one.parsed, TorchrunCommand)]
    own = {name: UNKNOWN if value is None else value for name, value in node.variables.items()}
    if launches:
        return _read_torchrun(node, launches[-1], own)
    is_together = all(own.get(name) for name in RENDEZVOUS_VARIABLES)
    rendezvous = f"{own['MASTER_ADDR']}:{own['MASTER_PORT']}" if is_together else ""
    last = invocations[-1] if invocations else None
    if last is None or last.launcher != "python":
        program = "the program of the image"
        if last is not None and not last.is_assumed:
            program = last.program_word.base_name
        if not rendezvous and own.get("PET_MASTER_ADDR"):
            rendezvous = f"{own['PET_MASTER_ADDR']}:{own.get('PET_MASTER_PORT')} (for torchrun)"
        return NodeProcesses(node, program, None, f"as {program} starts them", None, rendezvous, 0, own)
    size = own.get("WORLD_SIZE", "")
    world_size = (int(size) if size.isdecimal() else None) if is_together else 1
    program = last.program_word.text
    return NodeProcesses(node, program, 1, "1 per node", world_size, rendezvous, 0, own)


def _read_torchrun(node: TrainingNode, invocation: Invocation, own: dict[str, str]) -> NodeProcesses:
    command = invocation.parsed
    assert isinstance(command, TorchrunCommand)
    count, count_text = _count_processes(command.processes, node.container)
    low, high = command.node_range or (0, 0)
    nodes = high if low == high else 0
    is_alone = command.standalone or nodes == 1
    world_size = nodes * count if nodes and count is not None else None
    address = f"{command.host or UNKNOWN}:{command.port or UNKNOWN}"
    rendezvous = "" if is_alone else f"{address} ({command.backend})"
    variables = dict(own)
    is_static = command.backend == "static"
    rank = command.node_rank if command.node_rank is not None else (0 if is_alone else None)
    if is_alone:
        rank = 0
    elif not is_static:
        rank = None
    variables["LOCAL_RANK"] = _format_range(0, count)
    variables["LOCAL_WORLD_SIZE"] = UNKNOWN if count is None else str(count)
    if world_size is None:
        is_elastic = bool(low != high and count)
        variables["WORLD_SIZE"] = f"{low * (count or 0)} to {high * (count or 0)}" if is_elastic else UNKNOWN
    else:
        variables["WORLD_SIZE"] = str(world_size)
    if rank is not None and count is not None:
        variables["RANK"] = _format_range(rank * count, count)
    else:
        variables["RANK"] = UNKNOWN if is_static else "as the rendezvous assigns"
    if is_static and not is_alone:
        variables["MASTER_ADDR"] = command.host or UNKNOWN
        variables["MASTER_PORT"] = str(command.port or UNKNOWN)
    else:
        variables["MASTER_ADDR"] = "this node" if is_alone else "a node that the rendezvous chooses"
        variables["MASTER_PORT"] = "a free port"
    restarts = command.max_restarts or 0
    return NodeProcesses(
        node, invocation.launcher, count, count_text, world_size, rendezvous, restarts, variables
    )


def _format_range(first: int, count: int | None) -> str:
    if count is None:
        return UNKNOWN
    return str(first) if count == 1 else f"{first} to {first + count - 1}"


def _count_processes(text: str | None, container: Mapping[str, Any]) -> tuple[int | None, str]:
    """Return how many processes torchrun starts for a number or a word."""
    if text is not None and text.isdecimal():
        return int(text), f"{text} per node"
    gpus = _count_devices(container)
    if text in ("auto", "gpu") and gpus:
        return gpus, f"{gpus} per node"
    if text == "auto" or text == "cpu":
        return None, "one for each CPU of the node"
    return None, "unknown"


def _count_devices(container: Mapping[str, Any]) -> int:
    resources = container.get("resources") or {}
    amounts = {**(resources.get("requests") or {}), **(resources.get("limits") or {})}
    return sum(
        (parse_quantity(amount) or 0) // UNITS_PER_ONE
        for name, amount in amounts.items()
        if "gpu" in name.lower() or name.startswith("nvidia.com/mig-")
    )
