"""Whether a job starts its processes over ssh, and on how many hosts."""

from __future__ import annotations

from podplan.core.findings import Path
from podplan.core.provenance import Doc
from podplan.kubernetes.accessors import mapping, number
from podplan.lint.analysis.jobs import kind_of, mode, spec_of
from podplan.lint.analysis.training import role_called
from podplan.lint.target import Job, Subject


def over_ssh(job: Job) -> bool:
    """Whether processes are started on other hosts; a ColossalAIJob has a launcher of its own for that."""
    if mode(job, "debug"):
        return False
    return kind_of(job) == "ColossalAIJob" or (kind_of(job) == "DeepSpeedJob" and workers(job)[1] > 1)


def workers(job: Job) -> tuple[Path, int]:
    """How many workers there are, and the place that says so."""
    elastic = mapping(spec_of(job), "elastic")
    if elastic.get("enabled") is True and "expectedReplicas" in elastic:
        return ("spec", "elastic", "expectedReplicas"), number(elastic, "expectedReplicas")
    role = role_called(job, "worker")
    if role is None:
        return ("spec",), 1
    return (*role.path, "replicas"), number(role.data, "replicas") if "replicas" in role.data else 1


def hosts_place(subject: Subject) -> list[tuple[Doc, Path, str]]:
    """The number of hosts as a related place."""
    path, count = workers(subject.job)
    what = f"{count} workers" if count != 1 else "a worker"
    return [(subject.doc, path, f"{what} started over ssh")]
