"""The processes that a launcher starts in all Pods together: nodes and processes on each of them."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.typing import NamedTuple
from podplan.launchers.commands import AccelerateCommand, ColossalAICommand, DeepSpeedCommand, TorchrunCommand
from podplan.launchers.words import Word
from podplan.lint.analysis.deepspeed_line import find_deepspeed_line
from podplan.lint.analysis.jobs import is_mode_enabled
from podplan.lint.analysis.launches import ContainerLaunch, find_launches
from podplan.lint.analysis.pod_hosts import read_hostfile
from podplan.lint.analysis.resources import count_accelerators
from podplan.lint.target import LoweredJob


class ProcessWorld(NamedTuple):
    """A launch with the nodes that it requests and the processes on each of them, both at least 1.

    ``arguments`` are the words that its script gets.
    """

    launch: ContainerLaunch
    nodes: int
    per_node: int
    arguments: tuple[Word, ...]

    @property
    def size(self) -> int:
        return self.nodes * self.per_node


def iter_worlds(job: LoweredJob) -> Iterator[ProcessWorld]:
    """Yield the launches of a job whose processes are known offline."""
    if is_mode_enabled(job, "debug"):
        return
    line = find_deepspeed_line(job)
    for launch in find_launches(job):
        invocation, parsed = launch.invocation, launch.invocation.parsed
        if invocation.is_conditional or invocation.started_by:
            continue
        counts: tuple[int, int] | None = None
        arguments = invocation.arguments
        if isinstance(parsed, TorchrunCommand):
            counts = _count_by_torchrun(launch, parsed)
        elif isinstance(parsed, AccelerateCommand):
            counts = _count_by_accelerate(parsed)
        elif isinstance(parsed, DeepSpeedCommand) and line is not None and not line.is_custom:
            counts = _count_by_hostfile(job, line.command_line)
            arguments = line.command_line.command_line.arguments
        elif isinstance(parsed, ColossalAICommand):
            counts = _count_by_colossalai(job, parsed)
        if counts is not None and min(counts) > 0:
            yield ProcessWorld(launch, *counts, arguments)


def _count_by_torchrun(launch: ContainerLaunch, parsed: TorchrunCommand) -> tuple[int, int] | None:
    if parsed.node_range is None or parsed.node_range[0] != parsed.node_range[1]:
        return None
    return parsed.node_range[0], count_processes_per_node(launch, parsed)


def count_processes_per_node(launch: ContainerLaunch, parsed: TorchrunCommand) -> int:
    """Return how many processes torchrun starts on each node, 0 if that is not known."""
    processes = parsed.processes or ""
    if processes in ("gpu", "auto"):
        return count_accelerators(launch.container).number
    return int(processes) if processes.isdecimal() else 0


def _count_by_accelerate(parsed: AccelerateCommand) -> tuple[int, int] | None:
    if not parsed.processes or not parsed.machines or parsed.processes % parsed.machines:
        return None
    return parsed.machines, parsed.processes // parsed.machines


def _count_by_colossalai(job: LoweredJob, parsed: ColossalAICommand) -> tuple[int, int] | None:
    """Return all hosts of the hostfile with the processes that the command line requests for each."""
    limits = (parsed.include, parsed.exclude, parsed.nodes)
    if not parsed.command_line.is_certain or parsed.hosts or any(limits):
        return None
    nodes = sum(each.replicas for each in read_hostfile(job))
    return (nodes, parsed.processes) if nodes and parsed.processes else None


def _count_by_hostfile(job: LoweredJob, parsed: DeepSpeedCommand) -> tuple[int, int] | None:
    """Return all hosts and slots of the hostfile; None if options may select some, or if slots differ."""
    hosts = read_hostfile(job)
    limits = (parsed.include, parsed.exclude, parsed.nodes, parsed.processes)
    slots = {each.slots for each in hosts}
    is_plain = parsed.command_line.is_certain and all(limit is None for limit in limits)
    if not is_plain or len(slots) != 1:
        return None
    return sum(each.replicas for each in hosts), slots.pop() or 0
