"""The spec of a BeamJob as fields of a profile."""

from __future__ import annotations

from podplan.kinds.batch.decompile import decompile_job_fields
from podplan.kinds.common.decompile import (
    Fields,
    as_mapping,
    decompile_lifecycle,
    order_profile_fields,
    pick_renamed,
)
from podplan.kinds.t9k.beam_job.compile import BATCH_JOB, CONTAINER, MANAGERS
from podplan.kinds.t9k.decompile import decompile_schedule, decompile_worker_clean_up

_MANAGER_FIELDS = ("replicas", "resources")


def decompile(spec: Fields) -> Fields:
    """Return the fields of the shortest profile that compiles to about ``spec``."""
    flink = dict(as_mapping(as_mapping(spec.get("flinkClusterTemplate")).get("spec")))
    managers = {name: _take_manager(flink, field) for name, field in MANAGERS.items()}
    job = dict(as_mapping(as_mapping(spec.get("jobTemplate")).get("spec")))
    job_fields = decompile_job_fields(job, CONTAINER)
    if job_fields.get("restart") == "Never":
        del job_fields["restart"]
    batch_job = {field: job_fields.pop(field) for field in _MANAGER_FIELDS if field in job_fields}
    roles = [
        order_profile_fields({"name": name, **fields}, ("name",))
        for name, fields in (("jobmanager", managers["jobmanager"]), (BATCH_JOB, batch_job))
        if fields
    ]
    return {
        **job_fields,
        **managers["taskmanager"],
        **({"flink": flink} if flink else {}),
        **decompile_schedule(spec),
        **pick_renamed(job, {"backoffLimit": "retries"}),
        **pick_renamed(decompile_lifecycle(job), {"deadline": "deadline"}),
        **decompile_worker_clean_up(spec, "cleanUpCluster"),
        **({"roles": roles} if roles else {}),
    }


def _take_manager(flink: Fields, field: str) -> Fields:
    """Return the fields of a role for a section of a FlinkCluster; ``flink`` keeps the others."""
    section = dict(as_mapping(flink.get(field)))
    fields = {name: section.pop(name) for name in _MANAGER_FIELDS if name in section}
    if section:
        flink[field] = section
    elif fields:
        del flink[field]
    return fields
