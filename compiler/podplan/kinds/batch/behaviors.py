"""What the Job controller of Kubernetes does, one behavior each.

All were seen in what the controller of Kubernetes 1.36 created; docs/evidence/jobset.md describes them.
"""

from __future__ import annotations

from podplan.core.provenance import Behavior

_PAGE = "docs/evidence/jobset.md"


def _verified(id_: str, text: str, section: str) -> Behavior:
    return Behavior(f"job.{id_}", text, "verified", f"{_PAGE}#{section}")


POD = _verified(
    "pod", "a Job creates Pods up to its parallelism, and no more than its completions", "pods-of-a-job"
)
POD_NAME = _verified("pod-name", "the names of Pods end in five random characters", "pods-of-a-job")
LABELS = _verified("labels", "Pods are labelled with the name of their Job", "pods-of-a-job")
INDEX = _verified(
    "index",
    "a Pod of an Indexed Job has its index as a label, in its host name and in a variable",
    "pods-of-a-job",
)
DEFAULT = _verified(
    "default", "the API server sets what a Pod template leaves out", "defaults-of-a-pod-template"
)
OWNER = _verified("owner", "the Job owns its Pods", "pods-of-a-job")
