"""successRules and failureRules of a GenericJob, and the defaults without them.

Source: docs/evidence/t9k-genericjob.md#success-rules, docs/evidence/t9k-genericjob.md#no-success-rules.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from podplan.core.findings import Path
from podplan.core.provenance import Behavior
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping
from podplan.tools.status.observed_job import ControllerDecision, ObservedJob
from podplan.tools.status.outcome import JobOutcome, build_failure, build_success, build_undecided
from podplan.tools.status.replicas import ObservedReplica, describe_end, format_replicas, select_plural

SucceededByName = Mapping[
    str, bool
]  # of each replica that has ended and is not restarted, by Pod: whether it completed
ReplicaByPosition = Mapping[tuple[str, int], ObservedReplica]  # replicas by type and rank
RuleEntry = tuple[Path, dict[str, Any]]  # a rule, and its path in the CR

_MAX_RANK_DIGITS = 9  # digits


def decide_by_rules(job: ObservedJob, succeeded_by_name: SucceededByName) -> JobOutcome:
    """Decide how a job ends by its rules: by success first, then by failure, then because no rule can be
    met."""
    replica_by_position = {(one.type, one.rank): one for one in job.replicas}
    successes, failures = _list_rules(job, "successRules"), _list_rules(job, "failureRules")
    for path, rule in successes:
        if _is_fulfilled(rule, replica_by_position, succeeded_by_name, completed=True):
            return _build_rule_success(
                job, _list_replicas(rule, replica_by_position), job.rules.behaviors.success_rules, path
            )
    if not successes and job.replicas and all(succeeded_by_name.get(one.name) for one in job.replicas):
        return _build_rule_success(job, list(job.replicas), job.rules.behaviors.success_without_rules, ())
    for path, rule in failures:
        if _is_fulfilled(rule, replica_by_position, succeeded_by_name, completed=False):
            return _build_rule_failure(job, rule, _list_replicas(rule, replica_by_position), path)
    rule_replicas = (
        [_list_replicas(rule, replica_by_position) for _, rule in successes]
        if successes
        else [list(job.replicas)]
    )
    blocking_by_rule = [
        [one for one in listed if succeeded_by_name.get(one.name) is False] for listed in rule_replicas
    ]
    if all(blocking_by_rule):
        return _build_unreachable(
            job, {one.name for listed in blocking_by_rule for one in listed}, bool(successes)
        )
    return build_undecided(job, _explain_undecided(job, successes, bool(failures), replica_by_position))


def _list_rules(job: ObservedJob, key: str) -> list[RuleEntry]:
    return [(("spec", key, index), rule) for index, rule in get_entries(get_mapping(job.cr, "spec"), key)]


def _list_ranks(rule: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the ranks that a rule lists, as texts, by replica type."""
    return {
        type_: [str(rank) for rank in ranks if isinstance(rank, int | str)]
        for type_, ranks in rule.items()
        if isinstance(ranks, list)
    }


def _list_positions(rule: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return the replicas that a rule lists; rank -1 is an invalid one."""
    return [
        (type_, int(rank) if rank.isdecimal() and len(rank) <= _MAX_RANK_DIGITS else -1)
        for type_, ranks in _list_ranks(rule).items()
        for rank in ranks
    ]


def _list_replicas(rule: Mapping[str, Any], replica_by_position: ReplicaByPosition) -> list[ObservedReplica]:
    """Return the replicas that a rule lists and that the job has."""
    return [replica_by_position[place] for place in _list_positions(rule) if place in replica_by_position]


def _is_fulfilled(
    rule: Mapping[str, Any],
    replica_by_position: ReplicaByPosition,
    succeeded_by_name: SucceededByName,
    *,
    completed: bool,
) -> bool:
    """Whether all replicas that a rule lists exist and have ended in this way; never for an empty rule."""
    positions = _list_positions(rule)
    return bool(positions) and all(
        place in replica_by_position and succeeded_by_name.get(replica_by_position[place].name) is completed
        for place in positions
    )


def _build_rule_success(
    job: ObservedJob, listed_replicas: list[ObservedReplica], behavior: Behavior, path: Path
) -> JobOutcome:
    explanation = (
        f"{format_replicas(listed_replicas)} {select_plural(listed_replicas, 'has', 'have')} completed"
    )
    rule_text = "one of its successRules" if path else "all replicas, for it has no successRules"
    text = f"the job succeeds by {rule_text}: {explanation}"
    return build_success(
        job, explanation, ControllerDecision("success", text, behavior, tuple(listed_replicas), path)
    )


def _build_rule_failure(
    job: ObservedJob, rule: dict[str, Any], listed_replicas: list[ObservedReplica], path: Path
) -> JobOutcome:
    explanation = (
        f"{format_replicas(listed_replicas)}"
        f" {describe_end(listed_replicas[0]) if len(listed_replicas) == 1 else 'have failed'}"
    )
    text = f"the job fails by one of its failureRules: {explanation}"
    decision = ControllerDecision(
        "failure", text, job.rules.behaviors.failure_rules, tuple(listed_replicas), path
    )
    rule_json = json.dumps(_list_ranks(rule), separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return build_failure(job, explanation, decision, job.rules.behaviors.failed_rule_message, rule=rule_json)


def _build_unreachable(job: ObservedJob, names: set[str], has_rules: bool) -> JobOutcome:
    """Build the outcome of a job that fails because Pods prevent every success rule from being met."""
    blocking = tuple(one for one in job.replicas if one.name in names)
    consequence = "none of the successRules can be fulfilled any more"
    behavior = job.rules.behaviors.success_rules_unreachable
    if not has_rules:
        consequence, behavior = "not all replicas can complete", job.rules.behaviors.failure_without_rules
    explanation = (
        f"{format_replicas(blocking)} {select_plural(blocking, 'has', 'have')} failed for good, and"
        f" {consequence}"
    )
    decision = ControllerDecision("failure", f"the job fails: {explanation}", behavior, blocking)
    return build_failure(job, explanation, decision, job.rules.behaviors.out_of_reach_message)._replace(
        mentions_restarts=False
    )


def _explain_undecided(
    job: ObservedJob, successes: Sequence[RuleEntry], failures: bool, replica_by_position: ReplicaByPosition
) -> ControllerDecision:
    """Explain why no rule decides."""
    if not successes:
        text = "not decided yet: the job has no successRules, and waits for all replicas"
        return ControllerDecision("success", text, job.rules.behaviors.success_without_rules)
    missing_positions = [
        [place for place in _list_positions(rule) if place not in replica_by_position]
        for _, rule in successes
    ]
    if all(missing_positions):
        position_text = "-".join(map(str, missing_positions[0][0]))
        text = (
            "the job never succeeds: each of its successRules lists a replica that it lacks"
            f" ({position_text})"
        )
        return ControllerDecision("success", text, job.rules.behaviors.success_rules, (), successes[0][0])
    awaited = _list_replicas(successes[0][1], replica_by_position)
    first = f" (the first lists {format_replicas(awaited)})" if awaited else ""
    failure_note = ", and none of the failureRules" if failures else ""
    text = f"not decided yet: none of the successRules is fulfilled{first}{failure_note}"
    return ControllerDecision("success", text, job.rules.behaviors.success_rules, (), successes[0][0])
