"""The spec of a PyTorchTrainingJob as fields of a profile."""

from __future__ import annotations

from podplan.core.lazy_regex import pattern
from podplan.kinds.common.decompile import (
    Fields,
    elastic_fields,
    listed,
    mapping,
    mode_fields,
    picked,
    processes_field,
    run_policy_fields,
    schedule_fields,
    with_roles,
)
from podplan.kinds.common.decompile_run import from_command, from_torchrun_args
from podplan.kinds.common.decompile_template import template_fields
from podplan.kinds.t9k.pytorch_training_job.compile import CONTAINER, PREFERRED

_COUNT = pattern("[1-9][0-9]{0,8}")


def decompile(spec: Fields) -> Fields:
    """The fields of the shortest profile that comes near to ``spec``."""
    enabled = mapping(spec.get("torchrunConfig")).get("enabled")
    roles = [_role(mapping(entry), enabled is True) for entry in listed(spec.get("replicaSpecs"))]
    mode = mode_fields(spec, roles)
    launch = _launcher_fields(spec, roles)
    return {
        **with_roles(roles),
        **launch,
        **elastic_fields(spec),
        **schedule_fields(spec),
        **run_policy_fields(spec),
        **mode,
        **picked(spec, {"tensorboardSpec": "tensorboard"}),
    }


def _role(entry: Fields, under_torchrun: bool) -> Fields:
    run = from_torchrun_args if under_torchrun else from_command
    return {
        "name": str(entry.get("type", "")),
        **picked(
            entry, {"replicas": "replicas", "scalingWeight": "scalingWeight", "restartPolicy": "restart"}
        ),
        **template_fields(entry.get("template"), CONTAINER, run, PREFERRED),
    }


def _launcher_fields(spec: Fields, roles: list[Fields]) -> Fields:
    config = dict(mapping(spec.get("torchrunConfig")))
    if "torchrunConfig" not in spec:
        return {}
    enabled = config.pop("enabled", None)
    fields: Fields = {}
    count = config.get("procPerNode")
    if enabled is True and isinstance(count, str) and _COUNT.fullmatch(count):
        fields = processes_field(int(count), roles)
    if fields:
        del config["procPerNode"]
    if enabled is not None:
        fields["launcher"] = "torchrun" if enabled is True else "python"
    return {**fields, "torchrun": config} if config or enabled is not True else fields
