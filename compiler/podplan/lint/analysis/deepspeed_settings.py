"""Settings in a configuration of DeepSpeed that it refuses or ignores, without regard to the job.

Sources: https://www.deepspeed.ai/docs/config-json/,
https://github.com/deepspeedai/DeepSpeed/blob/v0.15.4/deepspeed/runtime/config.py, zero/config.py,
zero/offload_config.py, lr_schedules.py, engine.py and activation_checkpointing/checkpointing.py beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_mapping

MOST_TEXT = 100_000  # longest configuration that is read, in characters
AUTO = "auto"  # a value that the trainer of transformers or accelerate fills in
_TEMPLATE = compile_lazily(r"\$\{|\{\{|\$\(|@@|<%")
_ENOUGH_TO_KNOW = 0.85  # ratio of difflib from which a name counts as misspelt
_SIZES = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
_TOP_LEVEL = """
    train_batch_size train_micro_batch_size_per_gpu gradient_accumulation_steps optimizer scheduler
    gradient_clipping zero_optimization zero_allow_untested_optimizer zero_force_ds_cpu_optimizer
    communication_data_type prescale_gradients gradient_predivide_factor sparse_gradients steps_per_print
    wall_clock_breakdown activation_checkpointing flops_profiler tensorboard csv_monitor elasticity
    autotuning data_efficiency compression_training curriculum_learning sparse_attention comms_logger
"""
# The other names at the top level.
_MORE_TOP_LEVEL = """
    fp16 bf16 bfloat16 amp aio checkpoint compile dataloader_drop_last data_types disable_allgather dump_state
    eigenvalue hybrid_engine load_universal_checkpoint memory_breakdown monitor_config nebula pipeline
    progressive_layer_drop seq_parallel_communication_data_type sequence_parallel_size tensor_parallel
    use_node_local_storage wandb comet weight_quantization
"""
# Settings that only a configuration of DeepSpeed has.
_MARKS = ("zero_optimization", "train_micro_batch_size_per_gpu", "elasticity")
# Names of other libraries for a setting of DeepSpeed.
_OTHER_NAMES = {
    "max_grad_norm": "gradient_clipping",
    "grad_clip": "gradient_clipping",
    "clip_grad": "gradient_clipping",
    "clip_grad_norm": "gradient_clipping",
    "gradient_clip_val": "gradient_clipping",
    "gradient_clip": "gradient_clipping",
    "max_norm": "gradient_clipping",
    "per_device_train_batch_size": "train_micro_batch_size_per_gpu",
    "micro_batch_size_per_gpu": "train_micro_batch_size_per_gpu",
    "micro_batch_size": "train_micro_batch_size_per_gpu",
    "train_micro_batch_size": "train_micro_batch_size_per_gpu",
    "gradient_accumulation": "gradient_accumulation_steps",
    "grad_accumulation_steps": "gradient_accumulation_steps",
    "zero": "zero_optimization",
    "zero_stage": "zero_optimization",
    "zero_config": "zero_optimization",
}
_ZERO = """
    stage contiguous_gradients reduce_scatter reduce_bucket_size allgather_partitions allgather_bucket_size
    overlap_comm load_from_fp32_weights elastic_checkpoint offload_param offload_optimizer sub_group_size
    cpu_offload cpu_offload_params cpu_offload_use_pin_memory stage3_prefetch_bucket_size
    stage3_param_persistence_threshold stage3_model_persistence_threshold stage3_max_live_parameters
    stage3_max_reuse_distance stage3_gather_16bit_weights_on_model_save
    stage3_gather_fp16_weights_on_model_save ignore_unused_parameters round_robin_gradients
    zero_hpz_partition_size zero_quantized_weights zero_quantized_gradients mics_shard_size
    memory_efficient_linear legacy_stage1 prefetch_bucket_size param_persistence_threshold
    model_persistence_threshold max_live_parameters max_reuse_distance cpu_offload_param
    gather_16bit_weights_on_model_save zero_quantized_nontrainable_weights module_granularity_threshold
    stage3_module_granularity_threshold use_multi_rank_bucket_allreduce override_module_apply
