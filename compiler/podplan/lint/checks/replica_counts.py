"""Replica types without which a job has nothing that trains, or nothing that starts the training.

Sources: https://github.com/t9k/user-manuals/tree/master/src/modules/jobs, and the API references there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.kubernetes.accessors import mapping
from podplan.lint.analysis.jobs import kind_of, roles, spec_of
from podplan.lint.target import Hit, Job, Subject

# The types that a kind must have, and what happens without one.
_NEEDED: dict[str, dict[str, str]] = {
    "DeepSpeedJob": {"worker": "nothing runs deepspeed"},
    "ColossalAIJob": {
        "worker": "the launcher has no host to start the training on",
        "launcher": "nothing starts the training on the workers",
    },
}
# A launcher that is not written is created all the same.
_DEFAULTED = {("ColossalAIJob", "launcher")}


def no_replicas(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A type that must have replicas and has none, or a job without any. Value ``what``."""
    job = subject.job
    if _is_elastic(job):
        return
    listed, needed = roles(job), _NEEDED.get(kind_of(job), {})
    for type_, effect in needed.items():
        of_type = [role for role in listed if role.type == type_]
        if not of_type and (kind_of(job), type_) not in _DEFAULTED:
            yield Hit(("spec", "replicaSpecs"), {"what": f"the job has no {type_}, so {effect}"})
        elif of_type and all(role.data.get("replicas") == 0 for role in of_type):
            what = f"{type_} has 0 replicas, so {effect}"
            yield Hit((*of_type[0].path, "replicas"), {"what": what})
    if not needed and all(role.data.get("replicas") == 0 for role in listed):
        path = (*listed[0].path, "replicas") if listed else ("spec", "replicaSpecs")
        yield Hit(path, {"what": "no replica type has replicas, so the job runs nothing"})


def _is_elastic(job: Job) -> bool:
    """Whether expectedReplicas says how many replicas there are."""
    elastic = mapping(spec_of(job), "elastic")
    return elastic.get("enabled") is True and "expectedReplicas" in elastic
