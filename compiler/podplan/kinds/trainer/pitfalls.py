"""What Trainer accepts and what then trains otherwise than the TrainJob seems to say.

Source: docs/evidence/trainer.md#pitfalls.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Diagnostic, Path
from podplan.core.provenance import Cursor
from podplan.kinds.trainer.job import TrainJob
from podplan.kinds.trainer.job_set_template import (
    LAUNCHER,
    NODE,
    TRAINER_STEP,
    Job,
    iter_amounts,
)

_RUNTIME: Path = ("spec", "runtimeRef", "name")
_SUPPORT_LABEL, _DEPRECATED = "trainer.kubeflow.org/support", "deprecated"
_PROCESS_STARTERS = ("torchrun", "torch.distributed", "accelerate", "deepspeed", "PET_", "tune")
_VARIABLES = {"torch": "PET_NNODES", "jax": "JAX_NUM_PROCESSES", "xgboost": "DMLC_NUM_WORKER"}


def iter_pitfalls(train_job: TrainJob, jobs: list[Job]) -> Iterator[Diagnostic]:
    """The pitfalls of a TrainJob; ``jobs`` have their numbers of nodes."""
    yield from _find_deprecated(train_job)
    trainer_job = next((one for one in jobs if one.ancestor == TRAINER_STEP), None)
    if trainer_job is None:
        return
    yield from _find_lone_nodes(train_job, trainer_job)
    yield from _find_lone_processes(train_job, trainer_job)
    yield from _find_unreachable_coordinator(train_job, trainer_job)
    yield from _find_uncounted_devices(train_job, trainer_job)
    if train_job.policy.get("mpi").exists:
        yield from _find_extra_nodes(train_job, jobs)


def _find_deprecated(train_job: TrainJob) -> Iterator[Diagnostic]:
    label = train_job.runtime.get("metadata", "labels", _SUPPORT_LABEL)
    if label.value == _DEPRECATED:
        message = "the runtime is deprecated: the next version of the platform may not have it"
        yield Diagnostic(
            "CR909", message, _RUNTIME, related_places=((label.document_path, "the label of the runtime"),)
        )


def _find_policy(train_job: TrainJob, *names: str) -> Cursor | None:
    known = [name for name in names if name in train_job.version.policies]
    policies = (train_job.policy.get(name) for name in known)
    return next((one for one in policies if one.exists), None)


def _find_lone_nodes(train_job: TrainJob, job: Job) -> Iterator[Diagnostic]:
    policy = _find_policy(train_job, *_VARIABLES)
    if policy is None or train_job.trainer.exists or job.nodes.value < 2:
        return
    variable = _VARIABLES[str(policy.path[-1])]
    message = (
        f"without spec.trainer, none of the {job.nodes.value} nodes gets {variable} and the other variables"
        " of the runtime, so they do not find each other"
    )
    place = (policy.document_path, "the policy of the runtime")
    yield Diagnostic(
        "CR904", message, _RUNTIME, help="write trainer: {}; that suffices", related_places=(place,)
    )


def _find_lone_processes(train_job: TrainJob, job: Job) -> Iterator[Diagnostic]:
    policy = _find_policy(train_job, "torch")
    if policy is None or not train_job.trainer.exists or job.nodes.value < 2:
        return
    place, words = _find_command(train_job, job)
    program = words[0].rpartition("/")[2] if words else ""
    if program.startswith("python") and not any(
        starter in word for word in words for starter in _PROCESS_STARTERS
    ):
        message = (
            f"{program} reads none of the variables PET_…, which are for torchrun: each of the"
            f" {job.nodes.value} nodes trains on its own"
        )
        yield Diagnostic(
            "CR905",
            message,
            place.path if place.doc is train_job.cr.doc else _RUNTIME,
            help="start the script with torchrun",
            related_places=((policy.document_path, "the policy of the runtime"),),
        )


def _find_command(train_job: TrainJob, job: Job) -> tuple[Cursor, list[str]]:
    """The command of the container node with its arguments, and where it is written."""
    container = next(
        (
            one
            for one in job.entry.get("template", "spec", "template", "spec", "containers").entries()
            if one.get("name").value == NODE
        ),
        job.entry,
    )
    fields = []
    for field in ("command", "args"):
        own = train_job.trainer.get(field)
        fields.append(own if own.value else container.get(field))
    words = [word for one in fields for word in one.value_or([]) if isinstance(word, str)]
    return fields[0], words


def _find_unreachable_coordinator(train_job: TrainJob, job: Job) -> Iterator[Diagnostic]:
    policy = _find_policy(train_job, *_VARIABLES)
    subdomain = train_job.template.get("spec", "network", "subdomain")
    is_own = bool(subdomain.value) and subdomain.value != train_job.name
    if policy is None or not train_job.trainer.exists or job.nodes.value < 2 or not is_own:
        return
    message = (
        f"the variables name the host {train_job.coordinator}, and the runtime calls the Service"
        f" {subdomain.value}: the host does not resolve"
    )
    place = (subdomain.document_path, "the subdomain in the runtime")
    yield Diagnostic(
        "CR906", message, _RUNTIME, help="remove network.subdomain of the runtime", related_places=(place,)
    )


def _find_uncounted_devices(train_job: TrainJob, job: Job) -> Iterator[Diagnostic]:
    trainer = train_job.trainer
    resources = trainer.get("resourcesPerNode")
    policy = _find_policy(train_job, "torch")
    stated = trainer.get("numProcPerNode").exists or train_job.policy.get("torch", "numProcPerNode").exists
    if policy is None or not resources.exists or stated:
        return
    if any("gpu" in name.lower() for _, name, _ in iter_amounts(resources.value)):
        return
    for container in job.entry.get("template", "spec", "template", "spec", "containers").entries():
        for section, name, amount in iter_amounts(container.get("resources").value):
            if container.get("name").value != NODE or "gpu" not in name.lower():
                continue
            effect = (
                f"the node keeps {name}: {amount}, and the number of processes is that of the CPUs"
                if train_job.version.merges_resources
                else f"the node loses {name}: {amount}"
            )
            place = container.get("resources", section, name)
            yield Diagnostic(
                "CR907",
                f"resourcesPerNode does not repeat the GPUs of the runtime: {effect}",
                resources.path,
                on_key=True,
                help=f"add {name} to resourcesPerNode, or write numProcPerNode",
                related_places=((place.document_path, "the GPUs of the runtime"),),
            )
            return


def _find_extra_nodes(train_job: TrainJob, jobs: list[Job]) -> Iterator[Diagnostic]:
    policy, written = train_job.policy.get("mpi"), train_job.trainer.get("numNodes")
    place = (policy.document_path, "the policy of the runtime")
    as_node = policy.get("runLauncherAsNode").value is True
    if as_node and written.value == 1 and any(one.name == NODE for one in jobs):
        message = "numNodes 1 makes 2 nodes: the launcher is one, and there is always another one"
        yield Diagnostic("CR908", message, written.path, related_places=(place,))
    for job in jobs:
        if not as_node and job.name == LAUNCHER and job.nodes.value > 1:
            message = (
                f"the runtime makes {job.nodes.value} launchers, and each of them starts all processes:"
                " without runLauncherAsNode, mlPolicy.numNodes is the number of launchers"
            )
            count = train_job.policy.get("numNodes")
            related = ((count.document_path, "the number of nodes in the runtime"),)
            yield Diagnostic("CR908", message, _RUNTIME, related_places=related)
