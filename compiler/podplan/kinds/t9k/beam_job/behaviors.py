"""Behaviors of the controller of BeamJob."""

from __future__ import annotations

from podplan.core.provenance import Behavior

BEAM_BASE = Behavior(
    "beam.base",
    "children are called after the job alone: the only status that is known has no digits in their names",
    "assumed",
    "docs/evidence/t9k-beamjob.md#children",
    "{job}",
    placeholders=("base", "job"),
)
BEAM_CLUSTER = Behavior(
    "beam.flink-cluster",
    "flinkClusterTemplate becomes a FlinkCluster; its operator creates the Pods of Flink",
    "documented",
    "docs/evidence/t9k-beamjob.md#children",
)
BEAM_CLUSTER_NAME = Behavior(
    "beam.flink-cluster-name",
    "the FlinkCluster is called after the job, with -flinkcluster",
    "documented",
    "docs/evidence/t9k-beamjob.md#children",
    "{beam}-flinkcluster",
    placeholders=("beam", "base", "job"),
)
BEAM_CLUSTER_API = Behavior(
    "beam.flink-cluster-api",
    "the FlinkCluster is one of flinkoperator.k8s.io/v1beta1, whose fields the examples have",
    "assumed",
    "docs/evidence/t9k-beamjob.md#flinkcluster",
    "flinkoperator.k8s.io/v1beta1",
)
BEAM_JOB = Behavior(
    "beam.job",
    "jobTemplate becomes a Job of Kubernetes; the controller also tells it where Flink is, in a way that is "
    "not known and not shown",
    "documented",
    "docs/evidence/t9k-beamjob.md#connection-to-flink",
)
BEAM_JOB_NAME = Behavior(
    "beam.job-name",
    "the Job is called after the BeamJob, with -batchjob",
    "documented",
    "docs/evidence/t9k-beamjob.md#children",
    "{beam}-batchjob",
    placeholders=("beam", "base", "job"),
)
BEAM_SCHEDULER = Behavior(
    "beam.scheduler",
    "with a t9kScheduler section the Pods of the Job are labelled for the queue, as those of other kinds",
    "assumed",
    "docs/evidence/t9k-beamjob.md#scheduler",
)
BEAM_MIN_MEMBER = Behavior(
    "beam.min-member",
    "minMember counts the job manager and the task managers, because the Job starts after them",
    "assumed",
    "docs/evidence/t9k-beamjob.md#scheduler",
    "cluster",
    ("cluster", "all"),
)
