"""The sizes of tensor, pipeline and context parallelism, which must divide the processes of all Pods.

Source: https://docs.nvidia.com/megatron-core/ (parallel_state.initialize_model_parallel asserts it).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.launchers.torchrun import Torchrun
from podplan.launchers.words import Word
from podplan.lint.analysis import pod_hosts
from podplan.lint.analysis.deepspeed_line import line_of
from podplan.lint.analysis.jobs import kind_of, mode, replicas_written
from podplan.lint.analysis.launches import launches
from podplan.lint.target import Hit, Subject

Size = tuple[str, Word]  # what is split, and the word that says into how many

_SIZES = {
    "tensor_model_parallel_size": "tensor",
    "tensor_parallel_size": "tensor",
    "pipeline_model_parallel_size": "pipeline",
    "pipeline_parallel_size": "pipeline",
    "context_parallel_size": "context",
}


def indivisible_world(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Processes that are no multiple of the parallelism; values ``product``, ``world``, ``sizes``."""
    job = subject.job
    if mode(job, "debug"):
        return
    if kind_of(job) == "DeepSpeedJob":
        line, hosts = line_of(job), pod_hosts.hostfile(job)
        if line is None or line.custom or not is_plain(line.read):
            return
        world = sum(each.replicas * (each.slots or 0) for each in hosts)
        for (_label, word), others, values in _indivisible(line.read.line.arguments, world):
            related = [(subject.doc, line.place(other), label) for label, other in others]
            yield Hit(line.place(word), values, [*related, *replicas_written(job)])
        return
    for launch in launches(job):
        facts = launch.torchrun
        world = world_of(facts) if facts is not None and not launch.invocation.conditional else 0
        for (_label, word), others, values in _indivisible(launch.invocation.arguments, world):
            doc, group = launch.group.doc, launch.group
            related = [(doc, launch.place(other), label) for label, other in others]
            yield Hit(launch.place(word), values, [*related, *replicas_written(job)], doc=doc, group=group)


def is_plain(read: Any) -> bool:
    """Whether deepspeed uses all hosts and slots."""
    told = (read.include, read.exclude, read.nodes, read.processes)
    return bool(read.line.sure) and all(each is None for each in told)


def world_of(facts: Torchrun) -> int:
    """How many processes a line of torchrun starts on all its nodes; 0 where that is not known."""
    if facts.nodes is None or facts.nodes[0] != facts.nodes[1] or not (facts.processes or "").isdigit():
        return 0
    return facts.nodes[0] * int(facts.processes or 0)


def _indivisible(words: tuple[Word, ...], world: int) -> Iterator[tuple[Size, list[Size], dict[str, Any]]]:
    """The largest size, the others, and the values of the message, where they do not divide ``world``."""
    sizes: dict[str, tuple[int, Word]] = {}
    for at, word in enumerate(words):
        flag, equals, value = word.text.partition("=")
        name = _SIZES.get(flag.lstrip("-").replace("-", "_"), "")
        given = word if equals else words[at + 1] if at + 1 < len(words) else word
        number = value if equals else given.text
        if flag.startswith("--") and name and given.known and number.isdigit() and int(number) > 0:
            sizes[name] = int(number), given
    product = 1
    for size, _ in sizes.values():
        product *= size
    if world and product > 1 and world % product:
        shown = " × ".join(f"{name} {size}" for name, (size, _) in sizes.items() if size > 1)
        largest, *others = sorted(sizes.items(), key=lambda each: -each[1][0])
        yield (
            (largest[0], largest[1][1]),
            [(f"{name} {size}", word) for name, (size, word) in others if size > 1],
            {"product": product, "world": world, "sizes": shown},
        )
