"""The end of a batch/v1 Job by its Pods, and the Pods that are re-created.

Source: docs/evidence/jobset.md#end-of-a-job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from podplan.core.findings import Path
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.status_rules import JobBehaviors
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.tools.status.observed_job import ControllerDecision
from podplan.tools.status.replicas import ObservedReplica, describe_end, format_replicas, select_plural

_DEFAULT_BACKOFF_LIMIT = 6
# Reasons of a Pod that a disruption ended, as its condition DisruptionTarget states.
_DISRUPTIONS = ("Evicted", "Preempting", "NodeLost", "NodeShutdown", "Shutdown", "Terminated")


class JobView(NamedTuple):
    """A Job with its Pods; ``path`` leads to its spec in the CR, () if it is written elsewhere.

    ``type`` is the replicated job that it belongs to.
    """

    name: str
    type: str
    spec: Mapping[str, Any]
    replicas: tuple[ObservedReplica, ...]
    path: Path
    namespace: str
    elapsed: int | None

    def find_path(self, field: str) -> Path:
        """Return the path of a field of the Job; () if it is not stated, or not in the CR."""
        return (*self.path, field) if self.path and field in self.spec else ()

    @property
    def is_indexed(self) -> bool:
        return self.spec.get("completionMode") == "Indexed"

    @property
    def parallelism(self) -> int:
        return int(self.spec.get("parallelism", 1))


class JobEnd(NamedTuple):
    """The state of a Job: ``phase`` is Active, Complete or Failed.

    ``reason`` and ``message`` are those of its condition. ``failed`` is how many Pods count as failed,
    ``recreated`` are those that the controller replaces.
    """

    job: JobView
    phase: str
    reason: str = ""
    message: str = ""
    decisions: tuple[ControllerDecision, ...] = ()
    failed: int = 0
    recreated: frozenset[str] = frozenset()

    @property
    def has_failures(self) -> bool:
        """Whether the Job, or one of its Pods, has failed."""
        return self.phase == "Failed" or any(one.phase == "Failed" for one in self.job.replicas)

    @property
    def ready(self) -> bool:
        """Whether as many Pods run or have succeeded as run in parallel."""
        ready = sum(one.phase in ("Running", "Succeeded") for one in self.job.replicas)
        return ready >= min(self.job.parallelism, len(self.job.replicas))


class _Rule(NamedTuple):
    """The action of a podFailurePolicy for a failed Pod, and the number of the rule."""

    action: str
    number: int = 0


def decide_job(job: JobView, behaviors: JobBehaviors) -> JobEnd:
    """Decide how a Job ends, if it does, and which of its Pods are re-created."""
    failed = [one for one in job.replicas if one.phase == "Failed"]
    rules = {one.short_name: _match_rule(job, one) for one in failed}
    ending = (
        _find_deadline(job, behaviors)
        or _find_failing_rule(job, failed, rules, behaviors)
        or _find_failure_of_indexes(job, failed, rules, behaviors)
        or _find_backoff(job, failed, rules, behaviors)
        or _find_success(job, behaviors)
    )
    counted = sum(rules[one.short_name].action != "Ignore" for one in failed)
    lost_indexes = _list_failed_indexes(job, failed, rules)
    recreated = [one for one in failed if ending is None and one.short_name not in lost_indexes]
    decisions = [_explain_failed_pod(job, one, rules, one in recreated, behaviors) for one in failed]
    if ending is None:
        decisions.append(_explain_undecided(job, behaviors))
        names = frozenset(one.short_name for one in recreated)
        return JobEnd(job, "Active", decisions=tuple(decisions), failed=counted, recreated=names)
    return ending._replace(decisions=(*decisions, *ending.decisions), failed=counted)


def _fill(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _end(
    job: JobView,
    behaviors: JobBehaviors,
    phase: str,
    reason: str,
    text: str,
    replicas: Sequence[ObservedReplica] = (),
    field: str = "",
    **values: str,
) -> JobEnd:
    topic, behavior = "failure", behaviors.failure
    if phase == "Complete":
        topic, behavior = "success", behaviors.success
    elif reason == "DeadlineExceeded":
        behavior = behaviors.deadline
    path = job.find_path(field) if field else ()
    decision = ControllerDecision(topic, f"the Job {job.name} {text}", behavior, tuple(replicas), path)
    return JobEnd(job, phase, reason, _fill(behaviors.messages[reason], values), (decision,))


def _find_deadline(job: JobView, behaviors: JobBehaviors) -> JobEnd | None:
    deadline = job.spec.get("activeDeadlineSeconds")
    if not isinstance(deadline, int) or job.elapsed is None or job.elapsed < deadline:
        return None
    text = f"fails: it ran for {job.elapsed} s, and activeDeadlineSeconds is {deadline}"
    return _end(job, behaviors, "Failed", "DeadlineExceeded", text, field="activeDeadlineSeconds")


def _match_rule(job: JobView, replica: ObservedReplica) -> _Rule:
    """Return the first rule of the podFailurePolicy that matches a failed Pod."""
    for index, rule in get_entries(get_mapping(job.spec, "podFailurePolicy"), "rules"):
        codes = get_mapping(rule, "onExitCodes")
        if codes and replica.exit_code is not None:
            listed = replica.exit_code in (codes.get("values") or ())
            if listed == (codes.get("operator") == "In"):
                return _Rule(get_text(rule, "action"), index)
        is_disrupted = replica.reason in _DISRUPTIONS
        conditions = [one for _, one in get_entries(rule, "onPodConditions")]
        if is_disrupted and any(one.get("type") == "DisruptionTarget" for one in conditions):
            return _Rule(get_text(rule, "action"), index)
    return _Rule("Count")


def _find_failing_rule(
    job: JobView, failed: Sequence[ObservedReplica], rules: Mapping[str, _Rule], behaviors: JobBehaviors
) -> JobEnd | None:
    for replica in failed:
        rule = rules[replica.short_name]
        if rule.action == "FailJob":
            containers = get_entries(get_mapping(get_mapping(job.spec, "template"), "spec"), "containers")
            return _end(
                job,
                behaviors,
                "Failed",
                "PodFailurePolicy",
                f"fails by its podFailurePolicy: {replica.short_name} {describe_end(replica)}",
                (replica,),
                "podFailurePolicy",
                container=get_text(containers[0][1], "name") if containers else "",
                namespace=job.namespace,
                pod=replica.name,
                code=str(replica.exit_code),
                rule=str(rule.number),
            )
    return None


def _list_failed_indexes(
    job: JobView, failed: Sequence[ObservedReplica], rules: Mapping[str, _Rule]
) -> set[str]:
    """Return the failed Pods whose index has failed finally."""
    limit = job.spec.get("backoffLimitPerIndex")
    return {
        one.short_name
        for one in failed
        if rules[one.short_name].action == "FailIndex"
        or (isinstance(limit, int) and rules[one.short_name].action != "Ignore" and one.restarts + 1 > limit)
    }


def _find_failure_of_indexes(
    job: JobView, failed: Sequence[ObservedReplica], rules: Mapping[str, _Rule], behaviors: JobBehaviors
) -> JobEnd | None:
    lost = _list_failed_indexes(job, failed, rules)
    replicas = [one for one in failed if one.short_name in lost]
    most = job.spec.get("maxFailedIndexes")
    if isinstance(most, int) and len(lost) > most:
        text = f"fails: {len(lost)} indexes have failed, and maxFailedIndexes is {most}"
        return _end(job, behaviors, "Failed", "MaxFailedIndexesExceeded", text, replicas, "maxFailedIndexes")
    has_ended = all(one.phase == "Succeeded" or one.short_name in lost for one in job.replicas)
    if lost and has_ended and len(job.replicas) == job.spec.get("completions"):
        text = f"fails: {format_replicas(replicas)} {select_plural(replicas, 'has', 'have')} failed for good"
        return _end(job, behaviors, "Failed", "FailedIndexes", text, replicas, "backoffLimitPerIndex")
    return None


def _find_backoff(
    job: JobView, failed: Sequence[ObservedReplica], rules: Mapping[str, _Rule], behaviors: JobBehaviors
) -> JobEnd | None:
    limit = job.spec.get("backoffLimit")
    if not isinstance(limit, int):
        if "backoffLimitPerIndex" in job.spec:
            return None
        limit = _DEFAULT_BACKOFF_LIMIT
    pod = get_mapping(get_mapping(job.spec, "template"), "spec")
    counted = [one for one in failed if rules[one.short_name].action != "Ignore"]
    restarts = sum(one.restarts for one in job.replicas)
    if pod.get("restartPolicy") == "OnFailure":
        is_reached = len(counted) > limit or (restarts >= limit if limit else restarts > 0)
    else:
        is_reached = len(counted) + restarts > limit
    if not is_reached or not (counted or restarts):
        return None
    default = "" if "backoffLimit" in job.spec else ", the default"
    count = len(counted) + restarts
    times = "once" if count == 1 else f"{count} times"
    text = f"fails: Pods have failed {times}, and backoffLimit is {limit}{default}"
    return _end(job, behaviors, "Failed", "BackoffLimitExceeded", text, counted, "backoffLimit")


def _find_success(job: JobView, behaviors: JobBehaviors) -> JobEnd | None:
    succeeded = [one for one in job.replicas if one.phase == "Succeeded"]
    for index, rule in get_entries(get_mapping(job.spec, "successPolicy"), "rules"):
        if _is_met(rule, {one.completion_index for one in succeeded}):
            text = f"succeeds by its successPolicy: {format_replicas(succeeded)} completed"
            return _end(
                job, behaviors, "Complete", "SuccessPolicy", text, succeeded, "successPolicy", rule=str(index)
            )
    completions = job.spec.get("completions")
    is_queue = completions is None and not job.is_indexed
    has_ended = all(one.phase in ("Succeeded", "Deleted") for one in job.replicas)
    if succeeded and (has_ended if is_queue else len(succeeded) >= int(completions or 1)):
        text = f"succeeds: {format_replicas(succeeded)} {select_plural(succeeded, 'has', 'have')} completed"
        return _end(job, behaviors, "Complete", "CompletionsReached", text, succeeded)
    return None


def _is_met(rule: Mapping[str, Any], succeeded: set[int]) -> bool:
    """Whether indexes fulfil a rule of a successPolicy."""
    written, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    wanted = _parse_indexes(written) if isinstance(written, str) else None
    present = succeeded if wanted is None else wanted & succeeded
    if isinstance(count, int):
        return len(present) >= count
    return wanted is not None and bool(wanted) and wanted <= succeeded


def _parse_indexes(text: str) -> set[int]:
    """Parse the indexes of a text such as 0,2-4; empty for another text."""
    indexes: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if first.isdigit() and (last.isdigit() or not dash) and len(first) < 8 and len(last) < 8:
            indexes.update(range(int(first), int(last or first) + 1))
    return indexes


def _explain_failed_pod(
    job: JobView,
    replica: ObservedReplica,
    rules: Mapping[str, _Rule],
    is_recreated: bool,
    behaviors: JobBehaviors,
) -> ControllerDecision:
    action = rules[replica.short_name].action
    effect = "a new Pod takes its place" if is_recreated else "no new Pod takes its place"
    if action == "Ignore":
        effect += ", and the failure does not count"
    field = "podFailurePolicy" if action != "Count" else "backoffLimit"
    text = f"{replica.short_name} {describe_end(replica)}: {effect}"
    return ControllerDecision("restart", text, behaviors.restarts, (replica,), job.find_path(field))


def _explain_undecided(job: JobView, behaviors: JobBehaviors) -> ControllerDecision:
    awaited = tuple(one for one in job.replicas if one.phase != "Succeeded")
    completions = job.spec.get("completions")
    more = ""
    if isinstance(completions, int) and completions > len(job.replicas):
        more = f" and {completions - len(job.replicas)} more Pods, which run later"
    text = f"not decided yet: the Job {job.name} waits for {format_replicas(awaited) or 'no Pod'}{more}"
    return ControllerDecision("success", text, behaviors.success, awaited, job.find_path("completions"))
