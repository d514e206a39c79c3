"""Compiles a profile to an MPIJob, in one of the two newer dialects of its API."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, Traced, attribute_to, compute_traced
from podplan.core.typing import Any
from podplan.kinds.common.hardware import NodeRequest, resolve_node_request, resolve_process_count
from podplan.kinds.common.merge import drop_absent
from podplan.kinds.common.profile import (
    ProfileRole,
    format_scalar,
    prepend_words,
    require_choice,
    stringify_list,
    stringify_scalar,
)
from podplan.kinds.common.run import RunCommand, build_python_words, parse_run
from podplan.kinds.common.template import build_pod_template
from podplan.kinds.t9k.launcher_profile import build_replica_spec, parse_launcher_and_workers, reject_restarts
from podplan.kinds.t9k.mpi_job import behaviors as kind_behaviors
from podplan.kinds.t9k.run_policy import (
    build_run_mode,
    build_scheduler,
    build_worker_clean_up,
    copy_if_written,
)

CONTAINER = str(kind_behaviors.MPI_TRAINING_CONTAINER.value)
OLDER_CONTAINER = str(kind_behaviors.MPI_OLDER_TRAINING_CONTAINER.value)
RUN_FORMS = ("python", "module", "exec")


def compile(profile: Cursor, inventory: Cursor) -> tuple[Any, list[Diagnostic]]:
    """Return the spec of an MPIJob as a traced tree, and the diagnostics of the profile."""
    spec = profile.get("spec")
    diagnostics: list[Diagnostic] = []
    require_choice(spec.get("launcher"), ("mpirun",), spec, diagnostics)
    section = spec.get("mpi")
    is_worker_dialect = section.get("dialect").value == "worker"
    names = ("worker",) if is_worker_dialect else ("launcher", "worker")
    roles = parse_launcher_and_workers(spec, names, diagnostics)
    requests = [(role, resolve_node_request(role, inventory, diagnostics)) for role in roles]
    worker_requests = [(role, request) for role, request in requests if role.name == "worker"]
    processes = resolve_process_count(spec.get("processes"), worker_requests, diagnostics)
    run_command = parse_run(worker_requests[0][0].get_field("run"), RUN_FORMS, "MPIJob", diagnostics)
    extra_args, script = _build_extra_args(spec, processes), _build_script(run_command)
    common = {
        "scheduler": build_scheduler(spec),
        "runPolicy": build_worker_clean_up(spec, diagnostics),
        "runMode": build_run_mode(spec, roles),
        "ssh": copy_if_written(section.get("ssh")),
    }
    mca, home = copy_if_written(section.get("mca")), copy_if_written(section.get("home"))
    if is_worker_dialect:
        worker = _build_worker(*worker_requests[0], extra_args, script, diagnostics)
        return attribute_to(
            spec, drop_absent({**common, "mca": mca, "mpiHome": home, "worker": worker})
        ), diagnostics
    config = drop_absent({"mca": mca, "home": home, "extraArgs": extra_args, "script": script})
    specs = [build_replica_spec(role, request, diagnostics) for role, request in requests]
    written_specs = [entry for entry in specs if entry is not None]
    tree = {
        **common,
        "mpiConfig": attribute_to(spec, config) if config else None,
        "replicaSpecs": attribute_to(spec, written_specs) if written_specs else None,
    }
    return attribute_to(spec, drop_absent(tree)), diagnostics


def _build_script(run_command: RunCommand) -> Any:
    """Return the program of mpirun, with python for a script or a module."""
    if not run_command.form:
        return None
    if run_command.form == "exec":
        return stringify_list(run_command.words)
    return prepend_words(build_python_words(run_command), run_command.words)


def _build_extra_args(spec: Cursor, processes: Any) -> Any:
    """Return the options of mpirun: ``processes`` as -N, then those of the profile."""
    options, processes_field = spec.get("mpi", "extraArgs"), spec.get("processes")
    if processes is None or (isinstance(processes, Cursor) and not processes.exists):
        return stringify_list(options) if options.exists else None
    count = (
        processes._replace(value=format_scalar(processes.value))
        if isinstance(processes, Traced)
        else compute_traced(format_scalar, processes)
    )
    flag = attribute_to((kind_behaviors.MPI_PROFILE_PROCESSES, processes_field), "-N")
    return attribute_to(
        processes_field, [flag, count, *(stringify_scalar(option) for option in options.entries())]
    )


def _build_worker(
    role: ProfileRole, node_request: NodeRequest, extra_args: Any, script: Any, diagnostics: list[Diagnostic]
) -> Any:
    """Build the section of the middle dialect, in which replicas have no restart policy."""
    reject_restarts([role.spec, role.entry], "mpi.dialect", diagnostics)
    tree = drop_absent({
        "replicas": role.get_field("replicas"),
        "extraMPIArgs": extra_args,
        "cmd": script,
        "template": build_pod_template(
            role, OLDER_CONTAINER, {}, node_request, diagnostics, OLDER_CONTAINER
        ),
    })  # fmt: skip
    return attribute_to(role.origin_cursor, tree) if tree else None
