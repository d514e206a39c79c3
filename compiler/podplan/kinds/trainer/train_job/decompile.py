"""The spec of a TrainJob as fields of a profile."""

from __future__ import annotations

from podplan.core.typing import Any
from podplan.kinds.common.decompile import (
    Fields,
    as_list,
    as_mapping,
    decompile_lifecycle,
    decompile_processes,
    pick_renamed,
)
from podplan.kinds.common.decompile_run import (
    decompile_command,
    decompile_nothing,
    remove_torchrun,
    runs_torchrun,
)
from podplan.kinds.common.decompile_template import decompile_pod_template
from podplan.kinds.trainer.job_set_template import NODE
from podplan.kinds.trainer.train_job.compile import MANAGER

_CONTAINER_FIELDS = {"image": "image", "command": "command", "args": "args", "env": "env"}
_PROCESS_WORDS = ("auto", "cpu", "gpu")


def decompile(spec: Fields) -> Fields:
    """Return the fields of the shortest profile that compiles to about ``spec``."""
    trainer = as_mapping(spec.get("trainer"))
    container = pick_renamed(trainer, {**_CONTAINER_FIELDS, "resourcesPerNode": "resources"})
    template = {"spec": {"containers": [{"name": NODE, **container}]}}
    fields = decompile_pod_template(template, NODE, decompile_command)
    fields.pop("container", None)  # what no field says is left to an override
    launch: Fields = {}
    if runs_torchrun(fields):
        remove_torchrun(fields)
        launch["launcher"] = "torchrun"
    return {
        **_decompile_runtime(spec.get("runtimeRef")),
        **_decompile_patch(_find_patch(spec)),
        **fields,
        **launch,
        **pick_renamed(trainer, {"numNodes": "replicas"}),
        **_decompile_processes(trainer.get("numProcPerNode"), fields),
        **decompile_lifecycle(spec),
    }


def _decompile_runtime(reference: Any) -> Fields:
    if not isinstance(reference, dict):
        return {}
    return {"runtime": reference["name"] if set(reference) == {"name"} else reference}


def _decompile_processes(value: Any, fields: Fields) -> Fields:
    if isinstance(value, str) and value in _PROCESS_WORDS:
        return {"torchrun": {"procPerNode": value}}
    return decompile_processes(value, [fields])


def _find_patch(spec: Fields) -> Any:
    """Return the template in the patch that compiling writes, if there is no other."""
    patches = as_list(spec.get("runtimePatches"))
    if len(patches) != 1 or as_mapping(patches[0]).get("manager") != MANAGER:
        return None
    value: Any = as_mapping(patches[0]).get("trainingRuntimeSpec")
    for key in ("template", "spec", "replicatedJobs"):
        value = as_mapping(value).get(key)
    job = as_mapping(value[0]) if isinstance(value, list) and len(value) == 1 else {}
    if job.get("name") != NODE:
        return None
    return as_mapping(as_mapping(job.get("template")).get("spec")).get("template")


def _decompile_patch(template: Any) -> Fields:
    containers = as_list(as_mapping(as_mapping(template).get("spec")).get("containers"))
    if not isinstance(template, dict):
        return {}
    if not containers or as_mapping(containers[0]).get("name") != NODE:
        return {"pod": template}
    return decompile_pod_template(template, NODE, decompile_nothing)
