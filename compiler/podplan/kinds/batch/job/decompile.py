"""The spec of a Job as fields of a profile."""

from __future__ import annotations

from podplan.kinds.batch.decompile import decompile_job_fields, decompile_torchrun
from podplan.kinds.batch.job.compile import ROLE
from podplan.kinds.common.decompile import Fields, decompile_lifecycle, pick_renamed


def decompile(spec: Fields) -> Fields:
    """Return the fields of the shortest profile that compiles to about ``spec``."""
    job = dict(spec)
    role = decompile_job_fields(job, ROLE)
    if spec.get("completionMode") != "Indexed":
        role.pop("replicas", None)  # without an index, an override states both counts
    if role.get("restart") == "Never":
        del role["restart"]
    launch = decompile_torchrun([role])
    return {**role, **launch, **pick_renamed(spec, {"backoffLimit": "retries"}), **decompile_lifecycle(spec)}
