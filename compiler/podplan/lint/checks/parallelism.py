"""The sizes of tensor, pipeline and context parallelism, and the numbers that they must divide.

Sources: https://docs.nvidia.com/megatron-core/ (parallel_state.initialize_model_parallel asserts the first),
https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/training/arguments.py,
https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/core/num_microbatches_calculator.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from podplan.core.typing import Any
from podplan.lint.analysis.jobs import list_replica_places
from podplan.lint.analysis.process_worlds import ProcessWorld, iter_worlds
from podplan.lint.analysis.script_options import PlacedOption, list_program_options
from podplan.lint.checks.config_parallelism import list_config_splits
from podplan.lint.checks.registration import check
from podplan.lint.checks.source_parallelism import list_source_splits
from podplan.lint.target import Target, Violation

# The last part of an option, and the dimension that it splits.
_SIZE_OPTIONS = {
    "tensor_model_parallel_size": "tensor",
    "tensor_parallel_size": "tensor",
    "tensor_parallel_degree": "tensor",
    "tp_size": "tensor",
    "pipeline_model_parallel_size": "pipeline",
    "pipeline_parallel_size": "pipeline",
    "pipeline_parallel_degree": "pipeline",
    "pipe_parallel_size": "pipeline",
    "pp_size": "pipeline",
    "context_parallel_size": "context",
    "context_parallel_degree": "context",
    "cp_size": "context",
}
# The same in examples of ColossalAI, where the plugin option states that the model is split.
_SHORT_SIZE_OPTIONS = {"tp": "tensor", "pp": "pipeline"}
# Sizes of the model and of the batch by their names in Megatron.
_MODEL_OPTION_TEXT = """
    num_layers num_attention_heads num_query_groups hidden_size ffn_hidden_size global_batch_size
    micro_batch_size expert_model_parallel_size num_experts
"""
_MODEL_OPTIONS = frozenset(_MODEL_OPTION_TEXT.split())
# Options with which layers, heads or batches are split in other ways.
_UNEVEN = ("layout", "first", "last", "account_for", "stage", "layers_per", "rampup", "kv_channels", "mla")

Sizes = dict[str, tuple[int, PlacedOption]]


@check()
def indivisible_world(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A number of processes that is no multiple of the parallelism.

    Values: ``product``, ``world``, ``sizes``.
    """
    for world in iter_worlds(target.job):
        splits = [_keep_parallel(sizes) for sizes in _read_sizes(target, world).values()]
        for split in splits:
            values = _describe_remainder(world, {name: size for name, (size, _) in split.items()})
            if values is not None:
                yield _build_violation(target, world, split, values)
        if not any(splits):
            yield from _iter_source_violations(target, world)
            yield from _iter_config_violations(target, world)


def _iter_source_violations(target: Target, world: ProcessWorld) -> Iterator[Violation]:
    """Yield the calls of a script that split its processes into groups of another size."""
    for one in list_source_splits(target.job, world):
        values = _describe_remainder(world, one.sizes)
        if values is not None:
            source, launch = one.source, world.launch
            related = [(placed.doc, placed.path, "a size") for placed in one.options]
            if source.doc is not launch.group.doc:
                word = launch.invocation.script or launch.invocation.program_word
                related.append((launch.group.doc, launch.locate_word(word), "starts it"))
            places = [*related, *list_replica_places(target.job)]
            yield Violation(source.locate(one.call), values, places, doc=source.doc, group=source.group)


def _iter_config_violations(target: Target, world: ProcessWorld) -> Iterator[Violation]:
    """Yield the configuration files with which a script splits its processes into groups of another size."""
    for one in list_config_splits(target.job, world, _SIZE_OPTIONS):
        values = _describe_remainder(world, {name: size for name, size in one.sizes.items() if size > 1})
        if values is not None:
            group = world.launch.group
            doc, path = group.doc, world.launch.locate_word(one.word)
            if one.word.path[:1] == ("spec",) and target.job.cr is not None:
                doc, path = target.job.cr, one.word.path
            places = [(doc, path, "reads the file"), *list_replica_places(target.job)]
            yield Violation(one.path, values, places, doc=one.doc)


def _describe_remainder(world: ProcessWorld, sizes: Mapping[str, int]) -> dict[str, Any] | None:
    """Return what a message says about sizes that do not divide the processes; None if they do."""
    product = prod(sizes.values())
    if product < 2 or world.size % product == 0:
        return None
    shown = " × ".join(f"{name} {size}" for name, size in sizes.items())
    return {"product": product, "world": world.size, "sizes": shown}


