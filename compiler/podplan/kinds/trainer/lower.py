"""The JobSet of a TrainJob, and what the plugins of Trainer create beside it."""

from __future__ import annotations

import json

from podplan.core.provenance import (
    Cursor,
    Traced,
    attribute_to,
    compute_traced,
    copy_traced,
    root_cursor,
)
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup, build_group
from podplan.core.typing import Any
from podplan.kinds.common.controller_variables import build_variable
from podplan.kinds.common.merge import drop_absent, list_entries, merge_tree
from podplan.kinds.jobset.lower import GROUP as JOBSET_GROUP
from podplan.kinds.jobset.lower import lower_job_set, write_resources_and_env
from podplan.kinds.trainer import behaviors, flux, mpi, pod_group, rendezvous
from podplan.kinds.trainer.job import TrainJob, build_metadata, build_train_job
from podplan.kinds.trainer.job_set_template import (
    NODE,
    TRAINER_STEP,
    NodeCount,
    TemplateJob,
    TracedMap,
    merge_resources,
    parse_jobs,
    replace_resources,
    set_variables,
)

OWN_MANAGER = "trainer.kubeflow.org/trainjob-controller"
INITIALIZERS = {"dataset": "dataset-initializer", "model": "model-initializer"}
ANCESTORS = (TRAINER_STEP, *INITIALIZERS.values())


def lower_train_job(cr: Cursor, runtime: Cursor, options: LoweringOptions) -> list[ReplicaGroup]:
    """The objects of a TrainJob: snapshot, those of the plugins, JobSet, and those of the JobSet."""
    if cr.get("spec", "managedBy").value_or(OWN_MANAGER) != OWN_MANAGER:
        return []
    train_job = build_train_job(cr, runtime, options)
    jobs, others = fill_template(train_job)
    jobset = build_job_set(train_job, jobs)
    return [
        *([_build_snapshot(train_job)] if train_job.version.has_snapshot else []),
        *others,
        jobset,
        *map(
            _find_training_container,
            lower_job_set(root_cursor(jobset.doc), _choose_job_set_version(train_job)),
        ),
    ]


def _find_training_container(group: ReplicaGroup) -> ReplicaGroup:
    """A group of Pods with the index of the container node, also if others come before it."""
    pod = group.doc.data["spec"] if group.training_container_index is not None else {}
    names = [one.get("name") for one in pod.get("containers", ())]
    return group._replace(training_container_index=names.index(NODE)) if NODE in names else group


def _choose_job_set_version(train_job: TrainJob) -> LoweringOptions:
    """The options with the version of JobSet that Trainer is released with, unless they state one."""
    options = train_job.options
    stated = options.behavior_values.get(JOBSET_GROUP, {})
    values = {**options.behavior_values, JOBSET_GROUP: {"version": train_job.version.job_set, **stated}}
    return options._replace(behavior_values=values)


def fill_template(train_job: TrainJob) -> tuple[list[TemplateJob], list[ReplicaGroup]]:
    """The jobs as the plugins of Trainer leave them, and the other objects that these create."""
    jobs = [_apply_trainer(train_job, one) for one in count_nodes(train_job, parse_jobs(train_job.template))]
    jobs = [_apply_initializers(train_job, one) for one in jobs]
    others: list[ReplicaGroup] = []
    policy = train_job.policy
    if policy.get("torch").exists:  # alone among the policies, it adds its variables after those of trainer
        jobs = _apply_variables(train_job, jobs)
    if policy.get("mpi").exists:
        jobs, others = mpi.apply_policy(train_job, jobs)
    elif policy.get("flux").exists and "flux" in train_job.version.policies:
        jobs, others = flux.apply_policy(train_job, jobs)
    elif policy.exists:
        jobs = rendezvous.apply_policy(train_job, jobs)
    if not policy.get("torch").exists or train_job.version.has_last_word:
        jobs = _apply_variables(train_job, jobs)
    jobs, groups = pod_group.apply_policy(train_job, jobs)
    return jobs, [*others, *groups]


def count_nodes(train_job: TrainJob, jobs: list[TemplateJob]) -> list[TemplateJob]:
    """The jobs with the numbers of nodes that trainer or the policy of the runtime state."""
    policy, written = train_job.policy, train_job.trainer.get("numNodes")
    if not policy.exists:
        return jobs
    default = policy.get("numNodes")
    count = NodeCount(int(default.value_or(1)), (default if default.exists else policy, behaviors.NODES))
    if written.exists and not policy.get("mpi").exists:
        count = NodeCount(int(written.value), (written, behaviors.NODES))
    return [one._replace(nodes=count) if one.ancestor == TRAINER_STEP else one for one in jobs]


def _apply_trainer(train_job: TrainJob, job: TemplateJob) -> TemplateJob:
    """The container node of the trainer with what the TrainJob states."""
    trainer, policy = train_job.trainer, train_job.policy
    resources = trainer.get("resourcesPerNode")
    trains = job.ancestor == TRAINER_STEP
    merges = train_job.version.merges_resources
    if resources.exists and (policy.exists or not merges) and (trains or _is_mpi_node(train_job, job)):
        set_resources = merge_resources if merges else replace_resources
        job = job.map_containers(NODE, lambda fields: set_resources(fields, resources))
    if not trains or not trainer.exists:
        return job

    def change(fields: TracedMap) -> TracedMap:
        written = {
            field: copy_traced(trainer.get(field), behavior=behaviors.TRAINER)
            for field in ("image", "command", "args")
            if trainer.get(field).exists and trainer.get(field).value not in ([], "")
        }
        return {**fields, **written}

    return job.map_containers(NODE, change)