"""
_ZERO_OTHER_NAMES = {
    "zero_stage": "stage",
    "offload_params": "offload_param",
    "param_offload": "offload_param",
    "offload_parameters": "offload_param",
    "optimizer_offload": "offload_optimizer",
    "offload_optim": "offload_optimizer",
}
_STAGES = range(4)
_LAST_STAGE = 3
_DEVICES = ("none", "cpu", "nvme")
_SECTIONS = ("fp16", "bf16", "amp", "optimizer", "scheduler", "activation_checkpointing", "flops_profiler")
# Optimizers of DeepSpeed in lower case, and those of torch.optim as they are written.
_OPTIMIZER_TEXT = "adam adamw lamb onebitadam onebitlamb zerooneadam lion muadam muadamw musgd muon"
_TORCH_OPTIMIZER_TEXT = """
    Adadelta Adafactor Adagrad Adam AdamW Adamax ASGD LBFGS Muon NAdam RAdam RMSprop Rprop SGD SparseAdam
"""
_COMPRESSED = {"onebitadam": "1-bit Adam", "onebitlamb": "1-bit LAMB", "zerooneadam": "0/1 Adam"}
_UNTESTED_WITH_ZERO = frozenset(("lamb", "sgd", "rmsprop", "adadelta", "adamax", "asgd", "rprop", "lbfgs"))
_OF_PARAMS = frozenset(("lr", "betas", "eps", "weight_decay", "momentum"))
_PARAMETER_NAMES = {
    "learning_rate": "lr",
    "max_lr": "lr",
    "beta1": "betas",
    "beta2": "betas",
    "adam_beta1": "betas",
    "adam_beta2": "betas",
    "epsilon": "eps",
    "adam_epsilon": "eps",
    "wd": "weight_decay",
    "max_grad_norm": "gradient_clipping beside the optimizer",
}
_WARMUP = "warmup_min_lr warmup_max_lr warmup_num_steps warmup_type last_batch_iteration"
# The schedules of DeepSpeed with their parameters.
_SCHEDULES = {
    "WarmupLR": _WARMUP,
    "WarmupDecayLR": f"{_WARMUP} total_num_steps",
    "WarmupCosineLR": """
        total_num_steps warmup_min_ratio warmup_num_steps cos_min_ratio warmup_type last_batch_iteration
    """,
    "LRRangeTest": """
        lr_range_test_min_lr lr_range_test_step_size lr_range_test_step_rate lr_range_test_staircase
        last_batch_iteration
    """,
    "OneCycle": """
        cycle_min_lr cycle_max_lr decay_lr_rate cycle_first_step_size cycle_second_step_size
        cycle_first_stair_count cycle_second_stair_count decay_step_size cycle_momentum cycle_min_mom
        cycle_max_mom decay_mom_rate last_batch_iteration
    """,
}
# Parameters of schedules of which the first is not larger than the second.
_PAIRS = (
    ("warmup_min_lr", "warmup_max_lr"),
    ("warmup_num_steps", "total_num_steps"),
    ("cycle_min_lr", "cycle_max_lr"),
)
_WITH_TOTAL = ("WarmupDecayLR", "WarmupCosineLR")
_TORCH_SCHEDULE = compile_lazily(
    r"ChainedScheduler|ConstantLR|CosineAnnealing(?:LR|WarmRestarts)|CyclicLR|ExponentialLR|LambdaLR|LinearLR"
    r"|MultiStepLR|MultiplicativeLR|OneCycleLR|PolynomialLR|ReduceLROnPlateau|SequentialLR|StepLR"
)
_DATA_TYPES = ("fp32", "fp16", "bf16", "bfp16")
_LOSS_SCALE = ("loss_scale", "initial_scale_power", "loss_scale_window", "hysteresis", "min_loss_scale")
_LARGEST_POWER = 127  # a larger scale than 2 to the power of it is no float


class SettingProblem(NamedTuple):
    """What is wrong with a setting, after the name of the file, and its range in the text."""

    why: str
    span: tuple[int, int]


class _Duplicates(list[str]):
    """The names that one object of a document has twice."""

    def collect(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        self.extend(name for name in dict.fromkeys(names) if names.count(name) > 1)
        return dict(pairs)


class _Found(NamedTuple):
    """A problem with the names of a setting, from the outermost section on."""

    names: tuple[str, ...]
    why: str


def is_deepspeed_configuration(text: object) -> bool:
    """Whether a text in JSON is certainly a configuration of DeepSpeed: it has no other settings."""
    if not isinstance(text, str) or len(text) > MOST_TEXT or not any(mark in text for mark in _MARKS):
        return False
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if not isinstance(data, dict):
        return False
    known = {*_TOP_LEVEL.split(), *_MORE_TOP_LEVEL.split()}
    return any(mark in data for mark in _MARKS) and known.issuperset(data)


def list_setting_problems(text: object, is_complete: bool) -> list[SettingProblem]:
    """Return what DeepSpeed refuses or ignores in a configuration.

    A configuration is complete if no trainer fills in or adds values.
    """
    if not isinstance(text, str) or len(text) > MOST_TEXT or _TEMPLATE.search(text):
        return []
    duplicates = _Duplicates()
    try:
        data = json.loads(text, object_pairs_hook=duplicates.collect)
    except json.JSONDecodeError as error:
        return [_describe_syntax(text, error)]
    except (ValueError, RecursionError):
        return []
    if not isinstance(data, dict):
        return []
    problems = [
        SettingProblem(f"has {name} twice: DeepSpeed refuses duplicate keys", _find_last(text, name))
        for name in dict.fromkeys(duplicates)
    ]
    found = [
        *_iter_misnamed(data),
        *_iter_batch(data, is_complete),
        *_iter_precision(data),
        *_iter_zero(data),
        *_iter_optimizer(data),
        *_iter_scheduler(data),
        *_iter_others(data),
    ]
    return problems + [SettingProblem(one.why, locate_setting(text, one.names)) for one in found]


def locate_setting(text: str, names: tuple[str, ...]) -> tuple[int, int]:
    """Return the range of a setting's name in the text, each name after the one of its section."""
    start = end = 0
    for name in names:
        found = re.compile(rf'"{re.escape(name)}"').search(text, end)
        if found is None:
            break
        start, end = found.span()
    return start, end


