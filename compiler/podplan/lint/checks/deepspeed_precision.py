"""Configurations of DeepSpeed with two number formats at once.

Source: https://github.com/deepspeedai/DeepSpeed/blob/v0.15.4/deepspeed/runtime/config.py ("bfloat16 and fp16
modes cannot be simultaneously enabled"). The configuration is read where it is JSON in a ConfigMap of the
repository.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping

from podplan.core.typing import NamedTuple
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.analysis.cross_job import RebuildJob
from podplan.lint.analysis.jobs import namespace_of
from podplan.lint.checks.deepspeed_batch import MOST_TEXT, find_in_config, find_use, is_for_deepspeed
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Violation

FORMATS = ("fp16", "bf16")


class Precision(NamedTuple):
    """A ConfigMap whose ``contradictory_keys`` enable two formats, or a job that reads ``key`` of one."""

    namespace: str
    name: str
    contradictory_keys: tuple[str, ...]
    key: str

    @property
    def keys(self) -> list[Hashable]:
        return [(self.namespace, self.name)]

    @property
    def owner(self) -> Hashable:
        return "job" if self.key else "config"


def summarize_precision(job: LoweredJob) -> Precision | None:
    """Summarize a ConfigMap by its contradictory keys, a job by the configuration that it reads."""
    if job.cr is None:
        data = job.groups[0].doc.data
        keys = tuple(key for key, text in get_mapping(data, "data").items() if enables_both_formats(text))
        if get_text(data, "kind") != "ConfigMap" or not keys:
            return None
        metadata = get_mapping(data, "metadata")
        return Precision(get_text(metadata, "namespace"), get_text(metadata, "name"), keys, "")
    found = find_use(job)
    return Precision(namespace_of(job), found[0][0], (), found[0][1]) if found is not None else None


@check(summarize=summarize_precision)
def contradictory_precision(
    summaries: Mapping[int, Precision], again: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A job whose configuration enables fp16 and bf16. Value: ``key`` of the ConfigMap."""
    configs = {
        (one.namespace, one.name, key): number
        for number, one in summaries.items()
        for key in one.contradictory_keys
    }
    for number, one in summaries.items():
        other = configs.get((one.namespace, one.name, one.key))
        if other is None:
            continue
        found = find_use(again(number))
        assert found is not None
        placed, config = found[2], again(other).groups[0].doc
        if not is_for_deepspeed(placed, get_mapping(config.data, "data").get(one.key)):
            continue
        related = [(config, find_in_config(config, one.key, name), f"{name} is enabled") for name in FORMATS]
        yield number, Violation(placed.path, {"key": one.key}, related, doc=placed.doc)


def enables_both_formats(text: object) -> bool:
    """Whether a configuration in JSON enables fp16 and bf16."""
    if not isinstance(text, str) or len(text) > MOST_TEXT or not all(name in text for name in FORMATS):
        return False
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(data, dict) and all(get_mapping(data, name).get("enabled") is True for name in FORMATS)
