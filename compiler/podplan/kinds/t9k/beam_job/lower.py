"""Lowers BeamJob: a FlinkCluster, a Job that submits to it, and the Pods of the Job."""

from __future__ import annotations

from podplan.core.provenance import Behavior, Cause, Cursor, Traced, attribute_to, root_cursor
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup, build_group
from podplan.kinds.batch.pods import build_pods, count_active_pods, creates_pods, split_pods
from podplan.kinds.common.field_order import order_pod_fields
from podplan.kinds.common.name_patterns import build_name_words, fill_pattern
from podplan.kinds.spec import References
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.beam_job import behaviors as kind_behaviors
from podplan.kinds.t9k.child_metadata import TracedMap, build_child_metadata, overlay_fields, record_replaced
from podplan.kinds.t9k.job import JobContext, build_job_context
from podplan.kinds.t9k.pod_group import build_pod_groups, build_scheduler_labels, is_gang_scheduled


def lower(cr: Cursor, _references: References, options: LoweringOptions) -> list[ReplicaGroup]:
    """Lower a BeamJob (docs/evidence/t9k-beamjob.md) to PodGroup, FlinkCluster, Job and the Pods of the
    Job.

    The run mode has no effect: docs/evidence/t9k-beamjob.md#run-modes.
    """
    job = build_job_context(cr, options)
    batch_job = _build_job(job)
    batch_cursor = root_cursor(batch_job.doc)
    pods = (
        [build_pods(batch_job, pod_range, replica_type="batchjob") for pod_range in split_pods(batch_cursor)]
        if creates_pods(batch_cursor, options.resumed)
        else []
    )
    return [
        *build_pod_groups(job, *_count_members(job, batch_cursor)),
        _build_cluster(job),
        batch_job,
        *pods,
    ]


def _build_cluster(job: JobContext) -> ReplicaGroup:
    template = job.spec.get("flinkClusterTemplate")
    api_version = job.options.resolve_behavior(kind_behaviors.BEAM_CLUSTER_API)
    tree = {
        "apiVersion": attribute_to((api_version, template), api_version.value),
        "kind": "FlinkCluster",
        "metadata": _build_metadata(job, template, kind_behaviors.BEAM_CLUSTER_NAME, "FlinkCluster"),
        "spec": template.get("spec"),
    }
    return build_group(attribute_to((template, kind_behaviors.BEAM_CLUSTER), tree))


def _build_job(job: JobContext) -> ReplicaGroup:
    template = job.spec.get("jobTemplate")
    spec = template.get("spec")
    tree = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _build_metadata(job, template, kind_behaviors.BEAM_JOB_NAME, "Job"),
        "spec": attribute_to(spec, {**spec.fields(), "template": _build_template(job, spec.get("template"))}),
    }
    return build_group(attribute_to((template, kind_behaviors.BEAM_JOB), tree))


def _build_template(job: JobContext, template: Cursor) -> Cursor | Traced:
    """Return the Pod template of the Job, labelled for its queue if it has one."""
    if not is_gang_scheduled(job):
        return template
    metadata, spec = template.get("metadata"), template.get("spec")
    scheduler = job.options.resolve_behavior(behaviors.SCHEDULER_NAME)
    labels = overlay_fields(metadata.get("labels").fields(), build_scheduler_labels(job, "batchjob"))
    origins = (kind_behaviors.BEAM_SCHEDULER, job.spec.get("scheduler"))
    name = attribute_to((scheduler, job.spec.get("scheduler")), scheduler.value)
    tree: TracedMap = {
        **template.fields(),
        "metadata": attribute_to(origins, {**metadata.fields(), "labels": attribute_to(origins, labels)}),
        "spec": attribute_to(
            spec,
            order_pod_fields(
                {**spec.fields(), "schedulerName": record_replaced(name, spec.get("schedulerName"))}
            ),
        ),
    }
    return attribute_to(template, tree)


def _build_metadata(job: JobContext, template: Cursor, name_behavior: Behavior, kind: str) -> TracedMap:
    base_behavior, behavior = (
        job.options.resolve_behavior(fact) for fact in (kind_behaviors.BEAM_BASE, name_behavior)
    )
    word_values = build_name_words(job.name_words)
    word_values["beam"] = fill_pattern(base_behavior.value, word_values)
    return build_child_metadata(
        job,
        str(fill_pattern(behavior.value, word_values)),
        kind=kind,
        labels=job.labels,
        name_origins=(
            *job.name_origins,
            job.options.first_configured(name_behavior, kind_behaviors.BEAM_BASE),
        ),
        template=template.get("metadata"),
    )


def _count_members(job: JobContext, batch_job: Cursor) -> tuple[int, tuple[Cause, ...]]:
    """Return how many Pods the job needs to start, and the origins of the number."""
    behavior = job.options.resolve_behavior(kind_behaviors.BEAM_MIN_MEMBER)
    cluster = job.spec.get("flinkClusterTemplate", "spec")
    counts = [cluster.get(manager, "replicas") for manager in ("jobManager", "taskManager")]
    members = sum(int(count.value_or(1)) for count in counts)
    members += count_active_pods(batch_job) if behavior.value == "all" else 0
    return members, (behavior, *(count for count in counts if count.exists))
