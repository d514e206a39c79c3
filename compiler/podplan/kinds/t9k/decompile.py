"""Common parts of the specs of T9k as fields of a profile: queue, run policy, restarts, run mode."""

from __future__ import annotations

from podplan.kinds.common.decompile import Fields, as_list, as_mapping, pick_renamed
from podplan.kinds.common.durations import format_duration


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
