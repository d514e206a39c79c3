"""Configurations of DeepSpeed with a number format that the GPUs of the nodes do not have.

Source: https://github.com/deepspeedai/DeepSpeed/blob/v0.15.4/deepspeed/runtime/engine.py ("Type bf16 is not
supported on your device"), https://developer.nvidia.com/cuda-gpus (compute capabilities).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import TextPath
from podplan.kubernetes.accessors import get_mapping
from podplan.lint.analysis.cross_job import RebuildJob
from podplan.lint.analysis.deepspeed_settings import locate_setting
from podplan.lint.checks.deepspeed_settings import (
    SettingsSummary,
    iter_readings,
    parse_settings,
    summarize_settings,
)
from podplan.lint.checks.gpu_generation import AMPERE, find_gpu
from podplan.lint.checks.registration import check
from podplan.lint.target import Violation

_SECTIONS = ("bf16", "bfloat16")


@check(summarize=summarize_settings)
def bf16_without_support(
    summaries: Mapping[int, SettingsSummary], again: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A format that the GPUs do not have. Values: ``key`` of the ConfigMap, ``gpu``."""
    for one in iter_readings(summaries, again):
        settings = parse_settings(one.text)
        enabled = [name for name in _SECTIONS if get_mapping(settings, name).get("enabled") is True]
        gpu = find_gpu(one.job, one.training.launch.group) if enabled else None
        if gpu is None or gpu.capability >= AMPERE:
            continue
        key, placed = one.training.source[1], one.training.placed
        place = TextPath(("data", key), locate_setting(one.text, (enabled[0],)))
        related = [(one.config, place, "bf16 is enabled"), (gpu.group.doc, gpu.path, "the GPUs of the nodes")]
        yield one.number, Violation(placed.path, {"key": key, "gpu": gpu.product}, related, doc=placed.doc)
