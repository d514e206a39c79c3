"""Batch sizes in the configuration of DeepSpeed that do not multiply.

Source: https://www.deepspeed.ai/docs/config-json/#batch-size-related-parameters: train_batch_size is
train_micro_batch_size_per_gpu × gradient_accumulation_steps × GPUs, or DeepSpeed stops with an assertion. The
configuration is read where it is JSON in a ConfigMap of the repository.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import Path, TextPath
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.analysis.cross_job import RebuildJob
from podplan.lint.analysis.deepspeed_settings import is_deepspeed_configuration
from podplan.lint.analysis.jobs import (
    find_written_path,
    has_trait,
    is_mode_enabled,
    list_replica_places,
    namespace_of,
    spec_of,
)
from podplan.lint.analysis.mounted_scripts import find_mounted_key
from podplan.lint.analysis.process_worlds import iter_worlds
from podplan.lint.analysis.resources import find_training_container
from podplan.lint.analysis.script_options import PlacedOption, list_program_options
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Violation

SIZES = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
MOST_TEXT = 100_000  # longest configuration that is read, in characters
_CONFIG = (
    "deepspeed_config",
    "deepspeed",
    "ds_config",
    "deepspeed_config_file",
    "deepspeed_config_path",
    "ds_config_file",
    "ds_config_path",
    "ds_cfg",
    "ds_json",
)
# Options of scripts for a configuration of any program.
_ANY_CONFIG = ("config", "config_file", "config_path", "cfg", "conf")
# Where the model is split, fewer replicas of it take part in a batch.
_SPLITS = compile_lazily(
    r"(?:^|[_.-])(?:parallel|parallelism|pipe|pp|tp|mp|ulysses|mpu|megatron)(?:[_.-]|$)|pipeline"
)


class BatchSizes(NamedTuple):
    """The size of a batch, of its part on each GPU, and the steps that accumulate it; None if not given."""

    batch: int
    micro: int | None
    steps: int | None

    def complete(self, world: int) -> tuple[int, int, int]:
        """Compute what is missing as DeepSpeed does, with rounding down."""
        batch, micro, steps = self
        if micro is not None:
            return batch, micro, steps if steps is not None else batch // (micro * world or 1)
        return batch, batch // world // (steps or 1), 1 if steps is None else steps

    def multiply(self, world: int) -> int:
        """The batch of all processes."""
        _, micro, steps = self.complete(world)
        return micro * steps * world


class BatchConfig(NamedTuple):
    """A ConfigMap with batch sizes: for each of its keys the three sizes."""

    namespace: str
    name: str
    sizes: tuple[tuple[str, BatchSizes], ...]

    @property
    def keys(self) -> list[Hashable]:
        return [(self.namespace, self.name)]

    @property
    def owner(self) -> Hashable:
        return "config"


class ConfigUse(NamedTuple):
    """A job that reads its configuration from a key of a ConfigMap, and how many processes train in it."""

    namespace: str
    name: str
    key: str
    world: int

    @property
    def keys(self) -> list[Hashable]:
        return [(self.namespace, self.name)]

    @property
    def owner(self) -> Hashable:
        return "job"


def batch_left(job: LoweredJob) -> BatchConfig | ConfigUse | None:
    """Summarize a ConfigMap by its batch sizes, a job by the configuration that it reads."""
    if job.cr is None:
        return _config(job.groups[0].doc.data)
    found = find_use(job)
    if found is None:
        return None
    (name, key), world, _ = found
    return ConfigUse(namespace_of(job), name, key, world)


@check(summarize=batch_left)
def batch_sizes(
    left: Mapping[int, BatchConfig | ConfigUse], again: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """Batch sizes that do not multiply. Values: ``batch``, ``micro``, ``steps``, ``world``, ``product``."""
    configs = {
        (one.namespace, one.name, key): (number, sizes)
        for number, one in left.items()
        if isinstance(one, BatchConfig)
        for key, sizes in one.sizes
    }
    for number, one in left.items():
        if not isinstance(one, ConfigUse):
            continue
        other, sizes = configs.get((one.namespace, one.name, one.key), (None, None))
        if other is None or sizes is None:
            continue
        batch, micro, steps = sizes.complete(one.world)
        if sizes.multiply(one.world) != batch and reads_deepspeed(again(number), again(other), one.key):
            values = {
                "batch": batch,
                "micro": micro,
                "steps": steps,
                "world": one.world,
                "product": sizes.multiply(one.world),
            }
            yield number, _hit(again(number), again(other).groups[0].doc, one.key, values)


def _hit(job: LoweredJob, config: TracedDocument, key: str, values: Mapping[str, Any]) -> Violation:
    found = find_use(job)
    assert found is not None
    doc, path = found[2].doc, found[2].path
    related: list[tuple[TracedDocument, Path, str]] = [
        (config, find_in_config(config, key, SIZES[0]), "the batch sizes")
    ]
    if has_trait(job, "deepspeed-by-controller") and job.cr is not None:
        slots: Path = ("spec", "config", "slotsPerWorker")
        if find_written_path(job.cr.data, *slots) == slots:
            related.append((job.cr, slots, "the processes of each worker"))
    return Violation(path, values, [*related, *list_replica_places(job)], doc=doc)


def find_in_config(config: TracedDocument, key: str, name: str) -> Path:
    """Return the path of a key of a ConfigMap, with the range of the first such name in its JSON."""
    found = re.search(rf'"{re.escape(name)}"', get_text(get_mapping(config.data, "data"), key))
    path: Path = ("data", key)
    return TextPath(path, found.span()) if found else path


def _config(data: Any) -> BatchConfig | None:
    sizes = [
        (key, found)
        for key, value in get_mapping(data, "data").items()
        if (found := read_sizes(value)) is not None
    ]
    if get_text(data, "kind") != "ConfigMap" or not sizes:
        return None
    metadata = get_mapping(data, "metadata")
    return BatchConfig(get_text(metadata, "namespace"), get_text(metadata, "name"), tuple(sizes))


def read_sizes(value: object) -> BatchSizes | None:
    """Return the sizes of a configuration; None without that of the batch, or if the model is split."""
    if not isinstance(value, str) or SIZES[0] not in value or len(value) > MOST_TEXT:
        return None
    try:
        data = json.loads(value)
    except (ValueError, RecursionError):
        return None
    if (
        not isinstance(data, dict)
        or any(_SPLITS.search(key) for key in data)
        or get_mapping(data, "elasticity")
    ):
        return None
    batch, micro, steps = (data.get(name) for name in SIZES)
    if type(batch) is not int or any(one is not None and type(one) is not int for one in (micro, steps)):
        return None
    return BatchSizes(batch, micro, steps)


def reads_deepspeed(job: LoweredJob, config: LoweredJob, key: str) -> bool:
    """Whether the key of a ConfigMap that a training reads is a configuration of DeepSpeed."""
    found = find_use(job)
    return found is not None and is_for_deepspeed(
        found[2], get_mapping(config.groups[0].doc.data, "data").get(key)
    )


def is_for_deepspeed(placed: PlacedOption, text: object) -> bool:
    """Whether a file is a configuration of DeepSpeed by the option that names it, or by its settings."""
    return placed.option.last in _CONFIG or is_deepspeed_configuration(text)


def find_use(job: LoweredJob) -> tuple[tuple[str, str], int, PlacedOption] | None:
    """Return the ConfigMap and key of a training's configuration, its number of processes, and the option."""
    if (
        is_mode_enabled(job, "debug")
        or get_mapping(spec_of(job), "elastic").get("enabled") is True
        or job.cr is None
    ):
        return None
    for world in iter_worlds(job):
        options = list(list_program_options(job, world.launch))
        found = find_configuration(job, options) if not is_split(options) else None
        if found is not None:
            return found[0], world.size, found[1]
    return None


