"""Proposes values for lowering options from the real objects; each proposer yields ids with values.

A proposal costs little, and ``adoption`` accepts it only if lowering with it leaves fewer differences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from podplan.core.findings import Path
from podplan.core.provenance import Behavior, find_origin, root_cursor
from podplan.core.structural_diff import ABSENT
from podplan.core.typing import Any
from podplan.kinds.job_names import compute_job_names
from podplan.kinds.lowering_options import list_lowering_options, list_status_behavior_ids
from podplan.tools.cluster_diff import options_from_commands, options_from_files
from podplan.tools.cluster_diff.differences import ObjectDifference
from podplan.tools.cluster_diff.name_patterns import find_common_pattern
from podplan.tools.cluster_diff.observed_job import ClusterDiff, build_placeholders

Candidates = Iterator[tuple[str, Any]]
_OPTION_PREFIXES = {
    "Pod": "pod",
    "Service": "service",
    "ConfigMap": "config-map",
    "PodGroup": "podgroup",
    "TensorBoard": "tensorboard",
    "Job": "batch-job",
    "FlinkCluster": "flink-cluster",
}


def propose_names(comparison: ClusterDiff) -> Candidates:
    """Propose the names of children: their suffix, and their pattern."""
    job = compute_job_names(root_cursor(comparison.cr), comparison.options)
    for pair in comparison.pairs_of_kind("Pod"):
        digits = re.match(rf"{re.escape(job.name)}-([0-9a-f]+)-", pair.real["metadata"]["name"])
        if job.has_uid:
            yield "name.base-suffix", len(digits[1]) if digits else 0
    seen_by_option: dict[str, list[tuple[str, dict[str, str]]]] = {}
    for difference in comparison.differences:
        if difference.path == ("metadata", "name") and difference.predicted_object and difference.real_object:
            id_ = _find_name_option(difference, comparison.kind_spec.option_prefix)
            placeholders = build_placeholders(comparison, difference.predicted_object, difference.real_object)
            seen_by_option.setdefault(id_, []).append(
                (difference.real, {**placeholders, "name": "", "pod": ""})
            )
    for id_, observations in seen_by_option.items():
        if (
            id_
            and (pattern := find_common_pattern(observations, list_lowering_options()[id_].placeholders))
            is not None
        ):
            yield id_, pattern
    for extra in comparison.matches.extra_objects:
        if extra["kind"] == "Service":
            pattern = find_common_pattern(
                [(extra["metadata"]["name"], {"base": job.base_name, "job": job.name})], ("base", "job")
            )
            yield "service.job-name", pattern


def _find_name_option(difference: ObjectDifference, prefix: str) -> str:
    predicted = difference.predicted_object
    assert predicted is not None
    if difference.kind == "Pod" and predicted.group.doc.replica_texts.get(("metadata", "name")) is None:
        return f"{prefix}.launcher" if f"{prefix}.launcher" in list_lowering_options() else ""
    if difference.kind == "Service" and not predicted.group.replica_type:
        return "service.job-name"
    return {
        "Pod": "pod.name",
        "Service": "service.name",
        "ConfigMap": "ssh.config-map",
        "PodGroup": "podgroup.name",
    }.get(difference.kind, "")


def propose_by_origin(comparison: ClusterDiff) -> Candidates:
    """Propose the real value for a value that originates from an option."""
    observations_by_option: dict[str, list[tuple[Any, dict[str, str]]]] = {}
    for difference in comparison.differences:
        predicted, real = difference.predicted_object, difference.real_object
        if predicted is None or real is None or difference.real is ABSENT:
            continue
        origin, rest = find_origin(predicted.group.doc, difference.path)
        if origin.behavior is None or origin.behavior.id not in list_lowering_options():
            continue
        option = comparison.current_option(origin.behavior.id)
        value = difference.real
        if isinstance(option.value, dict) and "env" in difference.path:
            continue  # entries of a list, of which propose_variables makes a mapping
        if rest and not isinstance(option.value, str | int):
            parent_paths = difference.path[: -len(rest)], difference.real_path[: -len(rest)]
            value = _get_at(real, parent_paths[1])
        observations_by_option.setdefault(option.id, []).append(
            (value, build_placeholders(comparison, predicted, real))
        )
    for id_, values in observations_by_option.items():
        yield from _iter_option_values(comparison.current_option(id_), values)


def _iter_option_values(option: Behavior, observations: list[tuple[Any, dict[str, str]]]) -> Candidates:
    """Yield values of an option that fit what was observed at several replicas."""
    first = observations[0][0]
    if option.placeholders and isinstance(option.value, str):
        pattern = find_common_pattern(observations, option.placeholders)
        if pattern is not None:
            yield option.id, pattern
    elif option.placeholders and isinstance(option.value, dict) and isinstance(first, dict):
        patterns = {
            key: find_common_pattern(
                [(value[key], known) for value, known in observations if key in value], option.placeholders
            )
            for key in first
        }
        if None not in patterns.values():
            yield option.id, patterns
    elif isinstance(option.value, bool) or (option.placeholders and isinstance(option.value, list)):
        return
    elif isinstance(option.value, int):
        if re.fullmatch(r"-?[0-9]{1,10}", str(first)):
            yield option.id, int(first)
    elif type(first) is type(option.value):
        yield option.id, first


def propose_choices(comparison: ClusterDiff) -> Candidates:
    """Propose every other value of options with few values."""
    for option in list_lowering_options().values():
        if option.id in list_status_behavior_ids():
            continue
        current_value = comparison.current_option(option.id).value
        if isinstance(option.value, bool):
            yield option.id, not current_value
        for choice in option.choices:
            if choice != current_value:
                yield option.id, choice


def propose_containers(comparison: ClusterDiff) -> Candidates:
    """Propose another container as the training container."""
    container_names = {
        entry["name"]: None
        for pair in comparison.pairs_of_kind("Pod")
        for entry in pair.real["spec"].get("containers", [])
        if isinstance(entry, dict) and isinstance(entry.get("name"), str)
    }
    for id_ in comparison.kind_spec.proposed_options.training_containers:
        yield from ((id_, name) for name in container_names)


def propose_texts(comparison: ClusterDiff) -> Candidates:
    """Propose the values of an option in the texts that differ."""
    for difference in comparison.differences:
        if difference.kind not in ("Pod", "ConfigMap") or not isinstance(difference.real, str):
            continue
        text = f"{difference.path[-1]}={difference.real}"
        for id_, pattern in comparison.kind_spec.proposed_options.texts.items():
            if match := re.search(pattern, text):
                option = comparison.current_option(id_)
                yield from _iter_option_values(option, [(match[1], {})])


def propose_metadata(comparison: ClusterDiff) -> Candidates:
    """Propose labels and annotations: each key separately, with the current values of the others."""
    for kind, child in _OPTION_PREFIXES.items():
        for part in ("labels", "annotations"):
            if f"{child}.{part}" not in list_lowering_options():
                continue
            keys = {
                str(difference.path[2]): None
                for difference in comparison.differences
                if difference.kind == kind
                and difference.path[:2] == ("metadata", part)
                and len(difference.path) == 3
            }
            whole_differences = [
                d for d in comparison.differences if d.kind == kind and d.path == ("metadata", part)
            ]
            keys |= {
                key: None
                for d in whole_differences
                for side in (d.predicted, d.real)
                if side is not ABSENT
                for key in side
            }
            for key in keys:
                yield from _propose_metadata_key(comparison, kind, part, key, f"{child}.{part}")


def _propose_metadata_key(comparison: ClusterDiff, kind: str, part: str, key: str, id_: str) -> Candidates:
    option = comparison.current_option(id_)
    observations = [
        (value, _select_label_placeholders(build_placeholders(comparison, pair.predicted, pair.real)))
        for pair in comparison.pairs_of_kind(kind)
        if (value := (pair.real["metadata"].get(part) or {}).get(key)) is not None
    ]
    if not observations:
        yield id_, {**option.value, key: False}
    elif (pattern := find_common_pattern(observations, option.placeholders)) is not None:
        yield id_, {**option.value, key: pattern}


def _select_label_placeholders(placeholders: dict[str, str]) -> dict[str, str]:
    """Return the placeholders for a label, which uses the job name rather than the base name."""
    return placeholders if placeholders["base"] != placeholders["job"] else {**placeholders, "base": ""}


def _get_at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


# Ordered: names first, and again after options that change which objects exist, because other parts repeat
# names.
PROPOSERS: tuple[Callable[[ClusterDiff], Candidates], ...] = (
    propose_names,
    propose_by_origin,
    propose_choices,
    propose_names,
    propose_by_origin,
    options_from_files.propose_hosts,
    propose_containers,
    propose_texts,
    options_from_files.propose_files,
    options_from_commands.propose_commands,
    options_from_commands.propose_variables,
    propose_metadata,
)