def _find_last(text: str, name: str) -> tuple[int, int]:
    start = max(text.rfind(f'"{name}"'), 0)
    return start, start + len(name) + 2


def _describe_syntax(text: str, error: json.JSONDecodeError) -> SettingProblem:
    """A problem at the last character that was read before what is wrong."""
    before = text[: error.pos].rstrip()
    here = text[error.pos : error.pos + 1]
    if here in "}]" and before.endswith(","):
        what, at = "a comma stands before the closing bracket", len(before) - 1
    elif error.msg.startswith("Illegal trailing comma"):
        what, at = "a comma stands before the closing bracket", error.pos
    elif error.msg.startswith("Expecting ',' delimiter") or not here:
        what = "a closing bracket is missing" if not here else "a comma is missing"
        at = max(len(before) - 1, 0)
    else:
        what, at = f"{error.msg[:1].lower()}{error.msg[1:]}", error.pos
    return SettingProblem(f"is no valid JSON: {what}", (at, at + 1))


def _iter_misnamed(data: Mapping[str, Any]) -> Iterator[_Found]:
    known = _TOP_LEVEL.split()
    for name in data:
        right = _OTHER_NAMES.get(name, "")
        if not right and name not in known and len(name) > 4:
            right = next(iter(get_close_matches(name, known, 1, _ENOUGH_TO_KNOW)), "")
        if right and right not in data:
            yield _Found((name,), f"has {name}, which DeepSpeed ignores; its name is {right}")


def _iter_batch(data: Mapping[str, Any], is_complete: bool) -> Iterator[_Found]:
    for name in _SIZES:
        value = data.get(name, 1)
        if value == AUTO or value is None:
            continue
        if type(value) is not int or value < 1:
            yield _Found((name,), f"sets {name} to {_show(value)}, not to a whole number above 0")
    if is_complete and not any(name in data for name in _SIZES[:2]) and not data.get("elasticity"):
        names = tuple(name for name in _SIZES[2:] if name in data)
        yield _Found(names, f"has neither {_SIZES[0]} nor {_SIZES[1]}, one of which DeepSpeed needs")
    elasticity = get_mapping(data, "elasticity")
    if elasticity.get("enabled") is True and elasticity.get("ignore_non_elastic_batch_info") is not True:
        given = next((name for name in _SIZES if type(data.get(name)) is int), "")
        if given:
            why = f"sets {given} although elasticity is enabled, which computes it: DeepSpeed refuses both"
            yield _Found((given,), why)
    steps = data.get("steps_per_print", 1)
    if type(steps) is int and steps < 1:
        yield _Found(("steps_per_print",), f"sets steps_per_print to {steps}, not to a number above 0")
    clipping = data.get("gradient_clipping", 1)
    if clipping != AUTO and (type(clipping) not in (int, float) or clipping < 0):
        yield _Found(("gradient_clipping",), f"sets gradient_clipping to {_show(clipping)}, not to a norm")
    if is_complete:
        yield from _iter_auto(data, ())


