"""The spec of a DeepSpeedJob as fields of a profile."""

from __future__ import annotations

from podplan.kinds.common.decompile import (
    Fields,
    elastic_fields,
    is_words,
    mapping,
    mode_fields,
    picked,
    processes_field,
    run_policy_fields,
    schedule_fields,
    with_roles,
)
from podplan.kinds.common.decompile_run import nothing
from podplan.kinds.common.decompile_template import template_fields
from podplan.kinds.t9k.deepspeed_job.compile import PREFERRED

_BLOCK = ("customCommand", "localRank", "autotune", "otherArgs")


def decompile(spec: Fields) -> Fields:
    """The fields of the shortest profile that comes near to ``spec``."""
    worker, config = mapping(spec.get("worker")), mapping(spec.get("config"))
    role = {
        "name": "worker",
        **picked(worker, {"replicas": "replicas", "restartPolicy": "restart"}),
        **template_fields(worker.get("template"), "worker", nothing, PREFERRED),
    }
    mode = mode_fields(spec, [role])
    block = {
        **picked(config, dict(zip(_BLOCK, _BLOCK, strict=True))),
        **picked(spec, {"disableCustomEnv": "disableCustomEnv"}),
    }
    return {
        **with_roles([role]),
        **_run(mapping(config.get("run"))),
        **processes_field(config.get("slotsPerWorker"), [role]),
        **elastic_fields(spec),
        **schedule_fields(spec),
        **run_policy_fields(spec),
        **mode,
        **({"deepspeed": block} if block else {}),
    }


def _run(said: Fields) -> Fields:
    if len(said) != 1:
        return {}
    [(form, words)] = said.items()
    if form not in ("python", "module", "exec") or not is_words(words):
        return {}
    return {"run": words if form == "python" else {form: words}}
