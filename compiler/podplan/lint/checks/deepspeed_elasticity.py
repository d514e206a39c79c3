"""Elasticity of DeepSpeed, compared with the number of GPUs that a job may have.

Source: https://github.com/deepspeedai/DeepSpeed/blob/v0.15.4/deepspeed/elasticity/elasticity.py (in version
0.1 a number of processes outside of min_gpus to max_gpus ends the training; version 0.2 takes it).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, TextPath
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_mapping
from podplan.lint.analysis.cross_job import RebuildJob
from podplan.lint.analysis.deepspeed_settings import locate_setting
from podplan.lint.analysis.jobs import list_replica_places, spec_of
from podplan.lint.analysis.launches import ContainerLaunch
from podplan.lint.analysis.pod_hosts import read_hostfile
from podplan.lint.analysis.process_worlds import count_processes_per_node, iter_worlds
from podplan.lint.checks.deepspeed_batch import is_split
from podplan.lint.checks.deepspeed_settings import (
    SettingsSummary,
    iter_readings,
    parse_settings,
    summarize_settings,
)
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Violation

_SECTION = "elasticity"
_CHECKED = 0.1  # the version that refuses other numbers of processes
_DEFAULTS = {"min_gpus": 1, "max_gpus": 10000}
_REPLICAS = ("minReplicas", "maxReplicas")


class PossibleSize(NamedTuple):
    """A number of processes with which a job may run, how it is computed, and where that is written."""

    processes: int
    formula: str
    places: list[tuple[TracedDocument, Path, str]]


@check(summarize=summarize_settings)
def size_outside_elasticity(
    summaries: Mapping[int, SettingsSummary], again: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A number of GPUs that the elasticity of DeepSpeed excludes.

    Values: ``size``, ``formula``, ``key``, ``setting``, ``limit``.
    """
    for one in iter_readings(summaries, again):
        limits = _read_limits(parse_settings(one.text))
        if limits is None or is_split(one.training.options):
            continue
        for size in _iter_sizes(one.job, one.training.launch):
            name = _find_limit(size.processes, limits)
            if not name:
                continue
            key, placed = one.training.source[1], one.training.placed
            values = {
                "size": size.processes,
                "formula": size.formula,
                "key": key,
                "setting": name,
                "limit": limits[name],
            }
            place = TextPath(("data", key), locate_setting(one.text, (_SECTION, name)))
            related = [(one.config, place, "the limit"), *size.places]
            yield one.number, Violation(placed.path, values, related, doc=placed.doc)
            break


def _read_limits(data: Mapping[str, Any]) -> dict[str, int] | None:
    """Return the least and the largest number of GPUs; None if DeepSpeed does not check it."""
    section = get_mapping(data, _SECTION)
    try:
        version = float(section.get("version", 0))
    except (TypeError, ValueError):
        return None
    limits = {name: section.get(name, number) for name, number in _DEFAULTS.items()}
    is_checked = section.get("enabled") is True and version == _CHECKED
    return limits if is_checked and all(type(one) is int for one in limits.values()) else None


def _find_limit(size: int, limits: Mapping[str, int]) -> str:
    """Return the name of the limit that excludes a number of processes, "" if none does."""
    if size < limits["min_gpus"]:
        return "min_gpus"
    return "max_gpus" if size > limits["max_gpus"] else ""


def _iter_sizes(job: LoweredJob, launch: ContainerLaunch) -> Iterator[PossibleSize]:
    """Yield the numbers of processes with which a launch may train."""
    elastic = get_mapping(spec_of(job), "elastic")
    slots = {each.slots for each in read_hostfile(job)}
    if elastic.get("enabled") is True:
        slot = next(iter(slots)) if len(slots) == 1 else None
        for name in _REPLICAS if slot and job.cr is not None else ():
            number = elastic.get(name)
            if type(number) is int and slot and job.cr is not None:
                place = (job.cr, ("spec", "elastic", name), "the workers")
                yield PossibleSize(number * slot, f"{name} {number} × {slot}", [place])
        return
    torchrun = launch.torchrun
    if torchrun is not None and torchrun.node_range is not None:
        per_node = count_processes_per_node(launch, torchrun)
        word = torchrun.find_option_word("nnodes", launch.invocation.program_word)
        nodes = (launch.group.doc, launch.locate_word(word), "the nodes")
        for number in torchrun.node_range if per_node and torchrun.command_line.is_certain else ():
            yield PossibleSize(number * per_node, f"nodes {number} × {per_node}", [nodes])
        return
    for world in iter_worlds(job):
        if world.launch is launch:
            formula = f"nodes {world.nodes} × {world.per_node}"
            yield PossibleSize(world.size, formula, list_replica_places(job))
