"""Settings of a configuration of DeepSpeed, by themselves and beside the options of the script that reads it.

Sources: https://www.deepspeed.ai/docs/config-json/, integrations/deepspeed.py (mismatches with
TrainingArguments) and modeling_utils.py (device_map) in
https://github.com/huggingface/transformers/tree/v4.46.0/src/transformers. The configuration is read where it
is JSON in a ConfigMap of the repository.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import Path, TextPath
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.analysis.cross_job import RebuildJob
from podplan.lint.analysis.deepspeed_settings import (
    AUTO,
    MOST_TEXT,
    SettingProblem,
    list_setting_problems,
    locate_setting,
)
from podplan.lint.analysis.jobs import namespace_of
from podplan.lint.analysis.process_worlds import iter_worlds
from podplan.lint.analysis.script_options import PlacedOption
from podplan.lint.checks.deepspeed_batch import is_for_deepspeed
from podplan.lint.checks.deepspeed_sources import find_initialization
from podplan.lint.checks.deepspeed_zero import ConfiguredTraining, iter_configured_trainings
from podplan.lint.checks.outputs import mount_of
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Violation

_LOOKS_LIKE_IT = compile_lazily(
    r"zero_optimization|elasticity|train_(?:micro_)?batch_size|\"(?:fp16|bf16|optimizer|scheduler)\"\s*:"
)
_ADAM = ("optimizer", "params")
_SCHEDULE = ("scheduler", "params")
# Options of TrainingArguments, and the setting that must equal each of them.
_OF_TRANSFORMERS: dict[str, tuple[str, ...]] = {
    "per_device_train_batch_size": ("train_micro_batch_size_per_gpu",),
    "gradient_accumulation_steps": ("gradient_accumulation_steps",),
    "max_grad_norm": ("gradient_clipping",),
    "learning_rate": (*_ADAM, "lr"),
    "weight_decay": (*_ADAM, "weight_decay"),
    "adam_epsilon": (*_ADAM, "eps"),
    "warmup_steps": (*_SCHEDULE, "warmup_num_steps"),
    "max_steps": (*_SCHEDULE, "total_num_steps"),
}
_BETAS = ("adam_beta1", "adam_beta2")
# Options of other scripts, which name a setting as DeepSpeed or Megatron does.
_OF_SCRIPTS: dict[str, tuple[str, ...]] = {
    "zero_stage": ("zero_optimization", "stage"),
    "train_batch_size": ("train_batch_size",),
    "global_batch_size": ("train_batch_size",),
    "train_micro_batch_size_per_gpu": ("train_micro_batch_size_per_gpu",),
    "micro_batch_size": ("train_micro_batch_size_per_gpu",),
    "per_device_train_batch_size": ("train_micro_batch_size_per_gpu",),
    "gradient_accumulation_steps": ("gradient_accumulation_steps",),
    "gradient_clipping": ("gradient_clipping",),
    "clip_grad": ("gradient_clipping",),
    "max_grad_norm": ("gradient_clipping",),
}
_FORMATS = ("fp16", "bf16")
_ROUNDING = 1e-9  # a relative difference that two ways to write a number have
_SCHEDULES_OF_TRANSFORMERS = {
    "WarmupLR": ("constant_with_warmup", "constant"),
    "WarmupDecayLR": ("linear",),
    "WarmupCosineLR": ("cosine",),
}
# Settings that must divide the number of processes.
_DIVISORS = (
    ("zero_optimization", "zero_hpz_partition_size"),
    ("zero_optimization", "mics_shard_size"),
    ("tensor_parallel", "autotp_size"),
    ("sequence_parallel_size",),
)
_FOLDERS = (
    ("tensorboard", "output_path"),
    ("csv_monitor", "output_path"),
    ("flops_profiler", "output_file"),
)


class SettingsSummary(NamedTuple):
    """A ConfigMap with the keys that look like configurations, or a job that reads ``key`` of one."""

    namespace: str
    name: str
    config_keys: tuple[str, ...]
    key: str = ""

    @property
    def keys(self) -> list[Hashable]:
        return [(self.namespace, self.name)]

    @property
    def owner(self) -> Hashable:
        return "job" if self.key else "config"


class OptionMismatch(NamedTuple):
    """An option and the setting that differs from it: its names, and what follows from that."""

    placed: PlacedOption
    names: tuple[str, ...]
    why: str


def summarize_settings(job: LoweredJob) -> SettingsSummary | None:
    """Summarize a ConfigMap by its configurations, a job by the one that it reads."""
    if job.cr is not None:
        found = next(iter_configured_trainings(job), None)
        return SettingsSummary(namespace_of(job), found.source[0], (), found.source[1]) if found else None
    data = job.groups[0].doc.data
    keys = tuple(key for key, text in get_mapping(data, "data").items() if _is_configuration(text))
    if get_text(data, "kind") != "ConfigMap" or not keys:
        return None
    metadata = get_mapping(data, "metadata")
    return SettingsSummary(get_text(metadata, "namespace"), get_text(metadata, "name"), keys)


def _is_configuration(text: object) -> bool:
    return (
        isinstance(text, str)
        and len(text) <= MOST_TEXT
        and text.lstrip().startswith("{")
        and _LOOKS_LIKE_IT.search(text) is not None
    )


class SettingsReading(NamedTuple):
    """A training of the job of this number, and the document and text of its configuration."""

    number: int
    job: LoweredJob
    training: ConfiguredTraining
    config: TracedDocument
    text: str


@check(summarize=summarize_settings)
def refused_settings(
    summaries: Mapping[int, SettingsSummary], again: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """Settings that DeepSpeed refuses or ignores. Values: ``key`` of the ConfigMap, ``why``."""
    for one in iter_readings(summaries, again):
        placed, key = one.training.placed, one.training.source[1]
        passed = find_initialization(one.job, one.training)
        complete = is_complete(one.training.options, placed) or passed is not None
        for problem in (*list_setting_problems(one.text, complete), *_iter_in_job(one)):
            place: Path = TextPath(("data", key), problem.span) if problem.span[1] else ("data", key)
            related = [(one.config, place, "the setting")]
            if passed is not None:
                related.append((*passed, "gives the file to DeepSpeed"))
            values = {"key": key, "why": problem.why}
            yield one.number, Violation(placed.path, values, related, doc=placed.doc)


@check(summarize=summarize_settings)
def option_contradicts_settings(
    summaries: Mapping[int, SettingsSummary], again: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """An option with another value than the setting. Values: ``option``, ``key``, ``why``."""
    for one in iter_readings(summaries, again):
        data, key = parse_settings(one.text), one.training.source[1]
        for placed, names, why in _iter_mismatches(one.training, data):
            place: Path = TextPath(("data", key), locate_setting(one.text, names))
            value = f"={placed.option.value}" if placed.option.value is not None else ""
            values = {"option": f"{placed.option.name}{value}", "key": key, "why": why}
            related = [(one.config, place, "the setting")]
            yield one.number, Violation(placed.path, values, related, doc=placed.doc)


def is_complete(options: list[PlacedOption], placed: PlacedOption) -> bool:
    """Whether a script gives the configuration to DeepSpeed as it is: by the two options of DeepSpeed."""
    switch = next((one.option for one in options if one.option.key == "deepspeed"), None)
    return (
        switch is not None
        and switch.value is None
        and switch.known
        and placed.option.last == "deepspeed_config"
        and not _is_of_transformers(options)
    )


def _is_of_transformers(options: list[PlacedOption]) -> bool:
    """Whether a script has the options of transformers, whose trainer completes a configuration."""
    return any(one.option.last.startswith("per_device_") for one in options)


def iter_readings(summaries: Mapping[int, SettingsSummary], again: RebuildJob) -> Iterator[SettingsReading]:
    """Yield the trainings whose configuration is in a ConfigMap of the repository."""
    configs = {
        (one.namespace, one.name, key): number for number, one in summaries.items() for key in one.config_keys
    }
    for number, one in summaries.items():
        other = configs.get((one.namespace, one.name, one.key))
        if other is None:
            continue
        job, config = again(number), again(other).groups[0].doc
        training = next(iter_configured_trainings(job), None)
        text = get_text(get_mapping(config.data, "data"), one.key)
        if training is not None and is_for_deepspeed(training.placed, text):
            yield SettingsReading(number, job, training, config, text)


def parse_settings(text: str) -> Mapping[str, Any]:
    """Return the settings of a configuration; none if it is no object in JSON."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _find(data: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    for name in names[:-1]:
        data = get_mapping(data, name)
    return data.get(names[-1])


