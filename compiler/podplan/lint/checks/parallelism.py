"""The sizes of tensor, pipeline and context parallelism, which must divide the processes of all Pods.

Source: https://docs.nvidia.com/megatron-core/ (parallel_state.initialize_model_parallel asserts it).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.launchers.deepspeed import DeepSpeedCommand
from podplan.launchers.torchrun import TorchrunCommand
from podplan.launchers.words import Word
from podplan.lint.analysis import pod_hosts
from podplan.lint.analysis.deepspeed_line import find_deepspeed_line
from podplan.lint.analysis.jobs import has_trait, is_mode_enabled, list_replica_places
from podplan.lint.analysis.launches import find_launches
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

ParallelSize = tuple[str, Word]  # what is split, and the word that says into how many

_SIZE_OPTIONS = {
    "tensor_model_parallel_size": "tensor",
    "tensor_parallel_size": "tensor",
    "pipeline_model_parallel_size": "pipeline",
    "pipeline_parallel_size": "pipeline",
    "context_parallel_size": "context",
}


@check()
def indivisible_world(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Processes that are no multiple of the parallelism; values ``product``, ``world``, ``sizes``."""
    job = target.job
    if is_mode_enabled(job, "debug"):
        return
    if has_trait(job, "deepspeed-by-controller"):
        line, hosts = find_deepspeed_line(job), pod_hosts.read_hostfile(job)
        if line is None or line.is_custom or not is_plain(line.command_line):
            return
        world = sum(each.replicas * (each.slots or 0) for each in hosts)
        for (_label, word), other_sizes, values in _iter_indivisible_sizes(
            line.command_line.command_line.arguments, world
        ):
            related = [(target.doc, line.locate_word(other), label) for label, other in other_sizes]
            yield Violation(line.locate_word(word), values, [*related, *list_replica_places(job)])
        return
    for launch in find_launches(job):
        facts = launch.torchrun
        world = world_of(facts) if facts is not None and not launch.invocation.is_conditional else 0
        for (_label, word), other_sizes, values in _iter_indivisible_sizes(
            launch.invocation.arguments, world
        ):
            doc, group = launch.group.doc, launch.group
            related = [(doc, launch.locate_word(other), label) for label, other in other_sizes]
            yield Violation(
                launch.locate_word(word), values, [*related, *list_replica_places(job)], doc=doc, group=group
            )


def is_plain(read: DeepSpeedCommand) -> bool:
    """Whether deepspeed uses all hosts and slots."""
    limits = (read.include, read.exclude, read.nodes, read.processes)
    return read.command_line.is_certain and all(limit is None for limit in limits)


def world_of(facts: TorchrunCommand) -> int:
    """How many processes a line of torchrun starts on all its nodes; 0 where that is not known."""
    if (
        facts.node_range is None
        or facts.node_range[0] != facts.node_range[1]
        or not (facts.processes or "").isdigit()
    ):
        return 0
    return facts.node_range[0] * int(facts.processes or 0)


def _iter_indivisible_sizes(
    words: tuple[Word, ...], world_size: int
) -> Iterator[tuple[ParallelSize, list[ParallelSize], dict[str, Any]]]:
    """The largest size, the others, and the values of the message, where they do not divide ``world``."""
    sizes: dict[str, tuple[int, Word]] = {}
    for index, word in enumerate(words):
        flag, equals, value = word.text.partition("=")
        name = _SIZE_OPTIONS.get(flag.lstrip("-").replace("-", "_"), "")
        value_word = word if equals else words[index + 1] if index + 1 < len(words) else word
        number = value if equals else value_word.text
        if flag.startswith("--") and name and value_word.is_known and number.isdigit() and int(number) > 0:
            sizes[name] = int(number), value_word
    product = 1
    for size, _ in sizes.values():
        product *= size
    if world_size and product > 1 and world_size % product:
        shown = " × ".join(f"{name} {size}" for name, (size, _) in sizes.items() if size > 1)
        largest, *other_sizes = sorted(sizes.items(), key=lambda each: -each[1][0])
        yield (
            (largest[0], largest[1][1]),
            [(f"{name} {size}", word) for name, (size, word) in other_sizes if size > 1],
            {"product": product, "world": world_size, "sizes": shown},
        )
