"""The spec of an MPIJob, in any dialect, as fields of a profile."""

from __future__ import annotations

from podplan.kinds.common.decompile import (
    Fields,
    as_list,
    as_mapping,
    is_string_list,
    pick_renamed,
)
from podplan.kinds.common.decompile_run import decompile_command, decompile_nothing
from podplan.kinds.common.decompile_template import decompile_pod_template
from podplan.kinds.t9k.decompile import (
    decompile_restart_policy,
    decompile_run_mode,
    decompile_schedule,
    decompile_worker_clean_up,
    share_worker_fields,
)
from podplan.kinds.t9k.launcher_profile import LAUNCHER_INHERITED_FIELDS
from podplan.kinds.t9k.mpi_job.compile import OLDER_CONTAINER

_CONFIG_FIELDS = {"mca": "mca", "home": "home", "extraArgs": "extraArgs"}
_OLDER_CONFIG_FIELDS = {"mca": "mca", "mpiHome": "home"}


def decompile(spec: Fields) -> Fields:
    """Return the fields of the shortest profile that compiles to about ``spec``.

    What only the oldest dialect has stays out, for the override.
    """
    if "worker" in spec:
        worker = as_mapping(spec["worker"])
        template = decompile_pod_template(
            worker.get("template"), OLDER_CONTAINER, decompile_nothing, OLDER_CONTAINER
        )
        roles = [{"name": "worker", **pick_renamed(worker, {"replicas": "replicas"}), **template}]
        script: object = worker.get("cmd")
        section = {
            "dialect": "worker",
            **pick_renamed(spec, _OLDER_CONFIG_FIELDS),
            **pick_renamed(worker, {"extraMPIArgs": "extraArgs"}),
        }
    else:
        config = as_mapping(spec.get("mpiConfig"))
        roles = [_decompile_role(as_mapping(entry)) for entry in as_list(spec.get("replicaSpecs"))]
        script, section = config.get("script"), pick_renamed(config, _CONFIG_FIELDS)
    mode_fields = decompile_run_mode(spec, roles)
    section |= pick_renamed(spec, {"ssh": "ssh"})
    return {
        **share_worker_fields(roles, LAUNCHER_INHERITED_FIELDS),
        **(decompile_command({"command": script}) if is_string_list(script) else {}),
        **decompile_schedule(spec),
        **decompile_worker_clean_up(spec),
        **mode_fields,
        **({"mpi": section} if section else {}),
    }


def _decompile_role(entry: Fields) -> Fields:
    name = str(entry.get("type", ""))
    return {
        "name": name,
        **pick_renamed(entry, {"replicas": "replicas"}),
        **decompile_restart_policy(entry),
        **decompile_pod_template(entry.get("template"), name, decompile_nothing, name),
    }