@check()
def indivisible_model(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A size of the model or of the batch that the parallelism does not divide. Values: ``what``, ``by``."""
    for world in iter_worlds(target.job):
        for sizes in _read_sizes(target, world).values():
            for dividend, divisors, noun in _iter_divisions(world, sizes):
                number = sizes[dividend][0]
                divisor = prod(factor for factor, _ in divisors.values())
                if number % divisor:
                    by = " × ".join(f"{label} {factor}" for factor, label in divisors.values() if factor > 1)
                    values = {"what": f"{sizes[dividend][1].option.name} {number}", "by": by, "noun": noun}
                    used = {dividend: sizes[dividend], **{n: sizes[n] for n in divisors if n in sizes}}
                    yield _build_violation(target, world, used, values)


def _iter_divisions(
    world: ProcessWorld, sizes: Sizes
) -> Iterator[tuple[str, dict[str, tuple[int, str]], str]]:
    """Yield each size that must be divisible, with its factors and its parts."""
    tensor, pipeline = (sizes[name][0] if name in sizes else 1 for name in ("tensor", "pipeline"))
    if "num_layers" in sizes and pipeline > 1:
        yield "num_layers", {"pipeline": (pipeline, "pipeline")}, "stages"
    for name in ("num_attention_heads", "ffn_hidden_size"):
        if name in sizes and tensor > 1:
            yield name, {"tensor": (tensor, "tensor")}, "shards"
    if "num_query_groups" in sizes and tensor > 1 and tensor % sizes["num_query_groups"][0]:
        yield "num_query_groups", {"tensor": (tensor, "tensor")}, "shards"
    if "num_experts" in sizes and "expert_model_parallel_size" in sizes:
        factor = sizes["expert_model_parallel_size"][0]
        yield "num_experts", {"expert_model_parallel_size": (factor, "expert")}, "shards"
    if "hidden_size" in sizes and "num_attention_heads" in sizes:
        heads = sizes["num_attention_heads"][0]
        yield "hidden_size", {"num_attention_heads": (heads, "heads")}, "heads"
    if "global_batch_size" in sizes and "micro_batch_size" in sizes:
        product = prod(size for size, _ in _keep_parallel(sizes).values())
        if world.size % product == 0:
            factors = {
                "micro_batch_size": (sizes["micro_batch_size"][0], "micro batch"),
                "data": (world.size // product, "data parallel"),
            }
            yield "global_batch_size", factors, "micro batches"


def _keep_parallel(sizes: Sizes) -> Sizes:
    return {name: size for name, size in sizes.items() if name in _SIZE_OPTIONS.values() and size[0] > 1}


def _read_sizes(target: Target, world: ProcessWorld) -> dict[str, Sizes]:
    """Return the sizes by the prefix of their options; none if the model is split in other ways."""
    found: dict[str, Sizes] = {}
    uneven = set[str]()
    options = list(list_program_options(target.job, world.launch))
    last_parts = {placed.option.last for placed in options}
    is_short = "plugin" in last_parts or last_parts.issuperset(_SHORT_SIZE_OPTIONS)
    names = {**_SIZE_OPTIONS, **_SHORT_SIZE_OPTIONS} if is_short else _SIZE_OPTIONS
    for placed in options:
        option = placed.option
        prefix = option.key.removesuffix(option.last)
        name = names.get(option.last, option.last if option.last in _MODEL_OPTIONS else "")
        if name and option.number is not None:
            found.setdefault(prefix, {})[name] = option.number, placed
        elif any(mark in option.last for mark in _UNEVEN):
            uneven.add(prefix)
    for prefix in uneven & found.keys():
        found[prefix] = _keep_parallel(found[prefix])
    return found


def _build_violation(target: Target, world: ProcessWorld, sizes: Sizes, values: dict[str, Any]) -> Violation:
    """Build the violation at the largest size, with the others and the replicas as related locations."""
    (_, (_, first)), *others = sorted(sizes.items(), key=lambda each: -each[1][0])
    related = [(placed.doc, placed.path, f"{name} {size}") for name, (size, placed) in others]
    places = [*related, *list_replica_places(target.job)]
    if first.doc is target.job.cr:
        return Violation(first.path, values, places)
    return Violation(first.path, values, places, doc=first.doc, group=world.launch.group)