def find_configuration(
    job: LoweredJob, options: list[PlacedOption]
) -> tuple[tuple[str, str], PlacedOption] | None:
    """Return the ConfigMap and its key that a script reads as configuration, and the option that names it.

    Where the option is one for a configuration of any program, ``is_for_deepspeed`` tells the two apart.
    """
    for placed, path in iter_configuration_files(options):
        for group in job.pods:
            container = find_training_container(group)
            mounted = (
                find_mounted_key(get_mapping(group.doc.data, "spec"), container[1], path)
                if container
                else None
            )
            if mounted is not None:
                return (mounted.config_map, mounted.key), placed
    return None


def is_split(options: list[PlacedOption]) -> bool:
    """Whether options split the model among GPUs, so that fewer replicas of it take part in a batch."""
    return any(_SPLITS.search(placed.option.key) for placed in options)


def iter_configuration_files(options: list[PlacedOption]) -> Iterator[tuple[PlacedOption, str]]:
    """The options that name a configuration, with its path; those of DeepSpeed first."""
    for names, ending in ((_CONFIG, ""), (_ANY_CONFIG, ".json")):
        for placed in options:
            value = placed.option.value or ""
            if placed.option.last in names and value.startswith("/") and value.endswith(ending):
                yield placed, normpath(value)
