"""What the API server, the webhook of Trainer and its controller refuse, beside what a schema can state.

Source: docs/evidence/trainer.md#refusals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from podplan.core.findings import Diagnostic, Path, value_at
from podplan.core.provenance import Cursor
from podplan.core.replica_groups import LoweringOptions
from podplan.core.typing import Any
from podplan.kinds.batch.validation import is_manager
from podplan.kinds.jobset.validation import validate_job_set_spec
from podplan.kinds.spec import References
from podplan.kinds.trainer.flux import INSTALLER
from podplan.kinds.trainer.job import TrainJob, build_train_job
from podplan.kinds.trainer.job_set_template import (
    ANCESTOR_LABEL,
    LAUNCHER,
    NODE,
    TRAINER_STEP,
    TemplateJob,
    parse_jobs,
)
from podplan.kinds.trainer.lower import INITIALIZERS, count_nodes
from podplan.kinds.trainer.torchtune import is_torchtune, validate_torchtune
from podplan.kinds.trainer.versions import DEFAULT_VERSION, VERSIONS, Version
from podplan.kubernetes import names
from podplan.kubernetes.accessors import get_entries, list_mappings

Spec = Mapping[str, Any]

_API_SERVER = "the API server refuses it"
WEBHOOK = "the webhook of Trainer refuses it"
_CONTROLLER = "the controller of Trainer fails without end"
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://.+", re.ASCII)
_OWN_CONTAINERS = (NODE, *INITIALIZERS.values())
_ANCESTOR_CONTAINERS = {TRAINER_STEP: NODE, **{name: name for name in INITIALIZERS.values()}}
_POLICIES = ("torch", "mpi", "jax", "xgboost", "flux")
_RESERVED = {
    "torch": ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"),
    "mpi": (
        "OMPI_MCA_orte_default_hostfile",
        "OMPI_MCA_plm_rsh_args",
        "OMPI_MCA_orte_keep_fqdn_hostnames",
        "OMPI_MCA_orte_set_default_slots",
    ),
    "xgboost": ("DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER"),
}
_MPI = "OpenMPI"
# Fields of a container, and where a TrainJob states them for the container node.
_TRAINER_FIELDS = {
    "image": "image",
    "command": "command",
    "args": "args",
    "resources": "resourcesPerNode",
}
_PROCESS_WORDS = ("auto", "cpu", "gpu")
_GROUP, _RUNTIME_KINDS = "trainer.kubeflow.org", ("TrainingRuntime", "ClusterTrainingRuntime")


def validate_train_job(version: str, cr: Mapping[str, Any]) -> list[Diagnostic]:
    """The problems of a TrainJob by itself."""
    diagnostics: list[Diagnostic] = []
    name, spec = value_at(cr, ("metadata", "name")), cr.get("spec")
    if isinstance(name, str) and not names.matches_form("dns-1035-label", name):
        reason = names.explain_mismatch("dns-1035-label", name)
        diagnostics.append(Diagnostic("SCHEMA006", f"name {reason}; {_API_SERVER}", ("metadata", "name")))
    if not isinstance(spec, dict):
        return diagnostics
    diagnostics += _validate_runtime_ref(spec)
    diagnostics += _iter_repeated(value_at(spec, ("trainer", "env")), "name", ("spec", "trainer", "env"))
    for field in INITIALIZERS:
        path: Path = ("spec", "initializer", field)
        diagnostics += _iter_repeated(value_at(spec, (*path[1:], "env")), "name", (*path, "env"))
        uri = value_at(spec, (*path[1:], "storageUri"))
        has_form = VERSIONS[version or DEFAULT_VERSION].adds_patched_jobs
        if has_form and isinstance(uri, str) and uri and not _URI.fullmatch(uri):
            message = f"storageUri must be a URI, such as hf://NAME; {_API_SERVER}"
            diagnostics.append(Diagnostic("SCHEMA006", message, (*path, "storageUri")))
    patches = spec.get("runtimePatches")
    diagnostics += _iter_repeated(patches, "manager", ("spec", "runtimePatches"))
    for index, patch in list_mappings(patches):
        diagnostics += _validate_patch(patch, ("spec", "runtimePatches", index))
    for index, override in get_entries(spec, "podTemplateOverrides"):
        path = ("spec", "podTemplateOverrides", index, "spec")
        diagnostics += _validate_containers(override.get("spec"), path)
    return diagnostics


def explain_dropped_field(path: Path) -> str:
    """What to write instead of a field of a container that only the trainer or the runtime states."""
    field = _TRAINER_FIELDS.get(str(path[-1])) if path else None
    if field is None or path[1:2] not in (("runtimePatches",), ("podTemplateOverrides",)):
        return ""
    return f"write spec.trainer.{field} for the container {NODE}; of other containers only the runtime has it"


def _validate_runtime_ref(spec: Spec) -> Iterator[Diagnostic]:
    for field, allowed in (("apiGroup", (_GROUP,)), ("kind", _RUNTIME_KINDS)):
        value = value_at(spec, ("runtimeRef", field))
        if isinstance(value, str) and value and value not in allowed:
            message = f'{field} of runtimeRef must be {" or ".join(allowed)}, not "{value}"; {WEBHOOK}'
            yield Diagnostic("SCHEMA004", message, ("spec", "runtimeRef", field))


def _iter_repeated(entries: Any, key: str, path: Path) -> Iterator[Diagnostic]:
    first: dict[str, Path] = {}
    for index, entry in list_mappings(entries):
        name = entry.get(key)
        if not isinstance(name, str):
            continue
        if name in first:
            message = f'{path[-1]} has "{name}" twice; {_API_SERVER}'
            related = ((first[name], "the first"),)
            yield Diagnostic("SCHEMA007", message, (*path, index, key), related=related)
        first.setdefault(name, (*path, index, key))


def _validate_patch(patch: Spec, path: Path) -> Iterator[Diagnostic]:
    manager = patch.get("manager")
    if isinstance(manager, str) and not is_manager(manager):
        message = f'manager "{manager}" must be a domain, a slash and a path; {WEBHOOK}'
        yield Diagnostic("SCHEMA006", message, (*path, "manager"))
    jobs_path: Path = ("trainingRuntimeSpec", "template", "spec", "replicatedJobs")
    jobs = value_at(patch, jobs_path)
    yield from _iter_repeated(jobs, "name", (*path, *jobs_path))
    for index, job in list_mappings(jobs):
        pod_path: Path = ("template", "spec", "template", "spec")
        yield from _validate_containers(value_at(job, pod_path), (*path, *jobs_path, index, *pod_path))


def _validate_containers(pod: Any, path: Path) -> Iterator[Diagnostic]:
    """The problems of the containers in a patch of a Pod."""
    for field in ("initContainers", "containers"):
        for number, container in get_entries(pod, field):
            place: Path = (*path, field, number)
            yield from _iter_repeated(container.get("env"), "name", (*place, "env"))
            if container.get("env") and container.get("name") in _OWN_CONTAINERS:
                name = container["name"]
                where = "spec.trainer.env" if name == NODE else "spec.initializer"
                message = f"a patch cannot set variables of the container {name}; {WEBHOOK}"
                yield Diagnostic("SCHEMA009", message, (*place, "env"), help=f"write them in {where}")


def validate_runtime(_dialect: str, cr: Mapping[str, Any]) -> list[Diagnostic]:
    """The problems of a runtime."""
    spec = cr.get("spec")
    if not isinstance(spec, dict):
        return []
    diagnostics: list[Diagnostic] = []
    policy = spec.get("mlPolicy")
    stated = [field for field in _POLICIES if value_at(policy, (field,)) is not None]
    if len(stated) > 1:
        message = f"{stated[0]} and {stated[1]} exclude each other; {_API_SERVER}"
        diagnostics.append(Diagnostic("SCHEMA009", message, ("spec", "mlPolicy", stated[1]), on_key=True))
    for index, target in list_mappings(value_at(policy, ("torch", "envInjection", "targets"))):
        containers = target.get("containerNames")
        if isinstance(containers, list) and NODE in containers:
            message = f"the container {NODE} has the variables anyway; {_API_SERVER}"
            path: Path = ("spec", "mlPolicy", "torch", "envInjection", "targets", index, "containerNames")
            diagnostics.append(Diagnostic("SCHEMA009", message, (*path, containers.index(NODE))))
    template = value_at(spec, ("template", "spec"))
    path = ("spec", "template", "spec")
    if isinstance(template, dict):
        diagnostics += validate_job_set_spec(template, path)
        for index, job in get_entries(template, "replicatedJobs"):
            diagnostics += _validate_runtime_job(job, (*path, "replicatedJobs", index))
    return diagnostics


def _validate_runtime_job(job: Spec, path: Path) -> Iterator[Diagnostic]:
    ancestor = value_at(job, ("template", "metadata", "labels", ANCESTOR_LABEL))
    container = _ANCESTOR_CONTAINERS.get(ancestor) if isinstance(ancestor, str) else None
    if container is None:
        return
    if job.get("replicas", 1) != 1:
        message = f"a job for the step {ancestor} must have 1 replica; {WEBHOOK}"
        yield Diagnostic("SCHEMA005", message, (*path, "replicas"), help="write replicas: 1")
    containers_path: Path = ("template", "spec", "template", "spec", "containers")
    containers = [one.get("name") for _, one in list_mappings(value_at(job, containers_path))]
    if container not in containers:
        message = f'a job for the step {ancestor} needs a container called "{container}"; {WEBHOOK}'
        yield Diagnostic("SCHEMA004", message, (*path, *containers_path), on_key=True)


def validate_references(cr: Cursor, references: References, options: LoweringOptions) -> Iterator[Diagnostic]:
    """The problems of a TrainJob with its runtime, each with the place in the runtime."""
    version = VERSIONS[options._replace(group=_GROUP).find_operator_version(DEFAULT_VERSION)]
    runtime = references[("spec", "runtimeRef", "name")]
    policy = runtime.get("spec", "mlPolicy")
    if policy.get("flux").exists and "flux" in version.policies:
        yield from _validate_flux(cr, runtime, version)
    for field, reserved in _RESERVED.items():
        if policy.get(field).exists and _reserves_variables(cr, field, version):
            for variable in cr.get("spec", "trainer", "env").entries():
                if variable.get("name").value in reserved:
                    message = f"{variable.get('name').value} is set by a runtime for {field}; {WEBHOOK}"
                    place = (policy.get(field).document_path, "the policy of the runtime")
                    yield Diagnostic(
                        "SCHEMA009",
                        message,
                        (*variable.path, "name"),
                        help="remove it",
                        related_places=(place,),
                    )
    yield from _validate_initializers(cr, runtime, version)
    yield from _validate_mpi(cr, runtime)
    train_job = build_train_job(cr, runtime, options._replace(group=_GROUP))
    jobs = count_nodes(train_job, parse_jobs(train_job.template))
    yield from _validate_torchtune(train_job, jobs)
    if not version.has_patches:
        yield from _validate_overrides(cr, runtime)
    if version.has_process_words:
        yield from _validate_process_words(cr, policy)


def _validate_torchtune(train_job: TrainJob, jobs: list[TemplateJob]) -> Iterator[Diagnostic]:
    is_unchecked = train_job.version.has_process_words and not train_job.trainer.get("numProcPerNode").exists
    if train_job.policy.get("torch").exists and is_torchtune(train_job) and not is_unchecked:
        for job in jobs:
            if job.ancestor == TRAINER_STEP:
                yield from validate_torchtune(train_job, job)


def _reserves_variables(cr: Cursor, policy: str, version: Version) -> bool:
    """Whether the webhook refuses the variables of a policy."""
    if policy not in version.policies:
        return False
    if version.has_process_words:
        return policy == "torch" and cr.get("spec", "trainer", "numProcPerNode").exists
    return policy != "mpi" or version.has_key_modes


def _validate_process_words(cr: Cursor, policy: Cursor) -> Iterator[Diagnostic]:
    processes = cr.get("spec", "trainer", "numProcPerNode")
    if not isinstance(processes.value, str):
        return
    for field, words in (("torch", _PROCESS_WORDS), ("mpi", ())):
        if policy.get(field).exists and processes.value not in words:
            allowed = f"a number or {', '.join(words)}" if words else "a number"
            message = f'numProcPerNode "{processes.value}" must be {allowed} for this runtime; {WEBHOOK}'
            place = (policy.get(field).document_path, "the policy of the runtime")
            yield Diagnostic("SCHEMA004", message, processes.path, related_places=(place,))


def _validate_overrides(cr: Cursor, runtime: Cursor) -> Iterator[Diagnostic]:
    jobs = runtime.get("spec", "template", "spec", "replicatedJobs")
    for override in cr.get("spec", "podTemplateOverrides").entries():
        for target in override.get("targetJobs").entries():
            if _find_job(runtime, target.get("name").value) is None:
                message = f'the runtime has no job "{target.get("name").value}"; {WEBHOOK}'
                place = (jobs.document_path, "the jobs of the runtime")
                path = (*target.path, "name")
                yield Diagnostic("SCHEMA009", message, path, related_places=(place,))


def _find_job(runtime: Cursor, name: str) -> Cursor | None:
    jobs = runtime.get("spec", "template", "spec", "replicatedJobs").entries()
    return next((one for one in jobs if one.get("name").value == name), None)


def _validate_initializers(cr: Cursor, runtime: Cursor, version: Version) -> Iterator[Diagnostic]:
    jobs = runtime.get("spec", "template", "spec", "replicatedJobs")
    for field, name in INITIALIZERS.items():
        written = cr.get("spec", "initializer", field)
        if not written.exists:
            continue
        job = _find_job(runtime, name)
        place = ((jobs if job is None else job).document_path, "the runtime")
        if job is None:
            message = f"the runtime has no job {name}, which initializer.{field} needs; {WEBHOOK}"
            yield Diagnostic("SCHEMA009", message, written.path, on_key=True, related_places=(place,))
            continue
        if not version.needs_initializer_volume:
            continue
        containers = job.get("template", "spec", "template", "spec", "containers").entries()
        container = next((one for one in containers if one.get("name").value == name), None)
        mounts = container.get("volumeMounts").entries() if container is not None else []
        if not any(one.get("name").value == "initializer" for one in mounts):
            message = (
                f"the container {name} of the runtime mounts no volume called initializer, which "
                f"initializer.{field} needs; {WEBHOOK}"
            )
            yield Diagnostic("SCHEMA009", message, written.path, on_key=True, related_places=(place,))


def _validate_flux(cr: Cursor, runtime: Cursor, version: Version) -> Iterator[Diagnostic]:
    """The problems of a TrainJob with a runtime for Flux; the controller reads numNodes without a check."""
    policy = runtime.get("spec", "mlPolicy", "flux")
    place = (policy.document_path, "the policy of the runtime")
    trainer = cr.get("spec", "trainer")
    if not trainer.get("numNodes").exists:
        message = f"numNodes is missing, which a runtime for flux needs in the job; {_CONTROLLER}"
        path: Path = ("spec", "trainer") if trainer.exists else ("spec",)
        yield Diagnostic("SCHEMA003", message, path, on_key=True, related_places=(place,))
    processes = trainer.get("numProcPerNode")
    if version.shares_memory_of_flux and isinstance(processes.value, int) and processes.value < 1:
        message = f"numProcPerNode must be at least 1 for a runtime for flux; {WEBHOOK}"
        yield Diagnostic("SCHEMA005", message, processes.path, related_places=(place,))
    job = _find_job(runtime, NODE)
    containers = (
        [] if job is None else job.get("template", "spec", "template", "spec", "initContainers").entries()
    )
    for container in containers:
        if container.get("name").value == INSTALLER:
            message = f"the runtime has an init container {INSTALLER}, which is reserved; {WEBHOOK}"
            place = (container.document_path, "the runtime")
            yield Diagnostic("SCHEMA009", message, ("spec", "runtimeRef", "name"), related_places=(place,))


def _validate_mpi(cr: Cursor, runtime: Cursor) -> Iterator[Diagnostic]:
    policy = runtime.get("spec", "mlPolicy", "mpi")
    if not policy.exists:
        return
    implementation = policy.get("mpiImplementation")
    if implementation.value_or(_MPI) != _MPI:
        message = (
            f'the runtime has mpiImplementation "{implementation.value}"; {_CONTROLLER}, only {_MPI} works'
        )
        place = (implementation.document_path, "the runtime")
        yield Diagnostic("SCHEMA004", message, ("spec", "runtimeRef", "name"), related_places=(place,))
    nodes = cr.get("spec", "trainer", "numNodes")
    as_node = policy.get("runLauncherAsNode").value is True
    missing = [name for name in (LAUNCHER, NODE) if _find_job(runtime, name) is None]
    if as_node and nodes.exists and nodes.value > 1 and missing:
        message = f"the runtime has no job {' and '.join(missing)}, so there can be only 1 node; {WEBHOOK}"
        place = (policy.document_path, "the runtime")
        yield Diagnostic("SCHEMA005", message, nodes.path, related_places=(place,))
