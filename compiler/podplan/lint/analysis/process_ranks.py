"""The ranks of the processes of each Pod, if they are fixed before the job runs.

Sources: docs/evidence/torchrun.md#static-rendezvous, docs/evidence/torchrun.md#ranks-of-nodes,
docs/evidence/deepspeed-launcher.md#variables-of-the-processes,
docs/evidence/colossalai-launcher.md#command-on-the-workers, docs/evidence/mpirun.md#order-of-the-ranks.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.indexed_text import Indexed
from podplan.core.replica_groups import find_name_text, find_object_name
from podplan.core.typing import NamedTuple
from podplan.kubernetes.accessors import get_entries, get_text
from podplan.launchers.commands import AccelerateCommand, MpirunCommand, TorchrunCommand
from podplan.launchers.mpirun_options import OPEN_MPI_4, OPEN_MPI_5
from podplan.lint.analysis.env_sources import read_env_value
from podplan.lint.analysis.launches import ContainerLaunch, find_launch_on_replica
from podplan.lint.analysis.pod_hosts import HostfileHosts, read_hostfile, strip_cluster_domain
from podplan.lint.target import LoweredJob

# Options of mpirun that change on which host a rank is.
_MAPPING_TEXT = """
    N bynode byslot host map_by nolocal npernode npersocket oversubscribe per_node pernode ppr rank_by
    rankfile
"""
_MAPPING_OPTIONS = frozenset(_MAPPING_TEXT.split())


class NodeRanks(NamedTuple):
    """Pods whose nodes have consecutive numbers, or with ``step`` 0 one number.

    ``name`` is how their name depends on the index. A Pod has ``per_node`` processes.
    """

    name: Indexed | str
    start: int
    replicas: int
    first_node: int
    step: int
    per_node: int

    def name_at(self, index: int) -> str:
        """Return the name of a Pod."""
        return self.name.text_at(index) if isinstance(self.name, Indexed) else self.name

    def node_at(self, index: int) -> int:
        """Return the number of the node that a Pod is."""
        return self.first_node + (index - self.start) * self.step

    def narrow(self, start: int, replicas: int) -> NodeRanks:
        """Return the span for a part of its Pods."""
        return self._replace(start=start, replicas=replicas, first_node=self.node_at(start))

    def find_index(self, name: str) -> int | None:
        """Return the index of the Pod with a name, None if it is not among these."""
        if not isinstance(self.name, Indexed):
            return self.start if self.name == name else None
        index = self.name.find_index(name)
        return index if index is not None and self.start <= index < self.start + self.replicas else None


def find_node_spans(
    job: LoweredJob, launch: ContainerLaunch, nodes: int, per_node: int
) -> tuple[NodeRanks, ...]:
    """Return the Pods in which a launch starts processes, with their nodes; empty if these are not fixed."""
    parsed = launch.invocation.parsed
    if isinstance(parsed, TorchrunCommand | AccelerateCommand):
        span = _find_span_of_group(launch, nodes, per_node)
        return (span,) if span is not None else ()
    hosts = read_hostfile(job)
    if isinstance(parsed, MpirunCommand):
        per_node = _count_slots_filled(parsed, hosts)
        nodes = sum(one.replicas for one in hosts)
    if not per_node or nodes != sum(one.replicas for one in hosts):
        return ()
    return tuple(_iter_spans_of_hosts(hosts, per_node))


def is_assigned_at_rendezvous(launch: ContainerLaunch, most_nodes: int) -> bool:
    """Whether the rendezvous assigns the numbers of nodes."""
    torchrun = launch.torchrun
    return torchrun is not None and torchrun.backend != "static" and most_nodes > 1


def _find_span_of_group(launch: ContainerLaunch, nodes: int, per_node: int) -> NodeRanks | None:
    """Return the node numbers that the Pods of a launch state."""
    group = launch.group
    name_text = find_name_text(group.doc)
    name = name_text if isinstance(name_text, Indexed) else find_object_name(group.doc)
    if nodes == 1:
        return NodeRanks(name, group.start, group.replicas, 0, 0, per_node)
    if is_assigned_at_rendezvous(launch, nodes):
        return None
    last_index = group.start + group.replicas - 1
    last_launch = find_launch_on_replica(launch, last_index) if group.replicas > 1 else launch
    first, last = _read_node_rank(launch), _read_node_rank(last_launch) if last_launch is not None else None
    if first is None or last is None:
        first, last = _read_variable_of_rank(launch)
    if first is None or last is None or last - first not in (0, group.replicas - 1):
        return None
    return NodeRanks(name, group.start, group.replicas, first, int(last > first), per_node)


def _read_node_rank(launch: ContainerLaunch) -> int | None:
    parsed = launch.invocation.parsed
    if isinstance(parsed, TorchrunCommand):
        return parsed.node_rank
    return parsed.machine_rank if isinstance(parsed, AccelerateCommand) else None


def _read_variable_of_rank(launch: ContainerLaunch) -> tuple[int | None, int | None]:
    """Return PET_NODE_RANK of the first and the last Pod, which may come from a field of the Pod."""
    torchrun = launch.torchrun
    if torchrun is None or torchrun.value_origins.get("node_rank") != "PET_NODE_RANK":
        return None, None
    numbers = [
        number
        for number, entry in get_entries(launch.container, "env")
        if get_text(entry, "name") == "PET_NODE_RANK"
    ]
    texts = read_env_value(launch.group, launch.path, numbers[-1]).texts if numbers else None
    if texts is None or not all(text.isdecimal() for text in texts):
        return None, None
    return int(texts[0]), int(texts[1])


def _iter_spans_of_hosts(hosts: list[HostfileHosts], per_node: int) -> Iterator[NodeRanks]:
    """Yield the hosts of a hostfile in its order."""
    first_node = 0
    for lines in hosts:
        head = lines.line.parts[0]
        parts = [*lines.line.parts]
        host = strip_cluster_domain(lines.line.text_at(lines.start).split()[0])
        # The name of the Pod is the line up to the first dot or space after the index.
        cut = next((i for i, part in enumerate(parts) if isinstance(part, str) and i and part), len(parts))
        name = Indexed(tuple(parts[:cut])) if isinstance(head, str) else lines.line
        if name.text_at(lines.start) != host:
            return
        yield NodeRanks(name, lines.start, lines.replicas, first_node, 1, per_node)
        first_node += lines.replicas


def _count_slots_filled(parsed: MpirunCommand, hosts: list[HostfileHosts]) -> int:
    """Count the ranks that Open MPI starts on each host if it fills all slots; 0 if that is not known."""
    slots = {one.slots for one in hosts}  # written as slots=N, which only Open MPI reads
    is_open_mpi = not {OPEN_MPI_4.name, OPEN_MPI_5.name}.isdisjoint(parsed.implementations)
    maps = _MAPPING_OPTIONS.intersection(parsed.command_line.options) or any(
        "map" in name or "rank" in name for name in parsed.mca_parameters
    )
    if maps or not is_open_mpi or len(slots) != 1 or not parsed.command_line.is_certain:
        return 0
    per_node = slots.pop() or 0
    total = per_node * sum(one.replicas for one in hosts)
    return per_node if parsed.processes in (None, total) else 0
