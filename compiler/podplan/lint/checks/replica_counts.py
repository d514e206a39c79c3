"""Missing replica types: without them a job has no training, or nothing starts it.

Sources: https://github.com/t9k/user-manuals/tree/master/src/modules/jobs, and the API references there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_mapping
from podplan.lint.analysis.jobs import find_kind_spec, get_replica_specs, spec_of
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation


@check()
def no_replicas(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A required replica type without replicas, or a job without any replicas. Value ``what``."""
    job, kind_spec = target.job, find_kind_spec(target.job)
    if kind_spec is None or _is_elastic(job):
        return
    replica_specs, required_types = get_replica_specs(job), kind_spec.required_replica_types
    for type_, (effect, is_defaulted) in required_types.items():
        matching_specs = [role for role in replica_specs if role.type == type_]
        if not matching_specs and not is_defaulted:
            yield Violation(("spec", "replicaSpecs"), {"what": f"the job has no {type_}, so {effect}"})
        elif matching_specs and all(role.data.get("replicas") == 0 for role in matching_specs):
            message = f"{type_} has 0 replicas, so {effect}"
            yield Violation((*matching_specs[0].path, "replicas"), {"what": message})
    if not required_types and all(role.data.get("replicas") == 0 for role in replica_specs):
        path = (*replica_specs[0].path, "replicas") if replica_specs else ("spec", "replicaSpecs")
        yield Violation(path, {"what": "no replica type has replicas, so the job runs nothing"})


def _is_elastic(job: LoweredJob) -> bool:
    """Whether expectedReplicas states the number of replicas."""
    elastic = get_mapping(spec_of(job), "elastic")
    return elastic.get("enabled") is True and "expectedReplicas" in elastic
