"""Numbers of nodes and processes in script options that contradict the launcher.

Sources: https://lightning.ai/docs/pytorch/stable/clouds/cluster_advanced.html (num_nodes and devices are
those of torchrun), https://github.com/Lightning-AI/pytorch-lightning/issues/14078.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.lint.analysis.jobs import (
    count_gpus,
    has_isolated_replicas,
    has_trait,
    is_mode_enabled,
    list_replica_places,
)
from podplan.lint.analysis.launches import ContainerLaunch, find_launches
from podplan.lint.analysis.process_worlds import iter_worlds
from podplan.lint.analysis.script_options import PlacedOption, list_program_options
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

# Options of Lightning and of what is built on it; without ``trainer.`` only beside another one of them, since
# a number of nodes may be one of a graph.
_TRAINER_NODES, _TRAINER_DEVICES = ("num_nodes",), ("devices", "gpus")
_TRAINER_OTHERS = frozenset((*_TRAINER_NODES, *_TRAINER_DEVICES, "accelerator", "strategy"))
_NODES = frozenset(("nnodes", "n_nodes", "num_machines"))
_PER_NODE_TEXT = """
    nproc_per_node gpus_per_node ngpus_per_node n_gpus_per_node num_gpus_per_node devices_per_node
"""
_PER_NODE = frozenset(_PER_NODE_TEXT.split())
_OF_TORCHRUN = ("nnodes", "nproc_per_node")
_COORDINATOR = frozenset(("coordinator_address", "coordinator_addr", "coordinator"))
PADDLE_LAUNCHERS = ("paddle.distributed.launch", "paddle.distributed.fleet.launch")
_WORLD = frozenset(("world_size", "distributed_world_size", "dist_world_size"))


@check()
def script_counts(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An option of a script with another count than its launcher.

    Values: ``option``, ``told``, ``starts``.
    """
    job = target.job
    for world in iter_worlds(job):
        counts = {"nodes": world.nodes, "processes for each node": world.per_node, "processes": world.size}
        options = [
            one for one in list_program_options(job, world.launch) if one.option.word in world.arguments
        ]
        for placed, what in _iter_counts(options):
            if placed.option.number != counts[what]:
                starts = f"{world.launch.invocation.launcher} has {counts[what]}"
                if _is_misplaced(world.launch, placed):
                    starts += ", for it reads no options behind the script"
                yield _build_violation(target, placed, what, starts)
    if is_mode_enabled(job, "debug") or has_isolated_replicas(job):
        return
    launches = [each for each in find_launches(job) if each.invocation.launcher == "python"]
    if {id(each.group) for each in launches} != {id(group) for group in job.pods}:
        return
    pods = sum(group.replicas for group in job.pods)
    for launch in launches:
        options = list(list_program_options(job, launch))
        if not launch.invocation.is_conditional and not has_trait(job, "self-launched"):
            yield from _find_other_world(target, options, launch, pods)
        for placed, what in _iter_counts(options):
            script = launch.invocation.script
            is_paddle = script is not None and script.text in PADDLE_LAUNCHERS
            names = ("nnodes",) if is_paddle else _TRAINER_NODES
            is_certain = placed.option.last in names and not launch.invocation.is_conditional
            if is_certain and what == "nodes" and placed.option.number != pods:
                yield _build_violation(target, placed, what, f"the job has {format_count(pods, 'Pod')}")


def _is_misplaced(launch: ContainerLaunch, placed: PlacedOption) -> bool:
    """Whether torchrun has an option of that name which its command line does not set."""
    name = placed.option.last
    facts = launch.torchrun
    return facts is not None and name in _OF_TORCHRUN and name not in facts.command_line.options


def _find_other_world(
    target: Target, options: list[PlacedOption], launch: ContainerLaunch, pods: int
) -> Iterator[Violation]:
    """Find a wrong world size next to a rank per Pod: it must be the number of Pods or of all processes."""
    by_name = {placed.option.last: placed for placed in options}
    world, rank = by_name.get("world_size"), by_name.get("rank") or by_name.get("node_rank")
    if world is None and not by_name.keys().isdisjoint(_COORDINATOR):  # jax.distributed.initialize
        world = by_name.get("num_processes") or by_name.get("process_count")
        rank = by_name.get("process_id") or by_name.get("process_index")
    if world is None or rank is None or world.option.number is None or pods < 2:
        return
    # In the ImageNet example of PyTorch the world size is then the number of nodes.
    counts_nodes = "multiprocessing_distributed" in by_name
    is_alone = "LOCAL_RANK" in launch.invocation.variables
    processes = pods * (1 if counts_nodes or is_alone else max(count_gpus(launch.group), 1))
    if world.option.number not in (pods, processes):
        yield _build_violation(
            target,
            world,
            "nodes" if counts_nodes else "processes",
            f"the job has {format_count(pods, 'Pod')}",
        )


def _iter_counts(options: list[PlacedOption]) -> Iterator[tuple[PlacedOption, str]]:
    """Yield the options with counts, and what each counts."""
    trainer = {one.option.last for one in options if one.option.last in _TRAINER_OTHERS}
    for placed in options:
        option = placed.option
        prefix = option.key.removesuffix(option.last)
        is_trainer = prefix.endswith("trainer.") or (not prefix and len(trainer) > 1)
        if option.number is None:
            continue
        if option.last in _NODES or (is_trainer and option.last in _TRAINER_NODES):
            yield placed, "nodes"
        elif option.last in _PER_NODE or (is_trainer and option.last in _TRAINER_DEVICES):
            yield placed, "processes for each node"
        elif option.last in _WORLD and not prefix:
            yield placed, "processes"


def _build_violation(target: Target, placed: PlacedOption, what: str, starts: str) -> Violation:
    values = {"option": placed.option.name, "told": f"{what}: {placed.option.value}", "starts": starts}
    return Violation(placed.path, values, list_replica_places(target.job), doc=placed.doc)
