"""Common parts of the specs of T9k as fields of a profile: queue, run policy, restarts, run mode."""

from __future__ import annotations

from podplan.core.structural_diff import is_same_data
from podplan.kinds.common.decompile import Fields, as_list, as_mapping, order_profile_fields, pick_renamed
from podplan.kinds.common.durations import format_duration

# Fields of the spec that a launcher replaces; its other inherited fields are merged.
_REPLACED_FIELDS = ("image", "workingDir", "debug", "resume")


def decompile_schedule(spec: Fields) -> Fields:
    section = as_mapping(spec.get("scheduler")).get("t9kScheduler")
    return {"schedule": section} if isinstance(section, dict) else {}


def decompile_run_policy(spec: Fields) -> Fields:
    policy = as_mapping(spec.get("runPolicy"))
    fields = pick_renamed(policy, {"backoffLimit": "retries", "cleanUpPolicy": "cleanUp"})
    seconds = policy.get("activeDeadlineSeconds")
    return (
        {**fields, "deadline": format_duration(seconds)} if type(seconds) is int and seconds > 0 else fields
    )


def decompile_restart_policy(entry: Fields) -> Fields:
    """Return a RestartPolicy with policy and limit as ``restart`` and ``retries``."""
    return pick_renamed(entry.get("restartPolicy"), {"policy": "restart", "limit": "retries"})


def decompile_elastic(spec: Fields) -> Fields:
    elastic_section = as_mapping(spec.get("elastic"))
    names = {"minReplicas": "min", "maxReplicas": "max", "expectedReplicas": "replicas"}
    return {"elastic": pick_renamed(elastic_section, names)} if elastic_section.get("enabled") is True else {}


def decompile_run_mode(spec: Fields, roles: list[Fields]) -> Fields:
    """Return ``mode``; the debug and resume settings of replica types are added to ``roles``."""
    mode = as_mapping(spec.get("runMode"))
    debug, pause = as_mapping(mode.get("debug")), as_mapping(mode.get("pause"))
    by_name = {role["name"]: role for role in roles}
    for entries, field in ((debug.get("replicaSpecs"), "debug"), (pause.get("resumeSpecs"), "resume")):
        for entry in as_list(entries):
            role = by_name.get(str(as_mapping(entry).get("type")))
            if role is not None and len(entry) > 1:
                role[field] = {key: value for key, value in entry.items() if key != "type"}
    if pause.get("enabled") is True:
        return {"mode": "pause"}
    if debug.get("enabled") is True:
        return {"mode": "debug"}
    for section, field in ((debug, "debug"), (pause, "resume")):
        if section.get("enabled") is False and not any(field in role for role in roles):
            for role in roles:
                role[field] = {}
    return {"mode": "immediate"} if False in (debug.get("enabled"), pause.get("enabled")) else {}


def decompile_worker_clean_up(spec: Fields, field: str = "cleanUpWorkers") -> Fields:
    """Return ``cleanUp`` of the kinds that may delete what works for the job."""
    clean_up = as_mapping(spec.get("runPolicy")).get(field)
    return {"cleanUp": "Workers" if clean_up else "None"} if isinstance(clean_up, bool) else {}


def share_worker_fields(roles: list[Fields], inherited_fields: frozenset[str]) -> Fields:
    """Move the fields of the worker to the spec, unless the launcher would inherit too much."""
    by_name = {role["name"]: dict(role) for role in roles}
    launcher, worker = by_name.get("launcher"), by_name.get("worker", {})
    if len(by_name) != len(roles) or not set(by_name) <= {"launcher", "worker"}:
        return {"roles": roles}
    spec_fields: Fields = {}
    for field in [field for field in worker if field != "name"]:
        if field not in inherited_fields:
            spec_fields[field] = worker.pop(field)
        elif launcher is not None and field in launcher:
            if is_same_data(launcher[field], worker[field]):
                del launcher[field]
                spec_fields[field] = worker.pop(field)
            elif field in _REPLACED_FIELDS:
                spec_fields[field] = worker.pop(field)
    is_reordered = list(by_name) == ["worker", "launcher"]
    takes_from_spec = {"worker": bool(spec_fields), "launcher": not inherited_fields.isdisjoint(spec_fields)}
    needed_roles = [
        role for name, role in by_name.items() if is_reordered or len(role) > 1 or not takes_from_spec[name]
    ]
    if needed_roles:
        spec_fields["roles"] = [order_profile_fields(role, ("name", "replicas")) for role in needed_roles]
    return spec_fields
