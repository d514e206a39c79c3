"""Fields about scheduling, restarts, end and start of a job, which most kinds share."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, attribute_to, compute_traced
from podplan.core.typing import Any
from podplan.kinds.common.durations import parse_duration
from podplan.kinds.common.merge import drop_absent, drop_nulls
from podplan.kinds.common.profile import ProfileRole, require_choice, stringify_list

TracedMap = dict[str, Any]


def build_scheduler(spec: Cursor) -> Any:
    """Return ``schedule`` as a SchedulePolicy."""
    schedule = spec.get("schedule")
    if not schedule.exists:
        return None
    priority = schedule.get("priority")
    section = {
        "queue": schedule.get("queue"),
        "priority": None if isinstance(priority.value, str) else priority,
    }
    return attribute_to(schedule, {"t9kScheduler": drop_absent(section)})


def build_run_policy(spec: Cursor, diagnostics: list[Diagnostic]) -> Any:
    """Return ``deadline``, ``retries`` and ``cleanUp`` as the RunPolicy of PyTorchTrainingJob and
    DeepSpeedJob."""
    deadline, retries = spec.get("deadline"), spec.get("retries")
    seconds = compute_traced(parse_duration, deadline) if isinstance(deadline.value, str) else deadline
    tree = drop_absent({
        "activeDeadlineSeconds": seconds,
        "backoffLimit": retries,
        "cleanUpPolicy": read_clean_up_policy(spec, diagnostics),
    })  # fmt: skip
    return attribute_to(spec, tree) if tree else None


def build_worker_clean_up(spec: Cursor, diagnostics: list[Diagnostic], field: str = "cleanUpWorkers") -> Any:
    """Return ``cleanUp`` as the RunPolicy of the kinds that may delete what works for the job."""
    clean_up = require_choice(spec.get("cleanUp"), ("None", "Workers"), spec, diagnostics)
    if clean_up is None or not clean_up.exists:
        return None
    return attribute_to(clean_up, {field: compute_traced(lambda value: value == "Workers", clean_up)})


def read_clean_up_policy(spec: Cursor, diagnostics: list[Diagnostic]) -> Cursor | None:
    """Return ``cleanUp`` if it is a CleanUpPolicy."""
    return require_choice(spec.get("cleanUp"), ("None", "Unfinished", "All"), spec, diagnostics)


def read_restart(role: ProfileRole, diagnostics: list[Diagnostic]) -> Cursor | None:
    """Return ``restart`` as the string of PyTorchTrainingJob and DeepSpeedJob."""
    return require_choice(
        role.get_field("restart"), ("Always", "OnFailure", "Never", "ExitCode"), role.spec, diagnostics
    )


def build_restart_policy(role: ProfileRole, diagnostics: list[Diagnostic]) -> Any:
    """Return ``restart`` and ``retries`` as the RestartPolicy of GenericJob and ColossalAIJob."""
    policy = require_choice(
        role.get_field("restart"), ("Always", "OnFailure", "Never"), role.spec, diagnostics
    )
    tree = drop_absent({"policy": policy, "limit": role.get_field("retries")})
    return attribute_to(role.origin_cursor, tree) if tree else None


def build_run_mode(spec: Cursor, roles: list[ProfileRole]) -> Any:
    """Return ``mode``, and ``debug`` and ``resume`` of the roles, as a RunMode."""
    tree: TracedMap = {}
    for section, mode, field, entries_key in (
        ("debug", "debug", "debug", "replicaSpecs"),
        ("pause", "pause", "resume", "resumeSpecs"),
    ):
        section_fields = drop_absent(
            {
                "enabled": _build_enabled(spec, roles, mode, field),
                entries_key: _build_start_entries(roles, field) or None,
            }
        )
        if section_fields:
            tree[section] = section_fields
    return attribute_to(spec.get("mode") if spec.get("mode").exists else spec, tree) if tree else None


def _build_enabled(spec: Cursor, roles: list[ProfileRole], mode: str, field: str) -> Any:
    """Return true in this mode; false if the mode is explicitly immediate and the field is written."""
    mode_cursor = spec.get("mode")
    if mode_cursor.value == mode:
        return attribute_to(mode_cursor, True)
    is_prepared = any(role.get_field(field).exists for role in roles)
    return attribute_to(mode_cursor, False) if mode_cursor.value == "immediate" and is_prepared else None


def _build_start_entries(roles: list[ProfileRole], field: str) -> list[Any]:
    """Return an entry for each role that has ``field``."""
    starts = []
    for role in roles:
        field_cursor = role.get_field(field)
        if field_cursor.value:
            start_fields = field_cursor.fields()
            commands: TracedMap = {
                key: stringify_list(start_fields[key]) for key in ("command", "args") if key in start_fields
            }
            entry_fields = drop_absent(
                {"skipInitContainer": start_fields.get("skipInitContainer"), **commands}
            )
            starts.append(attribute_to(field_cursor, {"type": role.replica_type, **entry_fields}))
    return starts


def build_elastic(spec: Cursor) -> Any:
    """Return ``elastic`` as an ElasticConfig."""
    elastic_section = spec.get("elastic")
    if not elastic_section.exists:
        return None
    return attribute_to(
        elastic_section,
        {
            "enabled": True,
            "minReplicas": elastic_section.get("min"),
            "maxReplicas": elastic_section.get("max"),
            "expectedReplicas": elastic_section.get("replicas"),
        },
    )


def copy_if_written(field_cursor: Cursor) -> Any:
    """Return a field that has the same form in profile and CR, or None if it is missing."""
    return drop_nulls(field_cursor) if field_cursor.exists else None
