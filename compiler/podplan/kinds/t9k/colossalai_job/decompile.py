"""The spec of a ColossalAIJob, in either dialect, as fields of a profile."""

from __future__ import annotations

from podplan.kinds.common.decompile import (
    Fields,
    as_list,
    as_mapping,
    decompile_processes,
    is_string_list,
    pick_renamed,
)
from podplan.kinds.common.decompile_run import decompile_nothing
from podplan.kinds.common.decompile_template import decompile_pod_template
from podplan.kinds.t9k.decompile import (
    decompile_restart_policy,
    decompile_run_mode,
    decompile_schedule,
    decompile_worker_clean_up,
    share_worker_fields,
)
from podplan.kinds.t9k.launcher_profile import LAUNCHER_INHERITED_FIELDS


def decompile(spec: Fields) -> Fields:
    """Return the fields of the shortest profile that compiles to about ``spec``."""
    is_launcher_dialect = "launcher" in spec or "worker" in spec
    roles, run_words, process_count, extra_args, colossalai_section = (
        _decompile_launcher_dialect(spec) if is_launcher_dialect else _decompile_replica_specs_dialect(spec)
    )
    mode_fields = decompile_run_mode(spec, roles)
    colossalai_section |= {
        **({"extraArgs": extra_args} if extra_args is not None else {}),
        **pick_renamed(spec, {"ssh": "ssh"}),
    }
    workers = [role for role in roles if role["name"] == "worker"]
    return {
        **share_worker_fields(
            roles, LAUNCHER_INHERITED_FIELDS - {"pod"} if is_launcher_dialect else LAUNCHER_INHERITED_FIELDS
        ),
        **({"run": run_words} if is_string_list(run_words) else {}),
        **decompile_processes(process_count, workers),
        **decompile_schedule(spec),
        **decompile_worker_clean_up(spec),
        **mode_fields,
        **({"colossalai": colossalai_section} if colossalai_section else {}),
    }


_DialectParts = tuple[list[Fields], object, object, object, Fields]


def _decompile_replica_specs_dialect(spec: Fields) -> _DialectParts:
    config = as_mapping(spec.get("torchConfig"))
    roles = [_decompile_role(as_mapping(entry)) for entry in as_list(spec.get("replicaSpecs"))]
    return roles, config.get("script"), config.get("procPerWorker"), config.get("extraArgs"), {}


def _decompile_role(entry: Fields) -> Fields:
    name = str(entry.get("type", ""))
    return {
        "name": name,
        **pick_renamed(entry, {"replicas": "replicas"}),
        **decompile_restart_policy(entry),
        **decompile_pod_template(entry.get("template"), name, decompile_nothing, name),
    }


def _decompile_launcher_dialect(spec: Fields) -> _DialectParts:
    worker, roles = as_mapping(spec.get("worker")), []
    if "launcher" in spec:
        # The launcher has only four fields of a container.
        as_template = {"spec": {"containers": [{"name": "launcher", **as_mapping(spec["launcher"])}]}}
        launcher = {"name": "launcher", **decompile_pod_template(as_template, "launcher", decompile_nothing)}
        roles.append(launcher)
    if "worker" in spec:
        template = decompile_pod_template(worker.get("template"), "worker", decompile_nothing, "worker")
        roles.append({"name": "worker", **pick_renamed(worker, {"replicas": "replicas"}), **template})
    colossalai_section: Fields = {"dialect": "launcher"}
    return (
        roles,
        worker.get("command"),
        worker.get("procPerWorker"),
        worker.get("torchArgs"),
        colossalai_section,
    )
