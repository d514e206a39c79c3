"""Options of the Trainer of transformers and of Megatron that contradict each other.

Sources: https://github.com/huggingface/transformers/blob/v4.57.0/src/transformers/training_args.py
(``__post_init__``), https://github.com/NVIDIA/Megatron-LM/blob/core_r0.13.0/megatron/training/arguments.py
(``validate_args``), https://github.com/NVIDIA/Megatron-LM/blob/core_r0.13.0/megatron/core/optimizer_param_scheduler.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from podplan.core.typing import NamedTuple
from podplan.launchers.words import Word
from podplan.lint.analysis.script_options import PlacedOption

_STOPS = "the script stops while it parses its arguments"
_LAST_COUNTS = "only the last one counts"
# Options with one value, which argparse overwrites if they are given again.
_SCALAR_TEXT = """
    bf16 fp16 eval_interval eval_steps eval_strategy global_batch_size gradient_accumulation_steps hidden_size
    learning_rate lr max_steps max_seq_length micro_batch_size num_attention_heads num_layers num_train_epochs
    output_dir per_device_eval_batch_size per_device_train_batch_size pipeline_model_parallel_size
    resume_from_checkpoint save_interval save_steps save_strategy save_total_limit seed seq_length
    tensor_model_parallel_size train_iters train_samples warmup_steps weight_decay
"""
_SCALARS = frozenset(_SCALAR_TEXT.split())


class ContradictoryOptions(NamedTuple):
    """Two options that contradict each other, and the effect; the second one is to be changed."""

    first: PlacedOption
    second: PlacedOption
    effect: str


def iter_contradictions(
    options: Sequence[PlacedOption], arguments: tuple[Word, ...]
) -> Iterator[ContradictoryOptions]:
    """Yield the contradictions among the options of a trainer."""
    own = [one for one in options if one.option.word in arguments and one.option.name.startswith("--")]
    yield from _iter_repeated(own)
    given = {one.option.key: one for one in own}
    if "per_device_train_batch_size" in given:
        yield from _iter_of_transformers(given)
    if "micro_batch_size" in given and ("train_iters" in given or "train_samples" in given):
        yield from _iter_of_megatron(given)


def _iter_repeated(options: Sequence[PlacedOption]) -> Iterator[ContradictoryOptions]:
    first: dict[str, PlacedOption] = {}
    for placed in options:
        option = placed.option
        earlier = first.setdefault(option.key, placed)
        if earlier is placed or option.key not in _SCALARS or not (option.known and earlier.option.known):
            continue
        if option.value != earlier.option.value:
            yield ContradictoryOptions(earlier, placed, _LAST_COUNTS)


def _iter_of_transformers(given: Mapping[str, PlacedOption]) -> Iterator[ContradictoryOptions]:
    best = given.get("load_best_model_at_end")
    evaluation = given.get("eval_strategy") or given.get("evaluation_strategy")
    save = given.get("save_strategy")
    if best is not None and best.option.is_on:
        yield from _iter_of_best_model(given, best, evaluation, save)
    workers = given.get("dataloader_num_workers")
    has_no_workers = workers is None or workers.option.value == "0"
    prefetch = given.get("dataloader_prefetch_factor")
    if prefetch is not None and has_no_workers and prefetch.option.number:
        yield ContradictoryOptions(
            workers or prefetch, prefetch, "prefetching needs loader processes, and transformers stops"
        )
    persistent = given.get("dataloader_persistent_workers")
    if persistent is not None and has_no_workers and persistent.option.is_on:
        yield ContradictoryOptions(
            workers or persistent, persistent, "without loader processes the DataLoader of torch stops"
        )
    steps, warmup = given.get("max_steps"), given.get("warmup_steps")
    if _is_above(warmup, steps):
        assert steps is not None
        assert warmup is not None
        yield ContradictoryOptions(
            steps, warmup, "the training ends before the learning rate has reached its value"
        )


def _iter_of_best_model(
    given: Mapping[str, PlacedOption],
    best: PlacedOption,
    evaluation: PlacedOption | None,
    save: PlacedOption | None,
) -> Iterator[ContradictoryOptions]:
    """The best model is found among the checkpoints, so that each one needs an evaluation."""
    how = (evaluation.option.value or "").lower() if evaluation is not None else "no"
    kept = (save.option.value or "").lower() if save is not None else "steps"
    if (evaluation is not None and not evaluation.option.known) or (
        save is not None and not save.option.known
    ):
        return
    effect = "transformers stops, because each checkpoint needs an evaluation"
    if how != kept and kept != "best":
        changed = evaluation if how == "no" or save is None else save
        if evaluation is not None and save is not None:
            yield ContradictoryOptions(save if changed is evaluation else evaluation, changed or best, effect)
        else:
            yield ContradictoryOptions(best, changed or best, effect)
        return
    every, saved = given.get("eval_steps"), given.get("save_steps")
    if how == "steps" and every is not None and saved is not None:
        one, other = every.option.number, saved.option.number
        if one and other and other % one:
            yield ContradictoryOptions(
                saved, every, "transformers stops, because no evaluation belongs to some checkpoints"
            )


def _iter_of_megatron(given: Mapping[str, PlacedOption]) -> Iterator[ContradictoryOptions]:
    pairs = (
        ("train_iters", "train_samples"),
        ("train_iters", "lr_warmup_samples"),
        ("train_samples", "lr_warmup_iters"),
        ("lr_warmup_iters", "lr_warmup_fraction"),
    )
    for one, other in pairs:
        if one in given and other in given:
            yield ContradictoryOptions(given[one], given[other], _STOPS)
    positions, length = given.get("max_position_embeddings"), given.get("seq_length")
    if _is_above(length, positions):
        assert positions is not None
        assert length is not None
        yield ContradictoryOptions(
            length, positions, "Megatron stops, because a sequence has more tokens than positions"
        )
    lr, minimum = given.get("lr"), given.get("min_lr")
    if lr is not None and minimum is not None and (_number(minimum) or 0) > (_number(lr) or float("inf")):
        yield ContradictoryOptions(
            lr, minimum, "Megatron stops, because the smallest learning rate is above the largest"
        )
    total = given.get("lr_decay_iters") or given.get("train_iters")
    warmup = given.get("lr_warmup_iters")
    if total is not None and warmup is not None:
        number, end = warmup.option.number, total.option.number
        if number and end and number >= end:
            yield ContradictoryOptions(
                total, warmup, "Megatron stops, because the learning rate decays before its warm-up ends"
            )
    gather = given.get("overlap_param_gather")
    if gather is not None and "overlap_grad_reduce" not in given:
        yield ContradictoryOptions(gather, gather, "Megatron stops, because it needs --overlap-grad-reduce")
    recompute, method = given.get("recompute_granularity"), given.get("recompute_method")
    if recompute is not None and method is not None and recompute.option.value == "selective":
        yield ContradictoryOptions(
            recompute, method, "Megatron stops, because only full recomputation has a method"
        )


def _is_above(one: PlacedOption | None, other: PlacedOption | None) -> bool:
    if one is None or other is None:
        return False
    number, limit = one.option.number, other.option.number
    return number is not None and limit is not None and number > limit


def _number(placed: PlacedOption) -> float | None:
    try:
        return float(placed.option.value or "")
    except ValueError:
        return None
