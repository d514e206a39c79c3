"""The variables that the launchers of a job set in each process, with the values for this job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from podplan.core.findings import Path
from podplan.core.provenance import DocumentPath
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import NamedTuple
from podplan.core.wording import format_count
from podplan.launchers.commands import MpirunCommand, TorchrunCommand
from podplan.launchers.process_variables import (
    EVIDENCE,
    PROCESS_VARIABLES,
    TORCHRUN_EVIDENCE,
    ProcessVariable,
)
from podplan.lint.analysis.launches import ContainerLaunch, find_launches, find_variable_path
from podplan.lint.analysis.pod_hosts import read_hostfile
from podplan.lint.analysis.process_ranks import NodeRanks, find_node_spans, is_assigned_at_rendezvous
from podplan.lint.analysis.process_worlds import ProcessWorld, count_processes_per_node, iter_worlds
from podplan.lint.target import LoweredJob

# The options that set the numbers of nodes and processes.
_COUNT_OPTIONS = ("nnodes", "nproc_per_node", "num_machines", "num_processes", "num_gpus", "np", "per_node")
MAX_SHOWN_PODS = 4  # of one group
_HOSTFILE_PATH = ("data", "hostfile")


class PodValues(NamedTuple):
    """The values that the processes of one Pod get."""

    pod: str
    values: str


class VariableSetting(NamedTuple):
    """A variable that a launcher sets in each process that it starts.

    ``values`` are those of this job, "" if only a run shows them; ``nodes`` are the fewest and the most, and
    ``per_node`` the processes on each, 0 if they are not known offline. ``spans`` are the Pods whose values
    are fixed before the job runs; ``is_assigned`` is whether the rendezvous assigns them. ``count_sources``
    say how many nodes and processes there are. ``overridden_path`` is the entry of the container's env that
    has no effect.
    """

    name: str
    launcher: str
    variable: ProcessVariable
    values: str
    nodes: tuple[int, int]
    per_node: int
    group: ReplicaGroup
    launcher_path: Path
    count_sources: tuple[DocumentPath, ...]
    overridden_path: Path | None
    evidence: str
    spans: tuple[NodeRanks, ...] = ()
    is_assigned: bool = False

    def iter_pod_values(self) -> Iterator[PodValues]:
        """Yield the values of each Pod, if they differ between Pods."""
        pods = [(span, index) for span in self.spans for index in _list_shown_indexes(span)]
        if len({span.node_at(index) for span, index in pods}) < 2 or not self.variable.is_by_node:
            return
        for span, index in pods:
            yield PodValues(
                f"Pod/{span.name_at(index).removesuffix('-')}",
                self.variable.format_at(span.node_at(index), span.per_node),
            )

    @property
    def pod_count(self) -> int:
        """How many Pods have values of their own."""
        return sum(span.replicas for span in self.spans)

    def narrow_to_pods(self, start: int, replicas: int) -> VariableSetting:
        """Return the setting for some of the Pods of its group, which start their processes themselves."""
        spans = tuple(span.narrow(start, replicas) for span in self.spans)
        group = self.group._replace(start=start, replicas=replicas)
        return self._replace(group=group, spans=spans, values=_format_values(self, spans))

    def narrow_to_host(self, name: str) -> VariableSetting | None:
        """Return the setting for a Pod in which the launcher of another Pod starts processes, else None."""
        for span in self.spans:
            if (index := span.find_index(name)) is not None:
                spans = (span.narrow(index, 1),)
                return self._replace(spans=spans, values=_format_values(self, spans))
        return None


def _list_shown_indexes(span: NodeRanks) -> list[int]:
    """Return the indexes of the first Pods and the last one of a span."""
    indexes = range(span.start, span.start + span.replicas)
    return [*indexes] if len(indexes) <= MAX_SHOWN_PODS else [*indexes[: MAX_SHOWN_PODS - 1], indexes[-1]]


def _format_values(setting: VariableSetting, spans: Sequence[NodeRanks]) -> str:
    """Format the values of some Pods, or of the job for a variable that is equal in all."""
    if not (spans and setting.variable.is_by_node and all(span.per_node for span in spans)):
        return setting.values
    nodes = [span.node_at(index) for span in spans for index in (span.start, span.start + span.replicas - 1)]
    return setting.variable.format_nodes(min(nodes), max(nodes), spans[0].per_node)


def iter_variable_settings(job: LoweredJob, name: str) -> Iterator[VariableSetting]:
    """Yield what the launchers of a job set a variable to: once for each group of Pods with a launcher."""
    worlds = {id(world.launch): world for world in iter_worlds(job)}
    for launch in find_launches(job):
        launcher = launch.invocation.launcher
        variable = PROCESS_VARIABLES.get(launcher, {}).get(name)
        if variable is None:
            continue
        nodes, per_node = _count_nodes(launch, worlds.get(id(launch)))
        parsed = launch.invocation.parsed
        is_mpirun = isinstance(parsed, MpirunCommand)
        overridden_path = find_variable_path(launch, name)
        setting = VariableSetting(
            name,
            launcher,
            variable,
            "",
            nodes,
            per_node,
            launch.group,
            launch.locate_word(launch.invocation.program_word),
            tuple(_iter_count_sources(job, launch)),
            overridden_path[:-1] if overridden_path is not None else None,
            EVIDENCE.get(launcher, TORCHRUN_EVIDENCE),
            find_node_spans(job, launch, nodes[1], per_node) if per_node or is_mpirun else (),
            variable.is_by_node and is_assigned_at_rendezvous(launch, nodes[1]),
        )
        if isinstance(parsed, MpirunCommand):
            of_spans = sum(span.per_node * span.replicas for span in setting.spans)
            per_host = {span.per_node for span in setting.spans}
            counts = {
                "processes": parsed.processes or of_spans,
                "nodes": 0,
                "per node": per_host.pop() if per_host else 0,
            }
            values = variable.format_values(counts)
        else:
            values = _format_of_job(variable, nodes, per_node) or _find_address(launch, name)
        setting = setting._replace(values=values)
        yield setting._replace(values=_format_values(setting, setting.spans))


def _count_nodes(launch: ContainerLaunch, world: ProcessWorld | None) -> tuple[tuple[int, int], int]:
    """Return the minimum and maximum number of nodes, and the processes on each; 0 if unknown."""
    if world is not None:
        return (world.nodes, world.nodes), world.per_node
    torchrun = launch.torchrun
    if torchrun is None or torchrun.node_range is None or launch.invocation.is_conditional:
        return (0, 0), 0
    fewest, most = torchrun.node_range
    nodes = (most, most) if torchrun.backend == "static" else (fewest, most)
    return nodes, count_processes_per_node(launch, torchrun)


def _format_of_job(variable: ProcessVariable, nodes: tuple[int, int], per_node: int) -> str:
    fewest, most = (
        variable.format_values({"processes": count * per_node, "nodes": count, "per node": per_node})
        for count in nodes
    )
    if fewest == most:
        return fewest
    return f"{fewest} with {format_count(nodes[0], 'node')}, {most} with {nodes[1]}" if fewest else ""


def _find_address(launch: ContainerLaunch, name: str) -> str:
    """Return the host or the port of a static rendezvous, for MASTER_ADDR and MASTER_PORT."""
    torchrun = launch.torchrun
    if torchrun is None or torchrun.backend != "static":
        return ""
    value = {"MASTER_ADDR": torchrun.host, "MASTER_PORT": torchrun.port}.get(name)
    if value is None:
        return ""
    is_default = not {"rdzv_endpoint", name.lower()}.intersection(torchrun.value_origins)
    return (
        f"{value} (the default of torchrun: nothing in this Pod sets another)" if is_default else str(value)
    )


def list_process_variables(job: LoweredJob) -> list[str]:
    """Return the names of the variables that the launchers of a job set."""
    launchers = {launch.invocation.launcher: None for launch in find_launches(job)}
    return list(dict.fromkeys(name for each in launchers for name in PROCESS_VARIABLES.get(each, ())))


def _iter_count_sources(job: LoweredJob, launch: ContainerLaunch) -> Iterator[DocumentPath]:
    """Yield where the numbers of nodes and processes are: in options, PET_ variables or the hostfile."""
    doc = launch.group.doc
    for name in _COUNT_OPTIONS:
        option = launch.invocation.options.get(name)
        if option is not None:
            yield DocumentPath(doc, launch.locate_word(option.word))
        elif isinstance(launch.invocation.parsed, TorchrunCommand):
            path = find_variable_path(launch, f"PET_{name.upper()}")
            if path is not None:
                yield DocumentPath(doc, path)
    if launch.invocation.launcher in ("deepspeed", "mpirun", "colossalai") and read_hostfile(job):
        for group in job.groups:
            if _HOSTFILE_PATH in group.doc.replica_texts:
                yield DocumentPath(group.doc, _HOSTFILE_PATH)
