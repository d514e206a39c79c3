"""Whether a job starts its processes over ssh, and on how many hosts."""

from __future__ import annotations

from podplan.core.findings import Path
from podplan.core.provenance import TracedDocument
from podplan.kubernetes.accessors import get_mapping, get_number
from podplan.lint.analysis.jobs import has_trait, is_mode_enabled, spec_of
from podplan.lint.analysis.training import find_replica_spec
from podplan.lint.target import LoweredJob, Target


def starts_over_ssh(job: LoweredJob) -> bool:
    """Whether the job starts processes on other hosts: from a launcher, or on several workers."""
    if is_mode_enabled(job, "debug"):
        return False
    return has_trait(job, "launched-over-ssh") and (
        has_trait(job, "launcher-replica") or find_worker_count(job)[1] > 1
    )


def find_worker_count(job: LoweredJob) -> tuple[Path, int]:
    """Count the workers, with the place of that number."""
    elastic = get_mapping(spec_of(job), "elastic")
    if elastic.get("enabled") is True and "expectedReplicas" in elastic:
        return ("spec", "elastic", "expectedReplicas"), get_number(elastic, "expectedReplicas")
    replica_spec = find_replica_spec(job, "worker")
    if replica_spec is None:
        return ("spec",), 1
    return (*replica_spec.path, "replicas"), get_number(
        replica_spec.data, "replicas"
    ) if "replicas" in replica_spec.data else 1


def list_worker_count_places(target: Target) -> list[tuple[TracedDocument, Path, str]]:
    """Return the number of hosts as a related location."""
    path, count = find_worker_count(target.job)
    label = f"{count} workers" if count != 1 else "a worker"
    return [(target.doc, path, f"{label} started over ssh")]
