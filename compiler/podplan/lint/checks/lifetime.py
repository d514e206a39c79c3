"""Elastic bounds, deadlines, debug mode, and Pods that remain after the end of a job.

Sources: docs/evidence/t9k-common.md#clean-up-policy, docs/evidence/t9k-common.md#debug-mode,
docs/evidence/t9k-pytorchtrainingjob.md#elastic-only-under-torchrun,
docs/evidence/t9k-pytorchtrainingjob.md#elastic-bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_mapping
from podplan.launchers import endings
from podplan.lint.analysis.deadlines import (
    Deadline,
    find_job_deadline,
    find_zero_deadline,
    list_deadlines,
    locate_missing_deadline,
)
from podplan.lint.analysis.jobs import (
    count_gpus,
    count_pods_and_gpus,
    find_clean_up,
    find_gpu_pods,
    find_torchrun_switch,
    find_training_pods,
    find_written_path,
    format_type_of,
    get_replica_specs,
    has_isolated_replicas,
    has_trait,
    is_mode_enabled,
    leaves_replicas,
    spec_of,
)
from podplan.lint.analysis.launches import find_launches
from podplan.lint.analysis.pod_hosts import get_job_name
from podplan.lint.analysis.pod_jobs import find_pod_jobs
from podplan.lint.analysis.processes import process_of
from podplan.lint.analysis.resources import find_training_container
from podplan.lint.checks.registration import COUNT, check, object_schema
from podplan.lint.checks.restarts import is_launched_by_torchrun
from podplan.lint.target import LoweredJob, Target, Violation

_TIMES_LONGER = 5  # a job that may run this many times as long as its Pods restarts them all the time
_STAGE_LABELS = frozenset(("stage", "env", "environment", "tier", "purpose"))
_PRODUCTION = frozenset(("production", "prod", "prd", "live", "release"))
# Labels and names of automation that starts jobs repeatedly.
_TRIGGER_LABELS = frozenset(("trigger", "triggered-by", "trigger-type", "started-by", "schedule", "source"))
_SCHEDULES = compile_lazily(
    r"(?:^|[-._])(?:cron|cronjob|cronworkflow|schedule|scheduled|scheduler|timer|nightly|daily|weekly|hourly)(?:[-._]|$)"
)
# Jobs in which somebody works.
_SESSIONS = compile_lazily(r"dev|debug|play|session|shell|sandbox|notebook|interactive|jupyter")
# Jobs with these names are experiments.
_TRIES = frozenset(("smoke", "test", "tests", "debug", "sanity", "try", "hello", "probe", "check"))
ELASTIC_PATH: Path = ("spec", "elastic")
# From the smallest to the largest: names in CRs, and names in profiles.
ELASTIC_FIELDS = {
    "minReplicas": "elastic.min",
    "expectedReplicas": "elastic.replicas",
    "maxReplicas": "elastic.max",
}


@check()
def elastic_bounds(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """Elastic bounds that contradict each other. Values: ``what``, ``fields`` in order."""
    elastic = get_mapping(spec_of(target.job), "elastic")
    if elastic.get("enabled") is not True:
        return
    minimum, expected, maximum = ELASTIC_FIELDS
    empty = [field for field in ELASTIC_FIELDS if isinstance(elastic.get(field), int) and elastic[field] < 1]
    for field in empty:
        message = f"{_get_field_label(target, field)} is {elastic[field]}, but a job has at least 1 replica"
        yield _build_bounds_violation(target, field, message, [])
    for low, high, relation in (
        (minimum, maximum, "above"),
        (minimum, expected, "below"),
        (expected, maximum, "above"),
    ):
        smaller, larger = elastic.get(low), elastic.get(high)
        if low in empty or high in empty:
            continue
        if isinstance(smaller, int) and isinstance(larger, int) and smaller > larger:
            field, other_field = (low, high) if relation == "above" else (high, low)
            comparison = f"{_get_field_label(target, field)} {elastic[field]} is {relation} "
            message = f"{comparison}{_get_field_label(target, other_field)} {elastic[other_field]}"
            yield _build_bounds_violation(
                target, field, message, [(target.doc, (*ELASTIC_PATH, other_field), "the other limit")]
            )
            break


@check()
def elastic_missing_bounds(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """An elastic section without numbers, so that ``replicas`` takes effect. Value ``what``."""
    job = target.job
    elastic = get_mapping(spec_of(job), "elastic")
    if elastic.get("enabled") is not True or not (
        is_launched_by_torchrun(job) or has_trait(job, "deepspeed-by-controller")
    ):
        return
    minimum, expected, maximum = (_get_field_label(target, field) for field in ELASTIC_FIELDS)
    count = sum(
        number for role in get_replica_specs(job) if isinstance(number := role.data.get("replicas", 1), int)
    )
    if "expectedReplicas" not in elastic and get_replica_specs(job):
        side, bound = _find_exceeded_bound(elastic, count)
        if bound:
            message = (
                f"the job has {format_count(count, 'replica')}, {side} {_get_field_label(target, bound)} "
                f"{elastic[bound]}; {expected} is not set, so replicas applies"
            )
            related = [(target.doc, (*ELASTIC_PATH, bound), "the limit")]
            path = find_written_path(target.data, *get_replica_specs(job)[0].path, "replicas")
            yield Violation(path, {"what": message}, related)
            return
    created = format_count(elastic.get("expectedReplicas", count), "replica")
    effects = {
        "minReplicas": f"{minimum} is not set, so the job needs all of its {created} to start",
        "maxReplicas": f"{maximum} is not set, so the job cannot grow above its {created}",
    }
    missing = [effect for field, effect in effects.items() if field not in elastic]
    if len(missing) > 1:
        missing = [f"{minimum} and {maximum} are not set, so the job stays at its {created}"]
    for message in missing:
        yield Violation((*ELASTIC_PATH, "enabled"), {"what": message})


def _find_exceeded_bound(elastic: Mapping[str, Any], count: int) -> tuple[str, str]:
    """Describe which bound a number of replicas exceeds; empty if it is within the bounds."""
    minimum, maximum = elastic.get("minReplicas"), elastic.get("maxReplicas")
    if isinstance(minimum, int) and count < minimum:
        return "below", "minReplicas"
    if isinstance(maximum, int) and count > maximum:
        return "above", "maxReplicas"
    return "", ""


def _get_field_label(target: Target, field: str) -> str:
    """Return the name of an elastic field in the source file: a profile or a CR."""
    return ELASTIC_FIELDS[field] if target.job.profile is not None else field


def _build_bounds_violation(
    target: Target, field: str, message: str, related: list[tuple[TracedDocument, Path, str]]
) -> Violation:
    fields = " ≤ ".join(("1", *(_get_field_label(target, field) for field in ELASTIC_FIELDS)))
    return Violation((*ELASTIC_PATH, field), {"what": message, "fields": fields}, related)


@check()
def elastic_without_effect(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """An elastic job that does not start torchrun."""
    spec = spec_of(target.job)
    if get_mapping(spec, "elastic").get("enabled") is True and not is_launched_by_torchrun(target.job):
        yield Violation((*ELASTIC_PATH, "enabled"), related=find_torchrun_switch(target.job))


@check()
def elastic_static(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """An elastic job with a static rendezvous. Value ``nodes``: how many it waits for."""
    job = target.job
    if get_mapping(spec_of(job), "elastic").get("enabled") is not True or not is_launched_by_torchrun(job):
        return
    for launch in find_launches(job):
        facts = launch.torchrun
        if facts is not None and facts.backend == "static" and facts.node_range is not None:
            path = launch.locate_word(facts.find_option_word("rdzv_backend", launch.invocation.program_word))
            related = [(target.doc, ELASTIC_PATH, "the elastic section")]
            values = {"nodes": format_count(facts.node_range[1], "node")}
            yield Violation(path, values, related, doc=launch.group.doc, group=launch.group)
            return


@check()
def elastic_replicas(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A number of replicas of a profile that differs from its elastic section.

    Values: ``written``, ``field``, ``expected``.
    """
    if target.job.profile is not None:
        yield from _iter_overridden_replicas(target)


