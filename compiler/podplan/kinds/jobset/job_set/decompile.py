"""The spec of a JobSet as fields of a profile."""

from __future__ import annotations

from podplan.core.typing import Any
from podplan.kinds.batch.decompile import decompile_job_fields, decompile_torchrun
from podplan.kinds.common.decompile import (
    Fields,
    as_list,
    as_mapping,
    build_role_fields,
    decompile_lifecycle,
    pick_renamed,
)


def decompile(spec: Fields) -> Fields:
    """Return the fields of the shortest profile that compiles to about ``spec``."""
    entries = [as_mapping(entry) for entry in as_list(spec.get("replicatedJobs"))]
    deadline = _find_deadline(entries)
    roles = [_decompile_replicated_job(entry, bool(deadline)) for entry in entries]
    launch = decompile_torchrun(roles)
    return {
        **build_role_fields(roles),
        **launch,
        **pick_renamed(spec.get("failurePolicy"), {"maxRestarts": "retries"}),
        **deadline,
        **decompile_lifecycle({"suspend": spec.get("suspend")}),
    }


def _find_deadline(entries: list[Fields]) -> Fields:
    """Return ``deadline`` if all replicated jobs have the same."""
    seconds: list[Any] = [_job_spec_of(entry).get("activeDeadlineSeconds") for entry in entries]
    is_shared = bool(seconds) and all(type(value) is int and value == seconds[0] for value in seconds)
    return decompile_lifecycle({"activeDeadlineSeconds": seconds[0]}) if is_shared else {}


def _decompile_replicated_job(entry: Fields, has_deadline: bool) -> Fields:
    name, job = entry.get("name"), dict(_job_spec_of(entry))
    role = {"name": name, **decompile_job_fields(job, str(name))}
    if has_deadline:
        del job["activeDeadlineSeconds"]
    template = {key: value for key, value in as_mapping(entry.get("template")).items() if key != "spec"}
    if job:
        template["spec"] = job
    rest = {key: value for key, value in entry.items() if key not in ("name", "template")}
    if template:
        rest["template"] = template
    return {**role, "replicatedJob": rest} if rest else role


def _job_spec_of(entry: Fields) -> Fields:
    return as_mapping(as_mapping(entry.get("template")).get("spec"))
