"""Resolves names to replicas: a Pod, a replica such as worker-3, worker-{0..3}, or all of a type."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from podplan.core.suggestions import suggest_or_list
from podplan.core.typing import NamedTuple
from podplan.tools.status.replicas import ObservedReplica

_INDEX_RANGE = re.compile(r"(.+-)\{([0-9]{1,9})\.\.([0-9]{1,9})\}")
GENERATED_LENGTH = 5  # characters that the API server adds to generateName
_NUMBERED_NAME = re.compile(r"(.+)-([0-9]{1,9})")


class ReplicaNames(NamedTuple):
    """The positions of replicas by the names of their Pods, by their short names and by their types.

    ``generated`` are those whose Pods get a name with random characters, by the rest of the name; several
    Pods of a Job may be alike. ``job_prefix_pattern`` matches the prefix of Pod names with any name suffix.
    """

    job: str

    pods: Mapping[str, int]
    generated: Mapping[str, Sequence[int]]
    short: Mapping[str, int]
    types: Mapping[str, Sequence[int]]
    job_prefix_pattern: re.Pattern[str]


def index_replica_names(job: str, replicas: Sequence[ObservedReplica]) -> ReplicaNames:
    """Index the names of the replicas of a job."""
    types: dict[str, list[int]] = {}
    generated: dict[str, list[int]] = {}
    for position, replica in enumerate(replicas):
        types.setdefault(replica.type.lower(), []).append(position)
        if replica.job_name:
            generated.setdefault(replica.name, []).append(position)
    return ReplicaNames(
        job,
        {one.name: position for position, one in enumerate(replicas)},
        generated,
        {one.short_name: position for position, one in enumerate(replicas)},
        types,
        re.compile(rf"{re.escape(job)}-(?:[0-9a-f]{{5}}-)?(.+)"),
    )


def find_pod_position(replica_names: ReplicaNames, name: str) -> int | None:
    """Return the position of the replica whose Pod has this name, with or without the name suffix, or
    None."""
    if name in replica_names.pods:
        return replica_names.pods[name]
    if positions := find_generated(replica_names, name):
        return positions[0]
    match = replica_names.job_prefix_pattern.fullmatch(name)
    return replica_names.short.get(match[1]) if match else None


def find_generated(replica_names: ReplicaNames, name: str) -> Sequence[int]:
    """Return the positions of the replicas that a Pod with random characters in its name may be."""
    return replica_names.generated.get(name[:-GENERATED_LENGTH], ())


def find_positions(replica_names: ReplicaNames, name: str) -> list[int] | None:
    """Return the positions of the replicas that a name means, or None."""
    if positions := _find_lowered(replica_names, name):
        return [*positions]
    found_position = find_pod_position(replica_names, name)
    if found_position is None:
        found_position = replica_names.short.get(name)
    if found_position is not None:
        return [found_position]
    if name in replica_names.types:
        return list(replica_names.types[name])
    if positions := _find_lowered(replica_names, f"{replica_names.job}-{name}"):
        return [*positions]
    index_range = _INDEX_RANGE.fullmatch(name)
    if index_range is None or not 0 <= int(index_range[3]) - int(index_range[2]) < len(replica_names.pods):
        return None
    indexes = range(int(index_range[2]), int(index_range[3]) + 1)
    found = [_find_in_range(replica_names, f"{index_range[1]}{index}") for index in indexes]
    return [position for positions in found for position in positions] if all(found) else None


def _find_in_range(replica_names: ReplicaNames, name: str) -> Sequence[int]:
    """Return the positions of a name that a range such as worker-{0..3} has."""
    for known_names in (replica_names.pods, replica_names.short):
        if name in known_names:
            return [known_names[name]]
    return _find_lowered(replica_names, name) or _find_lowered(replica_names, f"{replica_names.job}-{name}")


def _find_lowered(replica_names: ReplicaNames, name: str) -> Sequence[int]:
    """Return the positions of the Pods of a Job that have this name before the random characters, as
    ``podplan lower`` prints it."""
    return replica_names.generated.get(f"{name}-", ())


def explain_unknown_name(replica_names: ReplicaNames, name: str) -> str:
    """Return why a name matches nothing, as a sentence."""
    suffix_match = replica_names.job_prefix_pattern.fullmatch(name)
    short = suffix_match[1] if suffix_match else name
    numbered = _NUMBERED_NAME.fullmatch(short) or _INDEX_RANGE.fullmatch(short)
    type_ = numbered[1].removesuffix("-") if numbered else ""
    if type_ in replica_names.types:
        number = len(replica_names.types[type_])
        available = f"{number} replicas, from 0 to {number - 1}" if number > 1 else "one replica"
        return f'there is no Pod "{name}": {type_} has {available}'
    return f'there is no Pod "{name}"{suggest_or_list(short, replica_names.short)}'
