"""Which replicas a name means: a Pod, a replica such as worker-3, worker-{0..3}, or all of a type."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from podplan.core.suggestions import meant_or_known
from podplan.core.typing import NamedTuple
from podplan.tools.status.replicas import Replica

_RANGE = re.compile(r"(.+-)\{([0-9]{1,9})\.\.([0-9]{1,9})\}")
_NUMBERED = re.compile(r"(.+)-([0-9]{1,9})")


class Names(NamedTuple):
    """The positions of replicas by the names of their Pods, by their short names and by their types.

    ``ending`` matches the name of a Pod whatever the five digits that the controller adds to that of the job.
    """

    pods: Mapping[str, int]
    short: Mapping[str, int]
    types: Mapping[str, Sequence[int]]
    ending: re.Pattern[str]


def names(job: str, replicas: Sequence[Replica]) -> Names:
    """The names of the replicas of a job."""
    types: dict[str, list[int]] = {}
    for position, one in enumerate(replicas):
        types.setdefault(one.type, []).append(position)
    return Names(
        {one.name: position for position, one in enumerate(replicas)},
        {one.short: position for position, one in enumerate(replicas)},
        types,
        re.compile(rf"{re.escape(job)}-(?:[0-9a-f]{{5}}-)?(.+)"),
    )


def pod(known: Names, name: str) -> int | None:
    """The position of the replica whose Pod has this name, with the digits of the controller or without."""
    if name in known.pods:
        return known.pods[name]
    match = known.ending.fullmatch(name)
    return known.short.get(match[1]) if match else None


def meant(known: Names, name: str) -> list[int] | None:
    """The positions of the replicas that a name stands for, None if it is none."""
    found = pod(known, name)
    if found is None:
        found = known.short.get(name)
    if found is not None:
        return [found]
    if name in known.types:
        return list(known.types[name])
    span = _RANGE.fullmatch(name)
    if span is None or not 0 <= int(span[3]) - int(span[2]) < len(known.pods):
        return None
    positions = [
        pod(known, one) if one in known.pods else known.short.get(one)
        for one in (f"{span[1]}{index}" for index in range(int(span[2]), int(span[3]) + 1))
    ]
    inside = [position for position in positions if position is not None]
    return inside if len(inside) == len(positions) else None


def unknown(known: Names, name: str) -> str:
    """Why a name means nothing, as a sentence."""
    rest = known.ending.fullmatch(name)
    short = rest[1] if rest else name
    numbered = _NUMBERED.fullmatch(short) or _RANGE.fullmatch(short)
    type_ = numbered[1].removesuffix("-") if numbered else ""
    if type_ in known.types:
        number = len(known.types[type_])
        there = f"{number} replicas, from 0 to {number - 1}" if number > 1 else "one replica"
        return f'there is no Pod "{name}": {type_} has {there}'
    return f'there is no Pod "{name}"{meant_or_known(short, known.short)}'