def _iter_in_job(one: SettingsReading) -> Iterator[SettingProblem]:
    """Settings that contradict the number of processes or the mounts of the container."""
    data = parse_settings(one.text)
    elastic = get_mapping(get_mapping(one.job.cr.data, "spec"), "elastic") if one.job.cr is not None else {}
    world = next(iter_worlds(one.job), None) if elastic.get("enabled") is not True else None
    for names in _DIVISORS if world is not None else ():
        assert world is not None
        size = _find(data, names)
        if type(size) is int and size > 1 and world.size % size:
            why = f"sets {'.'.join(names)} to {size}, which does not divide the {world.size} processes"
            yield SettingProblem(why, locate_setting(one.text, names))
    container = one.training.where.container
    for names in _FOLDERS:
        path = _find(data, names)
        if not isinstance(path, str) or get_mapping(data, names[0]).get("enabled") is not True:
            continue
        found = mount_of(container, normpath(path)) if path.startswith("/") else None
        what = f"sets {'.'.join(names)} to {path}"
        if path.startswith("/") and found is None:
            why = f"{what}, which is on no volume and is deleted with the Pod"
            yield SettingProblem(why, locate_setting(one.text, names))
        elif found is not None and found[1].get("readOnly") is True:
            yield SettingProblem(f"{what}, which is mounted read-only", locate_setting(one.text, names))