def _apply_variables(train_job: TrainJob, jobs: list[TemplateJob]) -> list[TemplateJob]:
    """The jobs with the variables of trainer in the container node."""
    variables: list[Any] = list(train_job.trainer.get("env").entries())
    if not variables:
        return jobs
    return [
        one.map_containers(NODE, lambda fields: set_variables(fields, variables))
        if one.ancestor == TRAINER_STEP or _is_mpi_node(train_job, one)
        else one
        for one in jobs
    ]


def _is_mpi_node(train_job: TrainJob, job: TemplateJob) -> bool:
    """Whether a job of nodes of MPI trains like its launcher."""
    return job.name == NODE and train_job.policy.get("mpi", "runLauncherAsNode").value is True


def _apply_initializers(train_job: TrainJob, job: TemplateJob) -> TemplateJob:
    for field, name in INITIALIZERS.items():
        written = train_job.spec.get("initializer", field)
        if not written.exists or job.ancestor != name:
            continue

        def change(fields: TracedMap, written: Cursor = written) -> TracedMap:
            uri, secret = written.get("storageUri"), written.get("secretRef")
            variables: list[Any] = []
            if uri.exists:
                variables.append(build_variable("STORAGE_URI", uri, uri, behaviors.INITIALIZER))
            fields = set_variables(set_variables(fields, variables), written.get("env").entries())
            if secret.exists:
                source = attribute_to((secret, behaviors.INITIALIZER), {"secretRef": secret})
                fields = {**fields, "envFrom": [*list_entries(fields.get("envFrom")), source]}
            return fields

        job = job.map_containers(name, change)
    return job


def _build_snapshot(train_job: TrainJob) -> ReplicaGroup:
    text = compute_traced(
        lambda data: json.dumps(data, indent=2) + "\n", train_job.runtime, behavior=behaviors.SNAPSHOT
    )
    tree = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": build_metadata(train_job, f"{train_job.name}-runtime-snapshot"),
        "data": {"runtime": text},
    }
    return build_group(attribute_to((train_job.runtime, behaviors.SNAPSHOT), tree))


def build_job_set(train_job: TrainJob, jobs: list[TemplateJob]) -> ReplicaGroup:
    """The JobSet of a TrainJob with these jobs."""
    template = train_job.template
    suspend = train_job.spec.get("suspend")
    is_suspended = suspend.value is True and not train_job.options.resumed
    spec = {
        **template.get("spec").fields(),
        "failurePolicy": _write_failure_policy(template.get("spec", "failurePolicy")),
        "replicatedJobs": [_write_job(one) for one in jobs],
        "suspend": attribute_to((behaviors.SUSPEND, suspend), is_suspended),
    }
    if not train_job.version.has_claims:
        spec.pop("volumeClaimPolicies", None)
    tree = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": build_metadata(
            train_job,
            train_job.name,
            **{field: _build_job_set_metadata(train_job, field) for field in ("labels", "annotations")},
        ),
        "spec": attribute_to((template.get("spec"), behaviors.JOBSET), drop_absent(spec)),
    }
    return build_group(attribute_to((template, behaviors.JOBSET), tree))


def _build_job_set_metadata(train_job: TrainJob, field: str) -> Any:
    """Labels or annotations: those of the template, and of the TrainJob in versions that have these."""
    base, own = train_job.template.get("metadata", field), train_job.spec.get(field)
    return merge_tree(base, own) if base.exists and own.exists else own if own.exists else base


def _write_failure_policy(policy: Cursor) -> Cursor | Traced:
    """A failure policy with the strategy that the API server sets in the runtime."""
    if not policy.exists or policy.get("restartStrategy").exists:
        return policy
    strategy = attribute_to((behaviors.JOBSET, policy), "Recreate")
    return attribute_to(policy, {**policy.fields(), "restartStrategy": strategy})


def _write_job(job: TemplateJob) -> Traced:
    entry, written = job.entry, job.entry.get("template", "spec")
    pod = written.get("template")
    count = attribute_to(job.nodes.causes, job.nodes.value)
    pod_spec: TracedMap = dict(pod.get("spec").fields())
    for field, value in (
        ("initContainers", job.init_containers),
        ("containers", job.containers),
        ("volumes", job.volumes),
    ):
        if value:
            pod_spec[field] = list(value)
    if "containers" in pod_spec:
        pod_spec["containers"] = [write_resources_and_env(one) for one in job.containers]
    if "initContainers" in pod_spec:
        pod_spec["initContainers"] = [write_resources_and_env(one) for one in job.init_containers]
    pod_metadata: TracedMap = dict(pod.get("metadata").fields())
    for field, added in (("labels", job.labels), ("annotations", job.annotations)):
        if added:
            pod_metadata[field] = attribute_to(
                (pod.get("metadata", field), behaviors.POD_GROUP),
                {**pod.get("metadata", field).fields(), **added},
            )
    spec = {
        **written.fields(),
        "parallelism": count,
        "completions": count,
        "template": attribute_to(
            pod,
            {
                **pod.fields(),
                **({"metadata": attribute_to(pod, pod_metadata)} if pod_metadata else {}),
                "spec": attribute_to(pod.get("spec"), pod_spec),
            },
        ),
    }
    replicas = entry.get("replicas")
    one = attribute_to((replicas, behaviors.REPLICAS), 1)
    group = entry.get("groupName")
    tree = {
        **entry.fields(),
        "replicas": one if job.ancestor in ANCESTORS or not replicas.exists else replicas,
        "groupName": group if group.exists else attribute_to((group, behaviors.JOBSET), "default"),
        "template": attribute_to(
            entry.get("template"), {**entry.get("template").fields(), "spec": attribute_to(written, spec)}
        ),
    }
    return attribute_to(entry, tree)
