"""The variables that the launchers of a job set in each process, with the values for this job."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Path
from podplan.core.provenance import DocumentPath
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import NamedTuple
from podplan.launchers.mpirun import MpirunCommand
from podplan.launchers.process_variables import EVIDENCE, PROCESS_VARIABLES, TORCHRUN_EVIDENCE
from podplan.launchers.torchrun import TorchrunCommand
from podplan.lint.analysis.launches import ContainerLaunch, find_launches, find_variable_path
from podplan.lint.analysis.pod_hosts import read_hostfile
from podplan.lint.analysis.process_worlds import iter_worlds
from podplan.lint.target import LoweredJob

# The options that say how many nodes and processes there are.
_COUNT_OPTIONS = ("nnodes", "nproc_per_node", "num_machines", "num_processes", "num_gpus", "np", "per_node")
_HOSTFILE_PATH = ("data", "hostfile")


class VariableSetting(NamedTuple):
    """A variable that a launcher sets in each process that it starts.

    ``values`` are those of this job, "" if only a run shows them; ``nodes`` and ``per_node`` are 0 if they
    are not known offline. ``count_sources`` say how many nodes and processes there are. ``overridden_path``
    is the entry of the container's env that has no effect.
    """

    name: str
    launcher: str
    formula: str
    values: str
    nodes: int
    per_node: int
    group: ReplicaGroup
    launcher_path: Path
    count_sources: tuple[DocumentPath, ...]
    overridden_path: Path | None
    evidence: str


def iter_variable_settings(job: LoweredJob, name: str) -> Iterator[VariableSetting]:
    """Yield what the launchers of a job set a variable to: once for each group of Pods with a launcher."""
    worlds = {id(world.launch): world for world in iter_worlds(job)}
    for launch in find_launches(job):
        launcher = launch.invocation.launcher
        variable = PROCESS_VARIABLES.get(launcher, {}).get(name)
        if variable is None:
            continue
        world = worlds.get(id(launch))
        nodes, per_node = (world.nodes, world.per_node) if world is not None else (0, 0)
        parsed = launch.invocation.parsed
        processes = (parsed.processes or 0) if isinstance(parsed, MpirunCommand) else nodes * per_node
        counts = {"processes": processes, "nodes": nodes, "per node": per_node}
        overridden_path = find_variable_path(launch, name)
        yield VariableSetting(
            name,
            launcher,
            variable.formula,
            variable.format_values(counts),
            nodes,
            per_node,
            launch.group,
            launch.locate_word(launch.invocation.program_word),
            tuple(_iter_count_sources(job, launch)),
            overridden_path[:-1] if overridden_path is not None else None,
            EVIDENCE.get(launcher, TORCHRUN_EVIDENCE),
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