def _iter_auto(data: Any, names: tuple[str, ...]) -> Iterator[_Found]:
    """Yield the settings "auto"; below zero_optimization DeepSpeed takes its default instead."""
    if isinstance(data, dict) and len(names) < 4:
        for name, value in data.items():
            if value == AUTO and names[:1] not in (("autotuning",), ("zero_optimization",)):
                why = f'sets {name} to "{AUTO}", which only the trainer of transformers replaces'
                yield _Found((*names, name), why)
            elif name not in ("autotuning", "tensor_parallel"):
                yield from _iter_auto(value, (*names, name))


def _iter_precision(data: Mapping[str, Any]) -> Iterator[_Found]:
    for name in _SECTIONS:
        if isinstance(data.get(name), (bool, int, float, str)):
            yield _Found((name,), f"sets {name} to {_show(data[name])}, not to an object with its settings")
    for name in ("fp16", "bf16", "amp"):
        enabled = get_mapping(data, name).get("enabled")
        if isinstance(enabled, str) and enabled.lower() == "false":
            why = f"sets {name}.enabled to the text {_show(enabled)}, which is not empty and so enables it"
            yield _Found((name, "enabled"), why)
    fp16 = get_mapping(data, "fp16")
    formats = [name for name in ("fp16", "bf16") if get_mapping(data, name).get("enabled") is True]
    if "enabled" not in fp16 and not formats and any(name in fp16 for name in _LOSS_SCALE):
        yield _Found(("fp16",), "configures fp16 without enabled: true, so the training runs in fp32")
    power = fp16.get("initial_scale_power", 0)
    if isinstance(power, int) and power > _LARGEST_POWER:
        why = f"sets initial_scale_power to {power}: the first loss scale is 2 to the power of it"
        yield _Found(("fp16", "initial_scale_power"), why)
    if get_mapping(data, "amp").get("enabled") is True:
        stage = get_mapping(data, "zero_optimization").get("stage")
        if formats:
            yield _Found(("amp",), f"enables amp and {formats[0]}, which exclude each other")
        elif type(stage) is int and stage > 0:
            yield _Found(("amp",), "enables amp and ZeRO, which exclude each other")


def _iter_zero(data: Mapping[str, Any]) -> Iterator[_Found]:
    section = "zero_optimization"
    zero = get_mapping(data, section)
    known = _ZERO.split()
    for name in zero:
        right = _ZERO_OTHER_NAMES.get(name, "")
        if not right and name not in known and len(name) > 4:
            right = next(iter(get_close_matches(name, known, 1, _ENOUGH_TO_KNOW)), "")
        if right and right not in zero:
            yield _Found((section, name), f"has {section}.{name}, which is unknown; its name is {right}")
    stage = zero.get("stage", 0)
    if type(stage) in (int, float) and stage not in _STAGES:
        yield _Found((section, "stage"), f"sets ZeRO stage {stage}; the stages are 0 to 3")
        return
    if type(stage) is not int:
        return
    for name in ("offload_optimizer", "offload_param"):
        offload = get_mapping(zero, name)
        device = offload.get("device", "none")
        place = (section, name)
        if not isinstance(device, str) or device == AUTO:
            continue
        if device not in _DEVICES:
            yield _Found(
                (*place, "device"), f"sets {name}.device to {_show(device)}; it is none, cpu or nvme"
            )
            continue
        if device == "none":
            continue
        if name == "offload_param" and stage != _LAST_STAGE:
            yield _Found(place, f"has offload_param, which needs ZeRO stage 3, and stage {stage}")
        elif stage == 0:
            yield _Found(place, f"has {name}, which needs ZeRO, and stage 0 switches ZeRO off")
        elif device == "nvme" and stage != _LAST_STAGE:
            yield _Found((*place, "device"), f"offloads to NVMe, which needs ZeRO stage 3, and stage {stage}")
        elif device == "nvme" and not offload.get("nvme_path"):
            yield _Found((*place, "device"), f"offloads to NVMe without {name}.nvme_path")