def _iter_mismatches(training: ConfiguredTraining, data: Mapping[str, Any]) -> Iterator[OptionMismatch]:
    options = {one.option.key: one for one in training.options if one.option.known}
    if training.placed.option.key != "deepspeed" or not _is_of_transformers(training.options):
        for key, names in _OF_SCRIPTS.items():
            if key in options and _differs(options[key], _find(data, names)):
                why = f"sets {'.'.join(names)} to {_find(data, names)}, so one of the two has no effect"
                yield OptionMismatch(options[key], names, why)
        return
    ending = "transformers fails with an error"
    for key, names in _OF_TRANSFORMERS.items():
        if key in options and _differs(options[key], _find(data, names)):
            what = f"sets {'.'.join(names)} to {_find(data, names)}"
            yield OptionMismatch(options[key], names, f"{what}: {ending}")
    betas = _find(data, (*_ADAM, "betas"))
    for index, key in enumerate(_BETAS):
        if (
            key in options
            and isinstance(betas, list)
            and len(betas) == 2
            and _differs(options[key], betas[index])
        ):
            names = (*_ADAM, "betas")
            yield OptionMismatch(options[key], names, f"sets betas to {betas}: {ending}")
    for name in _FORMATS:
        is_enabled = get_mapping(data, name).get("enabled")
        option = options.get(name)
        if is_enabled is False and option is not None and option.option.is_on:
            yield OptionMismatch(option, (name, "enabled"), f"disables {name}: {ending}")
        elif (
            is_enabled is True
            and (option is None or option.option.is_off)
            and not _reads_more_options(training)
        ):
            what = f"enables {name}, which the options of the script do not"
            other = next(
                (options[one] for one in _FORMATS if one in options and options[one].option.is_on), None
            )
            place = option or other or training.placed
            yield OptionMismatch(place, (name, "enabled"), f"{what}: {ending}")
    yield from _iter_ignored(options, data)


def _iter_ignored(options: Mapping[str, PlacedOption], data: Mapping[str, Any]) -> Iterator[OptionMismatch]:
    kind, schedule = _find(data, ("scheduler", "type")), options.get("lr_scheduler_type")
    equal = _SCHEDULES_OF_TRANSFORMERS.get(kind) if isinstance(kind, str) else None
    if equal is not None and schedule is not None and schedule.option.value not in (None, *equal):
        why = f"sets the scheduler {kind}, which transformers uses instead"
        yield OptionMismatch(schedule, ("scheduler", "type"), why)
    if _find(data, ("zero_optimization", "stage")) != 3:
        return
    for key in ("device_map", "low_cpu_mem_usage"):
        option = options.get(key)
        if (
            option is not None
            and option.option.value not in (None, "None", "none")
            and not option.option.is_off
        ):
            why = f"sets ZeRO stage 3, which transformers refuses together with {key}"
            yield OptionMismatch(option, ("zero_optimization", "stage"), why)


def _reads_more_options(training: ConfiguredTraining) -> bool:
    """Whether a script may read options from a file, so that one that is missing may stand there."""
    words = training.launch.invocation.words
    return any(
        word.text.endswith((".yaml", ".yml", ".toml")) or word.text == "--config" for word in words
    ) or any(
        word.text.endswith(".json")
        and "deepspeed" not in word.text
        and word.text != training.placed.option.value
        for word in words
    )


def _differs(placed: PlacedOption, setting: Any) -> bool:
    """Whether the numbers of an option and of a setting are different."""
    if type(setting) not in (int, float) or setting == AUTO or placed.option.value is None:
        return False
    try:
        value = float(placed.option.value)
    except ValueError:
        return False
    return bool(abs(value - setting) > _ROUNDING * abs(setting))
