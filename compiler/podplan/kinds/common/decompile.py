"""Parts of a CR as fields of a profile: the inverse of compiling, on plain data.

It need not be complete: ``podplan.tools.importer`` compiles the result, compares it with the CR and states
the differences as an override. So each function takes only what compiles back to the same.
"""

from __future__ import annotations

from podplan.core.structural_diff import is_same_data
from podplan.core.typing import Any
from podplan.kinds.common import behaviors
from podplan.kinds.common.durations import format_duration
from podplan.kinds.common.hardware import count_gpus

Fields = dict[str, Any]

PROFILE_FIELD_ORDER = (
    *(
        "job",
        "runtime",
        "image",
        "run",
        "launcher",
        "processes",
        "replicas",
        "hardware",
        "resources",
        "elastic",
        "env",
    ),
    *("data", "shm", "workingDir", "ports", "schedule", "restart", "deadline", "retries", "cleanUp", "mode"),
    *(
        "debug",
        "resume",
        "torchrun",
        "tensorboard",
        "deepspeed",
        "colossalai",
        "mpi",
        "flink",
        "replicatedJob",
        "generic",
        "container",
        "pod",
    ),
    *("roles", "override"),
)
_ROLE_FIELD_ORDER = ("name", "replicas", "scalingWeight")


def order_profile_fields(fields: Fields, first_fields: tuple[str, ...] = ()) -> Fields:
    """Return ``fields`` in the order in which people read a profile."""
    order = (*first_fields, *(field for field in PROFILE_FIELD_ORDER if field not in first_fields))
    return {field: fields[field] for field in order if field in fields}


def as_mapping(value: Any) -> Fields:
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def is_string_list(value: Any) -> bool:
    """Whether ``value`` is a list of strings."""
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def pick_renamed(source: Any, new_names: dict[str, str]) -> Fields:
    """Return the keys of ``new_names`` that are in a mapping, under their new names."""
    return {new: source[old] for old, new in new_names.items() if old in as_mapping(source)}


# --- roles ----------------------------------------------------------------------------------------


def build_role_fields(roles: list[Fields], default_name: str = "worker") -> Fields:
    """Return the fields that all roles share, with ``roles`` for the remaining ones."""
    if not roles:
        return {}
    shared = {
        field: value
        for field, value in roles[0].items()
        if field not in ("name", "scalingWeight")
        and (len(roles) == 1 or field != "replicas")
        and all(field in role and is_same_data(role[field], value) for role in roles)
    }
    own_fields = [{field: value for field, value in role.items() if field not in shared} for role in roles]
    if len(own_fields) == 1 and own_fields[0] == {"name": default_name}:
        return shared
    return {**shared, "roles": [order_profile_fields(role, _ROLE_FIELD_ORDER) for role in own_fields]}


def decompile_processes(count: Any, roles: list[Fields]) -> Fields:
    """Return ``processes``: "auto" if it is the number of GPUs of every role."""
    if type(count) is not int or count < 1:
        return {}
    gpu_counts = {
        count_gpus(as_mapping(role.get("resources")).get("limits"), behaviors.GPU_RESOURCES.value)
        for role in roles
    }
    return {"processes": "auto" if gpu_counts == {count} else count}


def decompile_lifecycle(policy: Fields) -> Fields:
    """Return ``deadline`` and ``mode`` from activeDeadlineSeconds and suspend."""
    fields: Fields = {}
    seconds = policy.get("activeDeadlineSeconds")
    if type(seconds) is int and seconds > 0:
        fields["deadline"] = format_duration(seconds)
    if isinstance(policy.get("suspend"), bool):
        fields["mode"] = "pause" if policy["suspend"] else "immediate"
    return fields