def _iter_optimizer(data: Mapping[str, Any]) -> Iterator[_Found]:
    optimizer = get_mapping(data, "optimizer")
    kind, params = optimizer.get("type"), get_mapping(optimizer, "params")
    stage = get_mapping(data, "zero_optimization").get("stage")
    has_zero = type(stage) is int and stage > 0
    if isinstance(kind, str):
        lower, place = kind.lower(), ("optimizer", "type")
        if lower not in _OPTIMIZER_TEXT.split() and kind not in _TORCH_OPTIMIZER_TEXT.split():
            yield _Found(place, f'names the optimizer "{kind}", which neither DeepSpeed nor torch.optim has')
        elif lower in _COMPRESSED and has_zero:
            yield _Found(
                place, f"uses {_COMPRESSED[lower]} with ZeRO stage {stage}, which exclude each other"
            )
        elif lower in _UNTESTED_WITH_ZERO and has_zero and not data.get("zero_allow_untested_optimizer"):
            why = f"uses {kind} with ZeRO stage {stage}, which needs zero_allow_untested_optimizer: true"
            yield _Found(place, why)
    elif optimizer:
        yield _Found(("optimizer",), "has an optimizer without type")
    for name in optimizer:
        if name in _OF_PARAMS:
            yield _Found(
                ("optimizer", name), f"has optimizer.{name}, which DeepSpeed reads below params only"
            )
    for name, value in params.items():
        setting = ("optimizer", "params", name)
        if name in _PARAMETER_NAMES:
            yield _Found(setting, f"has the optimizer parameter {name}; its name is {_PARAMETER_NAMES[name]}")
        elif name in ("lr", "eps", "weight_decay") and value != AUTO and not _is_amount(value):
            yield _Found(
                place, f"sets the optimizer parameter {name} to {_show(value)}, not to a number from 0"
            )
        elif name == "betas" and value != AUTO and not _is_pair_of_betas(value):
            yield _Found(setting, "sets betas to something other than two numbers from 0 to below 1")


def _is_amount(value: Any) -> bool:
    return type(value) in (int, float) and value >= 0


def _is_pair_of_betas(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(one == AUTO or (_is_amount(one) and one < 1) for one in value)
    )


def _iter_scheduler(data: Mapping[str, Any]) -> Iterator[_Found]:
    scheduler = get_mapping(data, "scheduler")
    kind, params = scheduler.get("type"), get_mapping(scheduler, "params")
    if not isinstance(kind, str) or not kind:
        return
    known = _SCHEDULES.get(kind, "").split()
    if not known:
        if not _TORCH_SCHEDULE.fullmatch(kind):
            what = "neither DeepSpeed nor torch has"
            yield _Found(("scheduler", "type"), f'names the scheduler "{kind}", which {what}')
        return
    for name in params:
        if name not in known:
            closest = next(iter(get_close_matches(name, known, 1, 0.7)), "")
            hint = f"; did you mean {closest}?" if closest else ""
            yield _Found(("scheduler", "params", name), f"gives {kind} the unknown parameter {name}{hint}")
    if kind in _WITH_TOTAL and "total_num_steps" not in params and not any(n not in known for n in params):
        yield _Found(("scheduler", "type"), f"gives {kind} no total_num_steps, which it needs")
    for low, high in _PAIRS:
        least: Any = params.get(low)
        most: Any = params.get(high)
        if _is_amount(least) and _is_amount(most) and least > most:
            place = ("scheduler", "params", low)
            yield _Found(place, f"sets {low} to {least}, which is more than {high} {most}")
    peak, lr = params.get("warmup_max_lr"), get_mapping(get_mapping(data, "optimizer"), "params").get("lr")
    if _is_amount(peak) and _is_amount(lr) and peak != lr:
        why = f"sets the optimizer's lr to {lr}, which has no effect, because warmup_max_lr is {peak}"
        yield _Found(("scheduler", "params", "warmup_max_lr"), why)


def _iter_others(data: Mapping[str, Any]) -> Iterator[_Found]:
    recompute = get_mapping(data, "activation_checkpointing")
    section = "activation_checkpointing"
    if recompute.get("partition_activations") is not True:
        for name in ("contiguous_memory_optimization", "cpu_checkpointing"):
            if recompute.get(name) is True:
                yield _Found((section, name), f"sets {section}.{name} without partition_activations: true")
    kind = data.get("communication_data_type")
    if isinstance(kind, str) and kind not in _DATA_TYPES:
        why = f"sets communication_data_type to {_show(kind)}; it is fp32, fp16 or bf16"
        yield _Found(("communication_data_type",), why)
    least: Any = get_mapping(data, "curriculum_learning").get("min_difficulty")
    most: Any = get_mapping(data, "curriculum_learning").get("max_difficulty")
    if _is_amount(least) and _is_amount(most) and least > most:
        why = f"sets min_difficulty to {least}, which is more than max_difficulty {most}"
        yield _Found(("curriculum_learning", "min_difficulty"), why)


def _show(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
