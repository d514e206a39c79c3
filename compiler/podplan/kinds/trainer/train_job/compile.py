"""A profile as a TrainJob: what trains in ``trainer``, the rest of the Pods as a patch of the runtime."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, attribute_to
from podplan.core.typing import Any
from podplan.kinds.batch.torchrun import LAUNCHERS
from podplan.kinds.common.behaviors import RUNTIME_PATCH
from podplan.kinds.common.env import build_env
from podplan.kinds.common.hardware import NodeRequest, resolve_node_request, resolve_process_count
from podplan.kinds.common.lifecycle import (
    build_deadline,
    build_suspend,
    reject_start_modes,
)
from podplan.kinds.common.merge import drop_absent, drop_nulls
from podplan.kinds.common.profile import ProfileRole, reject_roles, require_choice
from podplan.kinds.common.run import RUN_FORMS, build_command, build_torchrun_command, parse_run
from podplan.kinds.common.template import build_pod_template
from podplan.kinds.trainer.job_set_template import NODE

MANAGER = "podplan.dev/profile"
_PATCHED_FIELDS = frozenset(("data", "shm", "container", "pod", "hardware", "resources", "schedule"))
# What a patch of a runtime may change in a Pod and in a container; the rest is the runtime's.
POD_FIELDS = frozenset(
    (
        "serviceAccountName",
        "nodeSelector",
        "affinity",
        "tolerations",
        "volumes",
        "initContainers",
        "containers",
        "schedulingGates",
        "imagePullSecrets",
        "terminationGracePeriodSeconds",
        "securityContext",
    )
)
CONTAINER_FIELDS = frozenset(("volumeMounts", "securityContext"))
# Fields of a container that are fields of a profile and of ``trainer``.
_PROFILE_FIELDS = {
    "image": "image",
    "command": "run",
    "args": "run",
    "env": "env",
    "resources": "resources",
}


def compile(profile: Cursor, inventory: Cursor) -> tuple[Any, list[Diagnostic]]:
    """Return the spec of a TrainJob as a traced tree, and the diagnostics of the profile."""
    spec = profile.get("spec")
    diagnostics = [
        *reject_start_modes(spec),
        *reject_roles(spec, "its runtime has the other Pods"),
        *_iter_fields_of_runtime(spec),
    ]
    absent_entry = spec.get("roles", len(spec.get("roles").entries()))
    role = ProfileRole(NODE, absent_entry, spec)
    request = resolve_node_request(role, inventory, diagnostics)
    tree = {
        "runtimeRef": _build_runtime_ref(spec.get("runtime")),
        "trainer": _build_trainer(role, request, diagnostics),
        "runtimePatches": _build_patches(role, request, diagnostics),
        "activeDeadlineSeconds": build_deadline(spec),
        "suspend": build_suspend(spec.get("mode")),
    }
    return attribute_to(spec, drop_absent(tree)), diagnostics


def _build_runtime_ref(runtime: Cursor) -> Any:
    if isinstance(runtime.value, dict):
        return drop_nulls(runtime)
    return attribute_to(runtime, {"name": runtime}) if runtime.exists else None


def _build_trainer(role: ProfileRole, request: NodeRequest, diagnostics: list[Diagnostic]) -> Any:
    spec = role.spec
    run = parse_run(spec.get("run"), RUN_FORMS, str(spec.get("job").value), diagnostics)
    launcher = require_choice(spec.get("launcher"), LAUNCHERS, spec, diagnostics)
    with_torchrun = launcher is not None and launcher.value == "torchrun"
    command = build_torchrun_command(spec, run) if with_torchrun else build_command(run)
    processes = spec.get("processes")
    tree = {
        "image": spec.get("image"),
        **command,
        "numNodes": spec.get("replicas"),
        "numProcPerNode": resolve_process_count(processes, [(role, request)], diagnostics)
        if processes.exists
        else spec.get("torchrun", "procPerNode"),
        "env": build_env(role),
        "resourcesPerNode": request.resources,
    }
    fields = drop_absent(tree)
    return attribute_to(spec, fields) if fields else None  # even an empty one makes the runtime set variables


def _build_patches(role: ProfileRole, request: NodeRequest, diagnostics: list[Diagnostic]) -> Any:
    """Return a patch of the job of the nodes with everything that ``trainer`` has no field for."""
    patched = role._replace(inherited_fields=_PATCHED_FIELDS)
    template = build_pod_template(patched, NODE, {}, request, diagnostics, with_resources=False)
    if template is None:
        return None
    spec = role.spec
    job = attribute_to((RUNTIME_PATCH, spec), {"name": NODE, "template": {"spec": {"template": template}}})
    patch = {
        "manager": MANAGER,
        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [job]}}},
    }
    return attribute_to((RUNTIME_PATCH, spec), [patch])


def _iter_fields_of_runtime(spec: Cursor) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each field that neither ``trainer`` nor a patch has."""
    pod = spec.get("pod", "spec")
    containers = [
        container for field in ("initContainers", "containers") for container in pod.get(field).entries()
    ]
    cursors = [
        *(spec.get(field) for field in ("workingDir", "ports") if spec.get(field).exists),
        *_list_others(spec.get("container"), CONTAINER_FIELDS),
        *_list_others(pod, POD_FIELDS),
        *(other for one in containers for other in _list_others(one, CONTAINER_FIELDS | {"name", "env"})),
    ]
    kind = spec.get("job").value
    for cursor in cursors:
        field = str(cursor.path[-1])
        of_profile = _PROFILE_FIELDS.get(field, "") if cursor.path[-2] == "container" else ""
        remedy = f"write the field {of_profile} of the profile" if of_profile else "write it into the runtime"
        message = f"a {kind} cannot patch {field} of its runtime; {remedy}"
        yield Diagnostic("PROF020", message, cursor.path, on_key=True)


def _list_others(cursor: Cursor, fields: frozenset[str]) -> list[Cursor]:
    return [place for field, place in cursor.fields().items() if field not in fields]
