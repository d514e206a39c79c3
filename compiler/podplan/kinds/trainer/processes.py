"""How many GPUs a node has, and how many processes it runs, as Trainer counts them."""

from __future__ import annotations

from podplan.core.provenance import Cause, Cursor
from podplan.core.typing import Any
from podplan.kinds.trainer import behaviors
from podplan.kinds.trainer.job import TrainJob
from podplan.kinds.trainer.job_set_template import NODE, TemplateJob, iter_amounts
from podplan.kubernetes.quantities import UNITS_PER_ONE, parse_quantity


def find_resources(train_job: TrainJob, job: TemplateJob) -> tuple[Any, Cursor]:
    """The resources that processes are counted by: those of trainer alone, else those of the runtime."""
    written = train_job.trainer.get("resourcesPerNode")
    if written.exists:
        return written.value, written
    for container in job.entry.get("template", "spec", "template", "spec", "containers").entries():
        if container.get("name").value == NODE:
            resources = container.get("resources")
            return (resources.value, resources) if resources.exists else ({}, container)
    return {}, job.entry


def count_gpus(train_job: TrainJob, job: TemplateJob) -> tuple[int, tuple[Cause, ...]]:
    """The GPUs of a node as Trainer counts them: any resource whose name has gpu in it."""
    resources, place = find_resources(train_job, job)
    for section, name, amount in sorted(iter_amounts(resources)):
        if "gpu" in name.lower():
            units = parse_quantity(amount) or 0
            return units // UNITS_PER_ONE, (place.get(section, name),)
    return 0, (place,)


def resolve_torch_processes(train_job: TrainJob, job: TemplateJob) -> tuple[str, tuple[Cause, ...]]:
    """What PET_NPROC_PER_NODE is, and what says so."""
    written = train_job.trainer.get("numProcPerNode")
    if train_job.version.has_process_words and not written.exists:
        written = train_job.policy.get("torch", "numProcPerNode")
    if written.value_or("auto") not in ("auto", "cpu"):
        return str(written.value), (written,)
    gpus, causes = count_gpus(train_job, job)
    if gpus and written.value != "cpu":
        return "auto", (*causes, behaviors.TORCH_PROCESSES)
    resources, place = find_resources(train_job, job)
    for section, name, amount in iter_amounts(resources):
        if name == "cpu":
            units = parse_quantity(amount) or 0
            count = max(-(-units // UNITS_PER_ONE), 1)
            return str(count), (place.get(section, name), behaviors.TORCH_PROCESSES)
    return "1", (behaviors.TORCH_PROCESSES, place)
