"""The variables by which the processes of torch, JAX and XGBoost find each other."""

from __future__ import annotations

from functools import partial

from podplan.core.provenance import attribute_to
from podplan.core.typing import Any
from podplan.kinds.common.controller_variables import build_variable
from podplan.kinds.common.merge import list_entries
from podplan.kinds.trainer import behaviors
from podplan.kinds.trainer.job import TrainJob
from podplan.kinds.trainer.job_set_template import (
    NODE,
    PORT,
    TRAINER_STEP,
    TemplateJob,
    TracedMap,
    build_field_variable,
    set_port,
    set_variables,
)
from podplan.kinds.trainer.processes import count_gpus, resolve_torch_processes
from podplan.kinds.trainer.torchtune import build_command, is_torchtune

INDEX_FIELD = "metadata.annotations['batch.kubernetes.io/job-completion-index']"


def apply_policy(train_job: TrainJob, jobs: list[TemplateJob]) -> list[TemplateJob]:
    """The jobs with the variables of the policy of the runtime."""
    policy = train_job.policy
    trainer_job = next((one for one in jobs if one.ancestor == TRAINER_STEP), None)
    if trainer_job is None:
        return jobs
    if policy.get("torch").exists:
        if train_job.version.injects_variables:
            jobs = [_inject_torch(train_job, one, trainer_job) for one in jobs]
        if is_torchtune(train_job):
            jobs = _add(train_job, jobs, _build_tune(train_job, trainer_job))
            jobs = [build_command(train_job, one) for one in jobs]
        else:
            jobs = _add(train_job, jobs, build_torch_variables(train_job, trainer_job))
    for field, build in (("jax", _build_jax), ("xgboost", _build_xgboost)):
        if policy.get(field).exists and field in train_job.version.policies:
            jobs = _add(train_job, jobs, build(train_job, trainer_job))
    return jobs


def _add(train_job: TrainJob, jobs: list[TemplateJob], variables: list[Any]) -> list[TemplateJob]:
    """The jobs with variables and the port in the container node; only with ``spec.trainer``."""
    if not train_job.trainer.exists:
        return jobs

    def change(fields: TracedMap) -> TracedMap:
        fields = set_variables(fields, variables)
        port = attribute_to((behaviors.PORT, train_job.policy), {"containerPort": PORT})
        return {**fields, "ports": set_port(list_entries(fields.get("ports")), port)}

    return [
        one.map_containers(NODE, change)
        if one.ancestor == TRAINER_STEP and one.find_container(NODE) is not None
        else one
        for one in jobs
    ]


def _inject_torch(train_job: TrainJob, job: TemplateJob, trainer_job: TemplateJob) -> TemplateJob:
    """The job with the variables of torchrun in the further containers that the runtime names."""
    for target in train_job.policy.get("torch", "envInjection", "targets").entries():
        if target.get("jobName").value == job.name:
            add = partial(set_variables, variables=build_torch_variables(train_job, trainer_job))
            for name in target.get("containerNames").value_or([]):
                job = job.map_containers(name, add)
    return job


def build_torch_variables(train_job: TrainJob, job: TemplateJob) -> list[Any]:
    why = (train_job.trainer if train_job.trainer.exists else train_job.policy, behaviors.TORCH)
    return [
        *_build_tune(train_job, job),
        build_variable("PET_MASTER_ADDR", train_job.coordinator, *train_job.name_causes, *why),
        build_variable("PET_MASTER_PORT", str(PORT), *why),
    ]


def _build_tune(train_job: TrainJob, job: TemplateJob) -> list[Any]:
    value, causes = resolve_torch_processes(train_job, job)
    return [
        build_variable("PET_NNODES", str(job.nodes.value), *job.nodes.causes),
        build_variable("PET_NPROC_PER_NODE", value, *causes),
        build_field_variable("PET_NODE_RANK", INDEX_FIELD, behaviors.TORCH, train_job.policy),
    ]


def _build_jax(train_job: TrainJob, job: TemplateJob) -> list[Any]:
    address = f"{train_job.coordinator}:{PORT}"
    return [
        build_variable("JAX_NUM_PROCESSES", str(job.nodes.value), *job.nodes.causes),
        build_field_variable("JAX_PROCESS_ID", INDEX_FIELD, behaviors.JAX, train_job.policy),
        build_variable("JAX_COORDINATOR_ADDRESS", address, *train_job.name_causes, behaviors.JAX),
    ]


def _build_xgboost(train_job: TrainJob, job: TemplateJob) -> list[Any]:
    gpus, causes = count_gpus(train_job, job)
    workers = job.nodes.value * max(gpus, 1)
    return [
        build_variable("DMLC_TRACKER_URI", train_job.coordinator, *train_job.name_causes, behaviors.XGBOOST),
        build_variable("DMLC_TRACKER_PORT", str(PORT), behaviors.XGBOOST, train_job.policy),
        build_field_variable("DMLC_TASK_ID", INDEX_FIELD, behaviors.XGBOOST, train_job.policy),
        build_variable("DMLC_NUM_WORKER", str(workers), *job.nodes.causes, *causes),
    ]
