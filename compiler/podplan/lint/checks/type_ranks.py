"""Ranks of a replica type that an option states and the controller gives to another one.

Source: docs/evidence/t9k-pytorchtrainingjob.md (ranks follow the order of the replica types).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.lint.analysis.features import SEVERAL_TYPES
from podplan.lint.analysis.jobs import count_replicas_by_type, find_replica_places, is_mode_enabled
from podplan.lint.analysis.launches import find_launches, find_replica_launches
from podplan.lint.analysis.script_options import PlacedOption, list_program_options
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

_ENDING = "_rank"
# Types of which a job has one replica; node_rank and worker_rank are ranks of a process itself.
_SINGLE = frozenset(
    ("chief", "coordinator", "driver", "head", "leader", "master", "parameter_server", "ps", "server")
)


@check(requires=(SEVERAL_TYPES,))
def rank_of_other_type(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An option with the rank of a replica type. Values: ``option``, ``rank``, ``holder``, ``type``,
    ``real``."""
    job = target.job
    if is_mode_enabled(job, "debug"):
        return
    for group, placed in _iter_rank_options(job):
        option = placed.option
        type_, stated = option.last.removesuffix(_ENDING), int(option.value or "0")
        named = next((one for one in job.pods if one.replica_type.lower().replace("-", "_") == type_), None)
        # In a Pod of the type itself, it may be the number within the type.
        if named is None or named is group or count_replicas_by_type(job)[named.replica_type] != 1:
            continue
        real, holder = read_rank(named), _find_holder(job, stated)
        if real is None or real == stated or holder is None:
            continue
        values = {
            "option": option.name,
            "rank": stated,
            "holder": holder.replica_type,
            "type": named.replica_type,
            "real": real,
        }
        places = find_replica_places(job)
        related = [places[one.replica_type] for one in (named, holder) if one.replica_type in places]
        yield Violation(placed.path, values, related, doc=placed.doc, group=group)
        return


def _iter_rank_options(job: LoweredJob) -> Iterator[tuple[ReplicaGroup, PlacedOption]]:
    for launch in find_launches(job):
        if launch.is_launcher or launch.invocation.parsed is not None or launch.invocation.is_conditional:
            continue
        for placed in list_program_options(job, launch):
            value = placed.option.value or ""
            is_single = placed.option.last.removesuffix(_ENDING) in _SINGLE
            if is_single and placed.option.last.endswith(_ENDING) and value.isdecimal() and len(value) < 8:
                yield launch.group, placed


def _find_holder(job: LoweredJob, rank: int) -> ReplicaGroup | None:
    """Return the replicas of which one has a rank."""
    firsts = ((group, read_rank(group)) for group in job.pods)
    held = (group for group, first in firsts if first is not None and first <= rank < first + group.replicas)
    return next(held, None)


def read_rank(group: ReplicaGroup) -> int | None:
    """The RANK of the first replica of a group, if it runs one program that does not set it itself."""
    launches = find_replica_launches(group, group.start)
    rank = launches[0].resolve_environment().get("RANK") if len(launches) == 1 else None
    return int(rank) if rank is not None and rank.isdecimal() and len(rank) < 8 else None
