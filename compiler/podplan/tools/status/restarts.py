"""Decides which replicas that have ended are restarted.

Source: docs/evidence/t9k-common.md#meaning-of-the-restart-policies,
docs/evidence/t9k-common.md#backoff-limit, docs/evidence/t9k-genericjob.md#restart-limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from podplan.core.findings import Path
from podplan.core.provenance import Behavior
from podplan.core.typing import NamedTuple
from podplan.kubernetes.accessors import get_mapping, get_number
from podplan.tools.status.observed_job import (
    ControllerDecision,
    ObservedJob,
    count_past_restarts,
    find_spec_paths,
    get_at,
)
from podplan.tools.status.replicas import ObservedReplica, describe_end, format_replicas, select_plural


class RestartBudget(NamedTuple):
    """The restarts that some replicas share: the limit, how many were used before, and the behavior that
    states it.

    ``sharing_behavior`` states that they share them.
    """

    limit: int
    used: int
    behavior: Behavior
    path: Path
    sharing_text: str
    sharing_behavior: Behavior


class RestartPolicy(NamedTuple):
    """The restart policy of a type: ``rule_behavior`` states its meaning, ``behavior`` why it applies."""

    name: str
    rule_behavior: Behavior
    behavior: Behavior
    path: Path
    budget: RestartBudget


class EndedReplica(NamedTuple):
    """The decision about one replica that has ended.

    ``restart_number`` is the number of its restart within the limit, 0 if it is not restarted; ``reason`` is
    then what prevents it: policy, code, limit, order (others get the last ones), kind or job (it has ended).
    ``policy`` is None for a kind without restarts.
    """

    replica: ObservedReplica
    policy: RestartPolicy | None
    restart_number: int = 0
    reason: str = ""

    @property
    def is_restarted(self) -> bool:
        return self.restart_number > 0


def decide_restarts(job: ObservedJob) -> list[EndedReplica]:
    """Decide about each replica that has ended and could be restarted, in their order.

    A completed replica could only restart under the policy Always. If the limit does not suffice, the first
    replicas restart.
    """
    if job.rules.restart_policy_path is None:
        return [EndedReplica(one, None, 0, "kind") for one in job.replicas if one.phase == "Failed"]
    policies = _resolve_policies(job)
    used = dict.fromkeys(policies, 0)
    ended_replicas = []
    for replica in job.replicas:
        policy = policies[replica.type]
        if replica.phase == "Failed" or (replica.phase == "Succeeded" and policy.name == "Always"):
            pool = next(iter(used)) if job.rules.shares_restarts else replica.type
            obstacle = _find_obstacle(policy, replica, used[pool])
            used[pool] += not obstacle
            ended_replicas.append(
                EndedReplica(replica, policy, 0 if obstacle else policy.budget.used + used[pool], obstacle)
            )
    return ended_replicas


def _find_obstacle(policy: RestartPolicy, replica: ObservedReplica, used: int) -> str:
    """Return what prevents a restart of a replica, or ""; ``used`` are the restarts in this step."""
    if policy.name == "Never":
        return "policy"
    if policy.name == "ExitCode" and replica.exit_code not in policy.rule_behavior.value:
        return "code"
    if policy.budget.used + used < policy.budget.limit:
        return ""
    return "order" if policy.budget.used < policy.budget.limit else "limit"


def _resolve_policies(job: ObservedJob) -> dict[str, RestartPolicy]:
    """Return the restart policies of the types that have replicas."""
    paths, past_restarts = find_spec_paths(job), count_past_restarts(job)
    shared_restarts = _count_shared_restarts(job, past_restarts)
    return {
        type_: _resolve_policy(
            job, paths.get(type_, ()), type_, shared_restarts if job.rules.shares_restarts else used
        )
        for type_, used in past_restarts.items()
    }


def _resolve_policy(job: ObservedJob, spec: Path, type_: str, used: int) -> RestartPolicy:
    assert job.rules.restart_policy_path is not None
    path = (*spec, *job.rules.restart_policy_path)
    policy_field, behavior = (
        get_at(job.cr, path),
        job.options.resolve_behavior(job.rules.default_restart_policy),
    )
    if isinstance(policy_field, str) and policy_field in job.rules.behaviors.restart_policies:
        rule = job.options.resolve_behavior(job.rules.behaviors.restart_policies[policy_field])
        return RestartPolicy(policy_field, rule, rule, path, _resolve_budget(job, spec, type_, used))
    return RestartPolicy(
        behavior.value,
        job.options.resolve_behavior(job.rules.behaviors.restart_policies[behavior.value]),
        behavior,
        (),
        _resolve_budget(job, spec, type_, used),
    )


def _resolve_budget(job: ObservedJob, spec: Path, type_: str, used: int) -> RestartBudget:
    path = (
        job.rules.restart_limit_path if job.rules.shares_restarts else (*spec, *job.rules.restart_limit_path)
    )
    sharing_text = "all replicas share" if job.rules.shares_restarts else f"the replicas of {type_} share"
    limit_field, behavior = get_at(job.cr, path), job.options.resolve_behavior(job.rules.restart_limit)
    sharing = behavior if job.rules.shares_restarts else job.rules.behaviors.restart_limit_shared
    if isinstance(limit_field, int):
        return RestartBudget(limit_field, used, behavior, path, sharing_text, sharing)
    return RestartBudget(int(behavior.value), used, behavior, (), sharing_text, sharing)


def _count_shared_restarts(job: ObservedJob, past_restarts: dict[str, int]) -> int:
    """Return the restarts of all replicas so far: backoffCount, or the total of the types."""
    declared_restarts = sum(one.restarts for one in job.replicas)
    return max(
        get_number(get_mapping(job.cr, "status"), "backoffCount") + declared_restarts,
        sum(past_restarts.values()),
    )


def build_restart_decisions(
    job: ObservedJob, ended_replicas: list[EndedReplica]
) -> Iterator[ControllerDecision]:
    """Yield a decision for each run of replicas with the same result."""
    for _, similar in groupby(ended_replicas, key=_group_key):
        run = list(similar)
        run_replicas = tuple(one.replica for one in run)
        behavior, path = _find_reason(job, run[0])
        yield ControllerDecision("restart", _format_sentence(run), behavior, run_replicas, path)


def _find_reason(job: ObservedJob, ended_replica: EndedReplica) -> tuple[Behavior, Path]:
    """Return the behavior that decides about a replica, and the field that it is based on."""
    if ended_replica.policy is None:
        return job.rules.restart_limit, ()
    if ended_replica.reason == "job":
        return job.rules.behaviors.restart_when_ended, ()
    if ended_replica.reason == "order":
        return job.rules.behaviors.restart_order, ended_replica.policy.budget.path
    if ended_replica.reason == "limit":
        budget = ended_replica.policy.budget
        return (budget.behavior if budget.limit <= 0 else budget.sharing_behavior), budget.path
    return ended_replica.policy.behavior, ended_replica.policy.path


def _group_key(ended_replica: EndedReplica) -> tuple[object, ...]:
    return (
        ended_replica.replica.type,
        describe_end(ended_replica.replica),
        ended_replica.is_restarted,
        ended_replica.reason,
        ended_replica.policy,
    )


def _format_sentence(run: list[EndedReplica]) -> str:
    first, policy = run[0], run[0].policy
    verb = select_plural(run, "is", "are")
    subject = f"{format_replicas([one.replica for one in run])} {describe_end(first.replica)} and {verb}"
    if policy is None:
        return f"{subject} not started again: a replica that starts anew cannot join the training"
    if first.is_restarted:
        return (
            f"{subject} started again: the policy is {policy.name};"
            f" {_format_restart_numbers(run, policy.budget)}"
        )
    reason = f"the policy is {policy.name}"
    if first.reason == "code":
        codes = ", ".join(str(code) for code in policy.rule_behavior.value)
        reason += f", which restarts only after {' or '.join(codes.rsplit(', ', 1)) or 'no code'}"
    if first.reason == "limit":
        reason += f", but {_format_used_up(policy.budget)}"
    if first.reason == "order":
        does = "does" if policy.budget.limit == 1 else "do"
        reason += (
            f", but {_format_restart_count(policy.budget)} that {policy.budget.sharing_text} {does} not"
            " suffice for all"
        )
    if first.reason == "job":
        reason = "the job has ended"
    return f"{subject} not started again: {reason}"


def _format_used_up(budget: RestartBudget) -> str:
    if budget.limit <= 0:
        return f"no restarts are granted (the limit is {budget.limit})"
    return (
        f"{_format_restart_count(budget)} that {budget.sharing_text} {'is' if budget.limit == 1 else 'are'}"
        " used up"
    )


def _format_restart_count(budget: RestartBudget) -> str:
    return "the only restart" if budget.limit == 1 else f"the {budget.limit} restarts"


def _format_restart_numbers(run: list[EndedReplica], budget: RestartBudget) -> str:
    """Format which restarts these are, of how many."""
    if budget.limit == 1:
        return f"it is the only restart that {budget.sharing_text}"
    first, last = run[0].restart_number, run[-1].restart_number
    numbers = f"restart {first}" if first == last else f"restarts {first} to {last}"
    return f"{numbers} of the {budget.limit} that {budget.sharing_text}"
