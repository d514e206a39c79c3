"""The spec of a PyTorchTrainingJob as fields of a profile."""

from __future__ import annotations

from podplan.core.lazy_regex import compile_lazily
from podplan.kinds.common.decompile import (
    Fields,
    as_list,
    as_mapping,
    build_role_fields,
    decompile_processes,
    pick_renamed,
)
from podplan.kinds.common.decompile_run import decompile_command, decompile_torchrun_args
from podplan.kinds.common.decompile_template import decompile_pod_template
from podplan.kinds.t9k.decompile import (
    decompile_elastic,
    decompile_run_mode,
    decompile_run_policy,
    decompile_schedule,
)
from podplan.kinds.t9k.pytorch_training_job.compile import DEFAULT_CONTAINER, PREFERRED_CONTAINER

_COUNT_PATTERN = compile_lazily("[1-9][0-9]{0,8}")


def decompile(spec: Fields) -> Fields:
    """Return the fields of the shortest profile that compiles to about ``spec``."""
    torchrun_enabled = as_mapping(spec.get("torchrunConfig")).get("enabled")
    roles = [
        _decompile_role(as_mapping(entry), torchrun_enabled is True)
        for entry in as_list(spec.get("replicaSpecs"))
    ]
    mode_fields = decompile_run_mode(spec, roles)
    launcher_fields = _decompile_launcher(spec, roles)
    return {
        **build_role_fields(roles),
        **launcher_fields,
        **decompile_elastic(spec),
        **decompile_schedule(spec),
        **decompile_run_policy(spec),
        **mode_fields,
        **pick_renamed(spec, {"tensorboardSpec": "tensorboard"}),
    }


def _decompile_role(entry: Fields, under_torchrun: bool) -> Fields:
    decompile_run = decompile_torchrun_args if under_torchrun else decompile_command
    return {
        "name": str(entry.get("type", "")),
        **pick_renamed(
            entry, {"replicas": "replicas", "scalingWeight": "scalingWeight", "restartPolicy": "restart"}
        ),
        **decompile_pod_template(
            entry.get("template"), DEFAULT_CONTAINER, decompile_run, PREFERRED_CONTAINER
        ),
    }


def _decompile_launcher(spec: Fields, roles: list[Fields]) -> Fields:
    config = dict(as_mapping(spec.get("torchrunConfig")))
    if "torchrunConfig" not in spec:
        return {}
    enabled = config.pop("enabled", None)
    fields: Fields = {}
    count = config.get("procPerNode")
    if enabled is True and isinstance(count, str) and _COUNT_PATTERN.fullmatch(count):
        fields = decompile_processes(int(count), roles)
    if fields:
        del config["procPerNode"]
    if enabled is not None:
        fields["launcher"] = "torchrun" if enabled is True else "python"
    return {**fields, "torchrun": config} if config or enabled is not True else fields
