"""Servers that keep running when the job has succeeded.

Source: https://github.com/t9k/ucman/blob/master/src/api/t9k-job/genericjob.md (cleanUpPolicy None).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_entries
from podplan.launchers.kubelet import resolve_environment
from podplan.lint.analysis.jobs import (
    count_pods_and_gpus,
    find_clean_up,
    find_gpu_pods,
    find_kind_spec,
    find_written_path,
    has_trait,
    is_mode_enabled,
    leaves_replicas,
    spec_of,
)
from podplan.lint.analysis.launches import find_launches
from podplan.lint.analysis.processes import find_endless_process
from podplan.lint.analysis.resources import find_training_container
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

# The replica types whose server.join() does not return:
# https://www.tensorflow.org/api_docs/python/tf/distribute/Server#join
_PARAMETER_SERVERS = ("PS", "ps")


@check(aliases=("leaves-servers",))
def servers_kept_after_success(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Replicas with GPUs, and parameter servers, that run on after the job.

    Values: ``pods``, ``held`` (their GPUs), ``program``, ``field``, ``value``.
    """
    job = subject.job
    clean_up = find_clean_up(job)
    if (
        is_mode_enabled(job, "debug")
        or is_mode_enabled(job, "pause")
        or clean_up is None
        or not leaves_replicas(job, clean_up)
    ):
        return
    left = [
        (group, *found)
        for group in find_gpu_pods(job)
        if not _ends_job(job, group) and (found := _endless(group))
    ]
    left += [(group, *found) for group in job.pods if (found := _parameter_server(job, group))]
    if not left:
        return
    number, gpus = count_pods_and_gpus([group for group, *_ in left])
    related = [(group.doc, place, "it never ends by itself") for group, _, place in left]
    values = {
        "pods": format_count(number, "Pod"),
        "held": f" with {format_count(gpus, 'GPU')}" if gpus else "",
        "program": left[0][1],
        "field": ".".join(clean_up.field),
        "value": clean_up.ending_value,
    }
    yield Violation(find_written_path(subject.data, "spec", *clean_up.field), values, related)


def _parameter_server(job: LoweredJob, group: ReplicaGroup) -> tuple[str, Path] | None:
    """Return the only script of a parameter server, which waits forever due to TF_CONFIG, and its path."""
    launches = [each for each in find_launches(job) if each.group is group]
    if (
        group.replica_type not in _PARAMETER_SERVERS
        or len(launches) != 1
        or launches[0].invocation.launcher != "python"
        or "TF_CONFIG" not in resolve_environment(launches[0].container)
    ):
        return None
    script = launches[0].invocation.script
    text = script.text if script is not None and script.is_known else "python"
    return text, launches[0].locate_word(launches[0].invocation.program_word)


def _endless(group: ReplicaGroup) -> tuple[str, Path] | None:
    """Return the endless command of the training container and its path in the Pod."""
    found = find_training_container(group)
    endless = find_endless_process(found[1]) if found is not None else None
    if found is None or endless is None or endless.after_training:
        return None
    return endless.text, (*found[0], *endless.words[0].path)


def _ends_job(job: LoweredJob, group: ReplicaGroup) -> bool:
    """Whether the job succeeds only after the Pods of a group complete, so that none remains."""
    if not has_trait(job, "success-rules"):
        kind_spec = find_kind_spec(job)
        main_types = kind_spec.main_replica_types if kind_spec is not None else ()
        has_main_type = any(one.replica_type in main_types for one in job.pods)
        return group.replica_type in main_types if has_main_type else group is job.pods[0]
    rules = [rule for _, rule in get_entries(spec_of(job), "successRules")]
    return not rules or all(group.replica_type in rule for rule in rules)
