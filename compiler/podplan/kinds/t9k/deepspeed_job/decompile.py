"""The spec of a DeepSpeedJob as fields of a profile."""

from __future__ import annotations

from podplan.kinds.common.decompile import (
    Fields,
    as_mapping,
    build_role_fields,
    decompile_processes,
    is_string_list,
    pick_renamed,
)
from podplan.kinds.common.decompile_run import decompile_nothing
from podplan.kinds.common.decompile_template import decompile_pod_template
from podplan.kinds.t9k.decompile import (
    decompile_elastic,
    decompile_run_mode,
    decompile_run_policy,
    decompile_schedule,
)
from podplan.kinds.t9k.deepspeed_job.compile import PREFERRED_CONTAINER

_SECTION_FIELDS = ("customCommand", "localRank", "autotune", "otherArgs")


def decompile(spec: Fields) -> Fields:
    """Return the fields of the shortest profile that compiles to about ``spec``."""
    worker, config = as_mapping(spec.get("worker")), as_mapping(spec.get("config"))
    role = {
        "name": "worker",
        **pick_renamed(worker, {"replicas": "replicas", "restartPolicy": "restart"}),
        **decompile_pod_template(worker.get("template"), "worker", decompile_nothing, PREFERRED_CONTAINER),
    }
    mode_fields = decompile_run_mode(spec, [role])
    deepspeed_section = {
        **pick_renamed(config, dict(zip(_SECTION_FIELDS, _SECTION_FIELDS, strict=True))),
        **pick_renamed(spec, {"disableCustomEnv": "disableCustomEnv"}),
    }
    return {
        **build_role_fields([role]),
        **_decompile_run(as_mapping(config.get("run"))),
        **decompile_processes(config.get("slotsPerWorker"), [role]),
        **decompile_elastic(spec),
        **decompile_schedule(spec),
        **decompile_run_policy(spec),
        **mode_fields,
        **({"deepspeed": deepspeed_section} if deepspeed_section else {}),
    }


def _decompile_run(run_fields: Fields) -> Fields:
    if len(run_fields) != 1:
        return {}
    [(form, words)] = run_fields.items()
    if form not in ("python", "module", "exec") or not is_string_list(words):
        return {}
    return {"run": words if form == "python" else {form: words}}
