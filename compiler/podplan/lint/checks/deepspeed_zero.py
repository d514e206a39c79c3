"""ZeRO in a configuration of DeepSpeed, compared with the job that reads it.

Sources: https://github.com/deepspeedai/DeepSpeed/blob/v0.15.4/deepspeed/runtime/pipe/engine.py ("ZeRO-2 and
ZeRO-3 are incompatible with pipeline parallelism"), https://www.deepspeed.ai/docs/config-json/#parameter-offloading
(nvme_path). The configuration is read where it is JSON in a ConfigMap of the repository.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping
from posixpath import normpath

from podplan.core.provenance import Path, TracedDocument
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.analysis.cross_job import RebuildJob
from podplan.lint.analysis.jobs import is_mode_enabled, namespace_of
from podplan.lint.analysis.launches import ContainerLaunch
from podplan.lint.analysis.script_options import PlacedOption, list_program_options
from podplan.lint.checks.deepspeed_batch import (
    MOST_TEXT,
    find_configuration,
    find_in_config,
    is_for_deepspeed,
)
from podplan.lint.checks.exclusive_options import find_pipeline_stages
from podplan.lint.checks.outputs import ContainerPath, mount_of, trainings
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Violation

_SECTION = "zero_optimization"
_OFFLOADS = ("offload_optimizer", "offload_param")
_SPLIT_GRADIENTS = (2, 3)  # stages of ZeRO


class ZeroSettings(NamedTuple):
    """The stage of ZeRO in a configuration, and the folders on disk to which it offloads."""

    stage: int
    folders: tuple[str, ...]

    @property
    def splits_gradients(self) -> bool:
        """Whether the gradients are split, which a pipeline accumulates."""
        return self.stage in _SPLIT_GRADIENTS


class ZeroSummary(NamedTuple):
    """A ConfigMap with the settings in its keys, or a job that reads ``key`` of one."""

    namespace: str
    name: str
    settings: tuple[tuple[str, ZeroSettings], ...] = ()
    key: str = ""

    @property
    def keys(self) -> list[Hashable]:
        return [(self.namespace, self.name)]

    @property
    def owner(self) -> Hashable:
        return "job" if self.key else "config"


class ConfiguredTraining(NamedTuple):
    """A training with its options, and the ConfigMap key that it reads, named by ``placed``."""

    launch: ContainerLaunch
    where: ContainerPath
    options: list[PlacedOption]
    source: tuple[str, str]
    placed: PlacedOption


class ZeroReading(NamedTuple):
    """A training of the job of this number, and the settings of its configuration in ``config``."""

    number: int
    training: ConfiguredTraining
    settings: ZeroSettings
    config: TracedDocument
    key: str


def summarize_zero(job: LoweredJob) -> ZeroSummary | None:
    """Summarize a ConfigMap by its settings of ZeRO, a job by the configuration that it reads."""
    if job.cr is None:
        return _summarize_config(job.groups[0].doc.data)
    found = next(iter_configured_trainings(job), None)
    return ZeroSummary(namespace_of(job), found.source[0], (), found.source[1]) if found is not None else None


def _summarize_config(data: Any) -> ZeroSummary | None:
    settings = [
        (key, found)
        for key, value in get_mapping(data, "data").items()
        if (found := read_zero_settings(value)) is not None
    ]
    if get_text(data, "kind") != "ConfigMap" or not settings:
        return None
    metadata = get_mapping(data, "metadata")
    return ZeroSummary(get_text(metadata, "namespace"), get_text(metadata, "name"), tuple(settings))


def read_zero_settings(value: object) -> ZeroSettings | None:
    """Return the settings of ZeRO in a configuration; None if it has none."""
    if not isinstance(value, str) or _SECTION not in value or len(value) > MOST_TEXT:
        return None
    try:
        data = json.loads(value)
    except (ValueError, RecursionError):
        return None
    section = get_mapping(data if isinstance(data, dict) else {}, _SECTION)
    stage = section.get("stage")
    offloads = [get_mapping(section, name) for name in _OFFLOADS]
    folders = [get_text(one, "nvme_path") for one in offloads if one.get("device") == "nvme"]
    absolute = tuple(dict.fromkeys(normpath(one) for one in folders if one.startswith("/")))
    return ZeroSettings(stage, absolute) if type(stage) is int else None


@check(summarize=summarize_zero)
def zero_in_pipeline(
    summaries: Mapping[int, ZeroSummary], again: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A stage of ZeRO with the stages of a pipeline. Values: ``option``, ``stage``, ``key``."""
    for one in _iter_readings(summaries, again):
        pipeline = find_pipeline_stages(one.training.options)
        if one.settings.splits_gradients and pipeline is not None:
            option = pipeline.option
            values = {"option": f"{option.name}={option.value}", "stage": one.settings.stage, "key": one.key}
            place = find_in_config(one.config, one.key, "stage")
            related = [(one.config, place, "the stage of ZeRO")]
            yield one.number, Violation(pipeline.path, values, related, doc=pipeline.doc)


@check(summarize=summarize_zero)
def offload_outside_volumes(
    summaries: Mapping[int, ZeroSummary], again: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A folder for offloaded states that is on no volume. Values: ``path``, ``key``, ``container``."""
    for one in _iter_readings(summaries, again):
        container, placed = one.training.where.container, one.training.placed
        for folder in one.settings.folders:
            if mount_of(container, folder) is not None:
                continue
            values = {"path": folder, "key": one.key, "container": get_text(container, "name")}
            mounts: Path = (*one.training.where.base, "volumeMounts")
            related = [(one.config, find_in_config(one.config, one.key, "nvme_path"), "the folder")]
            if "volumeMounts" in container:
                related.append((one.training.where.group.doc, mounts, "the volumes of the container"))
            yield one.number, Violation(placed.path, values, related, doc=placed.doc)


def _iter_readings(summaries: Mapping[int, ZeroSummary], again: RebuildJob) -> Iterator[ZeroReading]:
    """Yield the trainings of jobs whose configuration needs a comparison, with their settings."""
    configs = {
        (one.namespace, one.name, key): (number, settings)
        for number, one in summaries.items()
        for key, settings in one.settings
    }
    for number, one in summaries.items():
        other, settings = configs.get((one.namespace, one.name, one.key), (None, None))
        if other is None or settings is None:
            continue
        if not settings.splits_gradients and not settings.folders:
            continue
        training = next(iter_configured_trainings(again(number)), None)
        config = again(other).groups[0].doc
        text = get_mapping(config.data, "data").get(one.key)
        if training is not None and is_for_deepspeed(training.placed, text):
            yield ZeroReading(number, training, settings, config, one.key)


def iter_configured_trainings(job: LoweredJob) -> Iterator[ConfiguredTraining]:
    """Yield the trainings of a job that read their configuration from a ConfigMap."""
    if is_mode_enabled(job, "debug") or not _mounts_config_maps(job):
        return
    for launch, where in trainings(job):
        options = list(list_program_options(job, launch))
        found = find_configuration(job, options) if not launch.invocation.is_conditional else None
        if found is not None:
            yield ConfiguredTraining(launch, where, options, *found)


def _mounts_config_maps(job: LoweredJob) -> bool:
    specs = (get_mapping(group.doc.data, "spec") for group in job.pods)
    return any("configMap" in volume for spec in specs for _, volume in get_entries(spec, "volumes"))