@check()
def overridden_replicas(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """The same in a CR, in which replicas may be a default. Values as of ``elastic_replicas``."""
    if target.job.profile is None:
        yield from _iter_overridden_replicas(target)


def _iter_overridden_replicas(target: Target) -> Iterator[Violation]:
    spec = spec_of(target.job)
    expected = get_mapping(spec, "elastic").get("expectedReplicas")
    uses_torchrun = is_launched_by_torchrun(target.job)
    if get_mapping(spec, "elastic").get("enabled") is not True or not isinstance(expected, int):
        return
    counted_specs = [
        role for role in get_replica_specs(target.job) if isinstance(role.data.get("replicas"), int)
    ]
    number = sum(role.data["replicas"] for role in counted_specs)
    if (
        counted_specs
        and number != expected
        and (uses_torchrun or has_trait(target.job, "deepspeed-by-controller"))
    ):
        related = [(target.doc, (*ELASTIC_PATH, "expectedReplicas"), "the field that overrides it")]
        field = _get_field_label(target, "expectedReplicas")
        values = {"written": number, "expected": expected, "field": field}
        replicas_path = (*counted_specs[0].path, "replicas")
        change = ("set", replicas_path, expected) if len(counted_specs) == 1 else None
        yield Violation(replicas_path, values, related=related, change=change, safe=True)


@check(aliases=("leaves-gpus",))
def workers_kept_after_end(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """Pods with GPUs that run sshd and keep running when the job has ended.

    Values: ``pods``, ``gpus``, ``field``: what to set, and ``value``: to what.
    """
    if has_trait(target.job, "ssh"):
        yield from _iter_leftover_pods(target)


@check(aliases=("leaves-waiting",))
def waiting_after_failure(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """Replicas with GPUs that end by themselves if none fails, and wait forever after a failure.

    Values: as of ``workers_kept_after_end``.
    """
    if not has_trait(target.job, "ssh") and not has_isolated_replicas(target.job):
        yield from _iter_leftover_pods(target)


def _iter_leftover_pods(target: Target) -> Iterator[Violation]:
    """Pods with GPUs that the clean-up of a job leaves running."""
    job = target.job
    if is_mode_enabled(job, "debug"):
        return
    with_gpus = find_gpu_pods(job)
    leftover = [group for group in find_training_pods(job) if group in with_gpus]
    pod_count, gpu_count = count_pods_and_gpus(leftover)
    if has_trait(job, "deepspeed-by-controller") and leftover:  # worker-0 runs deepspeed, and ends with it
        pod_count, gpu_count = pod_count - 1, gpu_count - count_gpus(leftover[0])
    clean_up = find_clean_up(job)
    # When the job ends, at least one of the replicas that train together has failed or completed.
    kept_count = pod_count if has_trait(job, "ssh") else pod_count - 1
    if clean_up is not None and kept_count > 0 and leaves_replicas(job, clean_up):
        counts = {"pods": format_count(pod_count, "Pod"), "gpus": format_count(gpu_count, "GPU")}
        values = {**counts, "field": ".".join(clean_up.field), "value": clean_up.ending_value}
        yield Violation(find_written_path(target.data, "spec", *clean_up.field), values)


@check()
def debug_holds_gpus(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """Debug mode with GPUs. Values: ``pods``, ``gpus``."""
    if not is_mode_enabled(target.job, "debug"):
        return
    pod_count, gpu_count = count_pods_and_gpus(find_gpu_pods(target.job))
    if gpu_count:
        counts = {"pods": format_count(pod_count, "Pod"), "gpus": format_count(gpu_count, "GPU")}
        yield Violation(("spec", "runMode", "debug", "enabled"), counts)


@check()
def debug_without_deadline(subject: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """Debug mode with GPUs in several Pods that no deadline ends. Values: ``pods``, ``gpus``."""
    job = subject.job
    if not is_mode_enabled(job, "debug") or is_mode_enabled(job, "pause"):
        return
    holders = find_gpu_pods(job)
    number, together = count_pods_and_gpus(holders)
    is_limited = get_mapping(spec_of(job), "runPolicy").get("activeDeadlineSeconds") is not None or any(
        get_mapping(group.doc.data, "spec").get("activeDeadlineSeconds") is not None for group in holders
    )
    is_limited = is_limited or all(map(_only_sleeps, holders))
    if number > 1 and together and not is_limited and not _ends_with_launcher(job):
        held = {"pods": format_count(number, "Pod"), "gpus": format_count(together, "GPU")}
        related = [(subject.doc, ("spec", "runMode", "debug"), "the debug mode")]
        yield Violation(("spec", "runMode", "debug", "enabled"), held, related)


def _ends_with_launcher(job: LoweredJob) -> bool:
    """Whether the launcher ends in debug mode, and the clean-up of the job then ends the workers."""
    clean_up = find_clean_up(job)
    if not has_trait(job, "launcher-replica") or clean_up is None or leaves_replicas(job, clean_up):
        return False
    launchers = [group for group in job.pods if group.replica_type == "launcher"]
    return bool(launchers) and all(map(_only_sleeps, launchers))


def _only_sleeps(group: ReplicaGroup) -> bool:
    """Whether the training container of a Pod sleeps for a time, and then ends."""
    found = find_training_container(group)
    process = process_of(found[1]) if found is not None else None
    return process is not None and process.name == "sleep" and endings.find_endless(process) is None


@check(params=object_schema({"hours": COUNT}))
def debug_in_production(target: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """Debug mode with GPUs in a job that looks like a real run. Values: ``gpus``, ``why``."""
    job = target.job
    gpu_count = count_pods_and_gpus(find_gpu_pods(job))[1]
    if not is_mode_enabled(job, "debug") or is_mode_enabled(job, "pause") or not gpu_count:
        return
    labels = get_mapping(get_mapping(target.data, "metadata"), "labels")
    deadline = get_mapping(spec_of(job), "runPolicy").get("activeDeadlineSeconds")
    path: Path = ()
    reason = ""
    for name, value in labels.items():
        is_stage = name.rpartition("/")[2].lower() in _STAGE_LABELS
        if is_stage and str(value).lower() in _PRODUCTION:
            path, reason = ("metadata", "labels", name), f"its label {name} is {value}"
        is_trigger = name.rpartition("/")[2].lower() in _TRIGGER_LABELS
        if is_trigger and _SCHEDULES.search(str(value).lower()):
            path, reason = (
                ("metadata", "labels", name),
                f"its label {name} is {value}: nobody is there to debug",
            )
    name = get_job_name(job).lower()
    if not reason and _SCHEDULES.search(name) and not (_is_try(name) or _SESSIONS.search(name)):
        path, reason = ("metadata", "name"), f"its name {name} is that of a scheduled run"
    if not reason and isinstance(deadline, int) and deadline > params["hours"] * 3600:
        path = ("spec", "runPolicy", "activeDeadlineSeconds")
        reason = f"its deadline is {deadline // 3600} hours"
    if reason:
        related = [(target.doc, path, "the reason")]
        values = {"gpus": format_count(gpu_count, "GPU"), "why": reason}
        yield Violation(("spec", "runMode", "debug", "enabled"), values, related)


@check()
def deadline_in_pod_template(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A deadline in the Pod template of a job with a much longer one, or none.

    Values: ``seconds``, ``type``, ``limit``.
    """
    job = target.job
    of_job = find_job_deadline(job)
    for group in job.pods:
        if find_pod_jobs(job, group) is None:
            continue
        seconds = get_mapping(group.doc.data, "spec").get("activeDeadlineSeconds")
        if limit := _describe_longer(seconds, list_deadlines(job, group)):
            values = {"seconds": seconds, "type": format_type_of(group), "limit": limit}
            yield Violation(("spec", "activeDeadlineSeconds"), values, doc=group.doc, group=group)
    for replica_spec in get_replica_specs(job):
        seconds = get_mapping(get_mapping(replica_spec.data, "template"), "spec").get("activeDeadlineSeconds")
        if limit := _describe_longer(seconds, [of_job] if of_job is not None else []):
            path = (*replica_spec.path, "template", "spec", "activeDeadlineSeconds")
            related = [(of_job.doc, of_job.path, "the deadline of the job")] if of_job is not None else []
            values = {"seconds": seconds, "type": f" of {replica_spec.type}", "limit": limit}
            yield Violation(path, values, related)


def _describe_longer(seconds: object, deadlines: Sequence[Deadline]) -> str:
    """Return the deadline of a job if Pods end long before it, else ""."""
    if seconds is None or not deadlines:
        return "has no deadline" if seconds is not None else ""
    longest = [one.seconds for one in deadlines]
    is_longer = type(seconds) is int and all(
        type(one) is int and one >= seconds * _TIMES_LONGER for one in longest
    )
    return f"may run {min(longest)} s" if is_longer else ""


@check(params=object_schema({"seconds": COUNT}))
def deadline_too_short(target: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """A deadline of 0, or one of less than ``params["seconds"]`` in a job with GPUs. Values: ``seconds``,
    ``what``."""
    job = target.job
    if is_mode_enabled(job, "debug"):
        return
    what, deadline = "the job", find_zero_deadline(job)
    if deadline is None and not _is_try(get_job_name(job)) and _trains(job):
        holders = find_gpu_pods(job)
        found = (one for group in holders for one in list_deadlines(job, group))
        deadline = next((one for one in found if _is_short(one.seconds, params["seconds"])), None)
        what += f" with {format_count(count_pods_and_gpus(holders)[1], 'GPU')}"
    if deadline is not None:
        yield Violation(deadline.path, {"seconds": deadline.seconds, "what": what}, doc=deadline.doc)


def _is_try(name: str) -> bool:
    return not _TRIES.isdisjoint(name.replace(".", "-").split("-"))


def _trains(job: LoweredJob) -> bool:
    """Whether a job trains; for generic kinds its command line decides."""
    return not has_trait(job, "ranks-by-user") or bool(find_launches(job))


def _is_short(seconds: Any, limit: int) -> bool:
    return isinstance(seconds, int) and 0 < seconds < limit


@check()
def no_deadline(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A job with GPUs and without a deadline. Values: ``gpus``."""
    job = target.job
    if is_mode_enabled(job, "debug") or not _trains(job):
        return
    holders = [group for group in find_gpu_pods(job) if not list_deadlines(job, group)]
    _, gpu_count = count_pods_and_gpus(holders)
    if gpu_count:
        doc, path = locate_missing_deadline(job, holders[0])
        yield Violation(path, {"gpus": format_count(gpu_count, "GPU")}, doc=doc)
