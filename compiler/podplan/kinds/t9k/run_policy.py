"""How a job is scheduled, restarted, ended and started: the fields that most kinds share."""

from __future__ import annotations

import re

from podplan.core.findings import Problem
from podplan.core.lazy_regex import pattern
from podplan.core.provenance import Cursor, at, computed
from podplan.core.typing import Any
from podplan.kinds.common.merge import present, without_nulls
from podplan.kinds.common.profile import Role, enumeration, shown, strings

Tree = dict[str, Any]

_DURATION = pattern(r"(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?", re.ASCII)
_SECONDS = (86_400, 3_600, 60, 1)


def scheduler(spec: Cursor) -> Any:
    """``schedule`` as a SchedulePolicy."""
    schedule = spec.get("schedule")
    if not schedule.exists:
        return None
    section = {key: schedule.get(key) for key in ("queue", "priority")}
    return at(schedule, {"t9kScheduler": present(section)})


def run_policy(spec: Cursor, problems: list[Problem]) -> Any:
    """``deadline``, ``retries`` and ``cleanUp`` as the RunPolicy of PyTorchTrainingJob and DeepSpeedJob."""
    deadline, retries = spec.get("deadline"), spec.get("retries")
    tree = present({
        "activeDeadlineSeconds": computed(seconds, deadline) if isinstance(deadline.value, str) else deadline,
        "backoffLimit": retries,
        "cleanUpPolicy": clean_up_policy(spec, problems),
    })  # fmt: skip
    return at(spec, tree) if tree else None


def clean_up_policy(spec: Cursor, problems: list[Problem]) -> Cursor | None:
    """``cleanUp`` where it is a CleanUpPolicy."""
    return allowed(spec.get("cleanUp"), ("None", "Unfinished", "All"), spec, problems)


def restart(role: Role, problems: list[Problem]) -> Cursor | None:
    """``restart`` as the string that it is in PyTorchTrainingJob and DeepSpeedJob."""
    return allowed(role.get("restart"), ("Always", "OnFailure", "Never", "ExitCode"), role.spec, problems)


def restart_policy(role: Role, problems: list[Problem]) -> Any:
    """``restart`` and ``retries`` as the RestartPolicy of GenericJob and ColossalAIJob."""
    policy = allowed(role.get("restart"), ("Always", "OnFailure", "Never"), role.spec, problems)
    tree = present({"policy": policy, "limit": role.get("retries")})
    return at(role.why, tree) if tree else None


def allowed(place: Cursor, values: tuple[str, ...], spec: Cursor, problems: list[Problem]) -> Cursor | None:
    """``place``, or None with a problem when its value is not one that the kind has."""
    if not place.exists or place.value in values:
        return place
    listed = enumeration(list(values), "or")
    message = f"{place.path[-1]} of a {spec.get('job').value} is {listed}, not {shown(place.value)}"
    problems.append(Problem("PROF024", message, place.path))
    return None


def seconds(duration: str) -> int:
    """A duration such as 1h30m in seconds."""
    match = _DURATION.fullmatch(duration)
    parts = match.groups() if match else ()
    return sum(int(count) * unit for count, unit in zip(parts, _SECONDS, strict=False) if count)


def run_mode(spec: Cursor, roles: list[Role]) -> Any:
    """``mode``, and ``debug`` and ``resume`` of the roles, as a RunMode."""
    tree: Tree = {}
    for section, mode, field, listed in (
        ("debug", "debug", "debug", "replicaSpecs"),
        ("pause", "pause", "resume", "resumeSpecs"),
    ):
        below = present(
            {"enabled": _enabled(spec, roles, mode, field), listed: _starts(roles, field) or None}
        )
        if below:
            tree[section] = below
    return at(spec.get("mode") if spec.get("mode").exists else spec, tree) if tree else None


def _enabled(spec: Cursor, roles: list[Role], mode: str, field: str) -> Any:
    """True in this mode; false where the mode is written to be immediate and the field stands by."""
    asked = spec.get("mode")
    if asked.value == mode:
        return at(asked, True)
    stands_by = any(role.get(field).exists for role in roles)
    return at(asked, False) if asked.value == "immediate" and stands_by else None


def _starts(roles: list[Role], field: str) -> list[Any]:
    """An entry for each role that says how it starts."""
    starts = []
    for role in roles:
        place = role.get(field)
        if place.value:
            below = place.fields()
            commands: Tree = {key: strings(below[key]) for key in ("command", "args") if key in below}
            keys = present({"skipInitContainer": below.get("skipInitContainer"), **commands})
            starts.append(at(place, {"type": role.type, **keys}))
    return starts


def elastic(spec: Cursor) -> Any:
    """``elastic`` as an ElasticConfig."""
    written = spec.get("elastic")
    if not written.exists:
        return None
    return at(
        written,
        {
            "enabled": True,
            "minReplicas": written.get("min"),
            "maxReplicas": written.get("max"),
            "expectedReplicas": written.get("replicas"),
        },
    )


def as_written(place: Cursor) -> Any:
    """What the profile spells as the CR does; None where nothing is written."""
    return without_nulls(place) if place.exists else None
