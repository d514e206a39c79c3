"""Missing replica types: without them a job has no training, or nothing starts it.

Sources: https://github.com/t9k/user-manuals/tree/master/src/modules/jobs, and the API references there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_mapping
from podplan.lint.analysis.jobs import find_kind_spec, get_replica_specs, is_mode_enabled, spec_of
from podplan.lint.analysis.launches import find_launches
from podplan.lint.analysis.script_options import list_program_options
from podplan.lint.checks.probe_targets import list_numbers
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

# Types whose plural is also a number of something else: processes that load data, and the like.
_OTHER_MEANING = ("worker", "node", "trainer", "process", "launcher", "master", "driver", "shard", "sample")


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


@check()
def count_of_other_type(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A number of replicas of a type that differs from the job. Values: ``option``, ``count``, ``type``,
    ``replicas``."""
    job = target.job
    if is_mode_enabled(job, "debug") or len(job.pods) < 2 or _is_elastic(job):
        return
    replicas: dict[str, int] = {}
    for group in job.pods:
        replicas[group.replica_type] = replicas.get(group.replica_type, 0) + group.replicas
    counts = {
        f"{start}{type_.lower().replace('-', '_')}{end}": type_
        for type_ in replicas
        if type_.lower() not in _OTHER_MEANING
        for start, end in (
            ("num_", "s"),
            ("n_", "s"),
            ("num_", ""),
            ("", "s"),
            ("", "_count"),
            ("expected_", "s"),
        )
    }
    for launch in find_launches(job):
        for placed in list_program_options(job, launch):
            type_ = counts.get(placed.option.last, "")
            count = placed.option.number
            if not type_ or count is None or count == replicas[type_] or launch.group.replica_type == type_:
                continue
            each, rest = divmod(count, replicas[type_] or 1)
            if not rest and any(str(each) in numbers for numbers in _list_numbers(job, type_)):
                continue  # each replica starts several of them
            roles = [one for one in get_replica_specs(job) if one.type == type_ and "replicas" in one.data]
            values = {
                "option": placed.option.name,
                "count": count,
                "type": type_,
                "replicas": format_count(replicas[type_], "replica"),
            }
            related = [
                (job.cr, (*one.path, "replicas"), f"the replicas of {type_}")
                for one in roles
                if job.cr is not None
            ]
            yield Violation(placed.path, values, related, doc=placed.doc, group=launch.group)


def _list_numbers(job: LoweredJob, type_: str) -> Iterator[set[str]]:
    """Yield the numbers that the containers of a replica type name."""
    for group in job.pods:
        if group.replica_type == type_:
            yield list_numbers(get_mapping(group.doc.data, "spec"))


def _is_elastic(job: LoweredJob) -> bool:
    """Whether expectedReplicas states the number of replicas."""
    elastic = get_mapping(spec_of(job), "elastic")
    return elastic.get("enabled") is True and "expectedReplicas" in elastic
