"""The variables that launchers set in each process that they start, whatever the container sets.

Sources: docs/evidence/torchrun.md#variables-of-the-processes, docs/evidence/mpirun.md#variables-of-the-ranks,
docs/evidence/deepspeed-launcher.md#variables-of-the-processes.
"""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.typing import NamedTuple


class ProcessVariable(NamedTuple):
    """How a launcher computes a variable.

    ``range_of`` is the count that bounds its values, which are numbers from 0: processes, nodes or per node;
    "number of" such a count if it is the value itself; "" if only a run shows the value.
    """

    formula: str
    range_of: str = ""

    def format_values(self, counts: Mapping[str, int]) -> str:
        """Return the values for counts of processes, nodes and per node; "" if only a run shows them."""
        count_name = self.range_of.removeprefix("number of ")
        number = counts.get(count_name, 0)
        if not number:
            return ""
        if count_name != self.range_of:
            return str(number)
        return format_range(0, number - 1)

    @property
    def is_by_node(self) -> bool:
        """Whether the value depends on the number of the node."""
        return self.range_of in ("processes", "nodes")

    def format_nodes(self, first: int, last: int, per_node: int) -> str:
        """Return the values on nodes from ``first`` to ``last``, for a variable that depends on the node."""
        if self.range_of == "nodes":
            return format_range(first, last)
        return format_range(first * per_node, (last + 1) * per_node - 1)

    def format_at(self, node: int, per_node: int) -> str:
        """Return the values on one node, for a variable that depends on the node."""
        return self.format_nodes(node, node, per_node)


def format_range(first: int, last: int) -> str:
    """Format numbers such as 8 to 15."""
    return f"{first} to {last}" if last > first else str(first)


_NODES_TIMES_PROCESSES = ProcessVariable("nodes × processes per node", "number of processes")
_RANK = ProcessVariable("GROUP_RANK × LOCAL_WORLD_SIZE + LOCAL_RANK", "processes")
_TORCHRUN = {
    "RANK": _RANK,
    "LOCAL_RANK": ProcessVariable("number of the process on its node", "per node"),
    "WORLD_SIZE": _NODES_TIMES_PROCESSES,
    "LOCAL_WORLD_SIZE": ProcessVariable("processes per node", "number of per node"),
    "GROUP_RANK": ProcessVariable(
        "--node-rank under static, else a number that the rendezvous assigns", "nodes"
    ),
    "GROUP_WORLD_SIZE": ProcessVariable("nodes", "number of nodes"),
    "ROLE_RANK": _RANK,
    "ROLE_WORLD_SIZE": _NODES_TIMES_PROCESSES,
    "ROLE_NAME": ProcessVariable("--role, or default"),
    "MASTER_ADDR": ProcessVariable("--master-addr under static, else the node with GROUP_RANK 0"),
    "MASTER_PORT": ProcessVariable("--master-port under static, else a free port of that node"),
    "TORCHELASTIC_RESTART_COUNT": ProcessVariable("restarts of all processes so far"),
    "TORCHELASTIC_MAX_RESTARTS": ProcessVariable("--max-restarts"),
    "TORCHELASTIC_RUN_ID": ProcessVariable("--rdzv-id"),
}
_DEEPSPEED = {
    "RANK": ProcessVariable("number of the process, counted through the hosts of the hostfile", "processes"),
    "LOCAL_RANK": ProcessVariable("number of the process on its host", "per node"),
    "WORLD_SIZE": ProcessVariable("hosts × slots", "number of processes"),
    "LOCAL_SIZE": ProcessVariable("processes on the host", "number of per node"),
    "CROSS_RANK": ProcessVariable("number of the host in the hostfile", "nodes"),
    "CROSS_SIZE": ProcessVariable("hosts", "number of nodes"),
    "MASTER_ADDR": ProcessVariable("--master_addr, or the first host of the hostfile"),
    "MASTER_PORT": ProcessVariable("--master_port, or 29500"),
}
_MPIRUN = {
    "OMPI_COMM_WORLD_RANK": ProcessVariable("number of the rank", "processes"),
    "OMPI_COMM_WORLD_SIZE": ProcessVariable("-np, or all slots of the hosts", "number of processes"),
    "OMPI_COMM_WORLD_LOCAL_RANK": ProcessVariable("number of the rank on its host", "per node"),
    "OMPI_COMM_WORLD_LOCAL_SIZE": ProcessVariable("ranks on the host", "number of per node"),
    "OMPI_COMM_WORLD_NODE_RANK": ProcessVariable("number of the rank on its host", "per node"),
}
# By the program that starts the processes; accelerate and colossalai start torchrun.
PROCESS_VARIABLES = {
    "torchrun": _TORCHRUN,
    "torch.distributed.launch": _TORCHRUN,
    "accelerate": _TORCHRUN,
    "colossalai": _TORCHRUN,
    "deepspeed": _DEEPSPEED,
    "mpirun": _MPIRUN,
}
EVIDENCE = {
    "deepspeed": "docs/evidence/deepspeed-launcher.md#variables-of-the-processes",
    "mpirun": "docs/evidence/mpirun.md#variables-of-the-ranks",
}
TORCHRUN_EVIDENCE = "docs/evidence/torchrun.md#variables-of-the-processes"
