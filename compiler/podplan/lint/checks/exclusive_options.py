"""Options of training scripts that exclude each other.

Sources: training_args.py (fp16 and bf16), trainer.py (fsdp and deepspeed) and utils/quantization_config.py (4
and 8 bits) in https://github.com/huggingface/transformers/tree/main/src/transformers,
https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/training/arguments.py (fp16 and bf16),
https://github.com/hpcaitech/ColossalAI/blob/main/colossalai/booster/plugin/hybrid_parallel_plugin.py and
https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/runtime/pipe/engine.py (ZeRO in a pipeline).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.lint.analysis.launches import ContainerLaunch, find_launches
from podplan.lint.analysis.script_options import PlacedOption, ScriptOption, list_program_options
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

_PAIRS = (("fp16", "bf16"), ("load_in_4bit", "load_in_8bit"), ("fsdp", "deepspeed"))
_WITH_VALUE = frozenset(("fsdp", "deepspeed"))
# A stage of ZeRO that splits gradients, and stages of a pipeline that accumulates them.
_ZERO = frozenset(("zero", "zero_stage"))
_PIPELINE_TEXT = """
    num_pipeline_stages pipe_parallel_size pipe_stages pipeline_model_parallel_size pipeline_parallel_size
    pipeline_stages pp pp_size
"""
# Parts of the names of options for the server that generates samples, as in reinforcement learning.
_OF_SERVER = compile_lazily(
    r"(?:^|[._])(?:rollout|vllm|sglang|infer(?:ence)?|generat(?:e|ion|or)|serv(?:e|er|ing))[._]"
)
_PIPELINE = frozenset(_PIPELINE_TEXT.split())
STOPS = "the script stops while it parses its arguments"
# An option of a trainer whose rules are known: the Trainer of transformers, and Megatron.
OWN_RULES = frozenset(("per_device_train_batch_size", "output_dir", "train_iters", "train_samples"))


@check()
def exclusive_options(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Two options of which a trainer takes one. Values: ``one``, ``other``, ``effect``."""
    for launch in find_launches(target.job):
        if launch.invocation.is_conditional:
            continue
        given = {
            placed.option.key: placed for placed in list_program_options(target.job, launch) if _is_on(placed)
        }
        for one, other in _PAIRS:
            if one in given and other in given:
                first, second = given[one], given[other]
                values = {"one": first.option.name, "other": second.option.name, "effect": STOPS}
                related = [(first.doc, first.path, "the other option")]
                yield Violation(second.path, values, related, doc=second.doc, group=launch.group)
        options = list(list_program_options(target.job, launch))
        yield from _iter_zero_in_pipeline(options, launch)
        if {placed.option.key for placed in options} & OWN_RULES:
            from podplan.lint.checks.trainer_options import iter_contradictions

            for first, second, effect in iter_contradictions(options, launch.invocation.arguments):
                one, other = (_name(placed.option) for placed in (first, second))
                values = {"one": one, "other": other, "effect": effect}
                related = [(first.doc, first.path, "the other option")] if first is not second else []
                yield Violation(second.path, values, related, doc=second.doc, group=launch.group)


def _iter_zero_in_pipeline(options: list[PlacedOption], launch: ContainerLaunch) -> Iterator[Violation]:
    pipeline = find_pipeline_stages(options)
    stages = [one for one in options if one.option.last in _ZERO and one.option.value in ("2", "3")]
    for stage in stages[:1] if pipeline is not None else ():
        assert pipeline is not None
        one, other = (f"{placed.option.name}={placed.option.value}" for placed in (pipeline, stage))
        related = [(pipeline.doc, pipeline.path, "the stages of the pipeline")]
        values = {"one": one, "other": other, "effect": STOPS}
        yield Violation(stage.path, values, related, doc=stage.doc, group=launch.group)


def find_pipeline_stages(options: list[PlacedOption]) -> PlacedOption | None:
    """Return the option by which a training has several stages of a pipeline; None if it has one."""
    if any(placed.option.last == "no_pipeline_parallel" and placed.option.is_on for placed in options):
        return None
    several = (one for one in options if one.option.last in _PIPELINE and (one.option.number or 1) > 1)
    return next((one for one in several if not _OF_SERVER.search(one.option.key)), None)


def _name(option: ScriptOption) -> str:
    return option.name if option.value is None else f"{option.name} {option.value}"


def _is_on(placed: PlacedOption) -> bool:
    option = placed.option
    if not option.name.startswith("--"):
        return False
    return bool(option.value) and not option.is_off if option.key in _WITH_VALUE else option.is_on
