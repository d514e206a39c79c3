"""successRules and failureRules of a GenericJob, and what holds without them.

Source: docs/evidence/t9k-genericjob.md#success-rules, docs/evidence/t9k-genericjob.md#no-success-rules.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from podplan.core.findings import Path
from podplan.core.provenance import Fact
from podplan.core.typing import Any
from podplan.kinds.t9k.behaviors import job_status, termination
from podplan.kubernetes.accessors import entries, mapping
from podplan.tools.status.observed_job import Decision, Observed
from podplan.tools.status.outcome import Outcome, fails, succeeds, undecided
from podplan.tools.status.replicas import Replica, how_it_ended, named, plural

Final = Mapping[str, bool]  # of each replica that has ended and stays so, by Pod: whether it completed
Places = Mapping[tuple[str, int], Replica]  # replicas by type and rank
Rule = tuple[Path, dict[str, Any]]  # a rule, and where it stands in the CR

_LONGEST_RANK = 9  # digits


def by_rules(job: Observed, final: Final) -> Outcome:
    """How a job ends that rules decide over: by success first, then by failure, then because none is left."""
    by_place = {(one.type, one.rank): one for one in job.replicas}
    successes, failures = _rules(job, "successRules"), _rules(job, "failureRules")
    for path, rule in successes:
        if _fulfilled(rule, by_place, final, completed=True):
            return _succeeded(job, _listed(rule, by_place), termination.SUCCESS_RULES, path)
    if not successes and job.replicas and all(final.get(one.name) for one in job.replicas):
        return _succeeded(job, list(job.replicas), termination.SUCCESS_WITHOUT_RULES, ())
    for path, rule in failures:
        if _fulfilled(rule, by_place, final, completed=False):
            return _failed(job, rule, _listed(rule, by_place), path)
    wanted = [_listed(rule, by_place) for _, rule in successes] if successes else [list(job.replicas)]
    blocking = [[one for one in listed if final.get(one.name) is False] for listed in wanted]
    if all(blocking):
        return _out_of_reach(job, {one.name for listed in blocking for one in listed}, bool(successes))
    return undecided(_not_yet(successes, bool(failures), by_place))


def _rules(job: Observed, key: str) -> list[Rule]:
    return [(("spec", key, index), rule) for index, rule in entries(mapping(job.cr, "spec"), key)]


def _ranks(rule: Mapping[str, Any]) -> dict[str, list[str]]:
    """The ranks that a rule lists, as texts, by replica type."""
    return {
        type_: [str(rank) for rank in ranks if isinstance(rank, int | str)]
        for type_, ranks in rule.items()
        if isinstance(ranks, list)
    }


def _wanted(rule: Mapping[str, Any]) -> list[tuple[str, int]]:
    """The replicas that a rule lists; rank -1 stands for what is none."""
    return [
        (type_, int(rank) if rank.isdecimal() and len(rank) <= _LONGEST_RANK else -1)
        for type_, ranks in _ranks(rule).items()
        for rank in ranks
    ]


def _listed(rule: Mapping[str, Any], by_place: Places) -> list[Replica]:
    """The replicas that a rule lists and that the job has."""
    return [by_place[place] for place in _wanted(rule) if place in by_place]


def _fulfilled(rule: Mapping[str, Any], by_place: Places, final: Final, *, completed: bool) -> bool:
    """Whether all replicas that a rule lists are there and have ended in this way; never for an empty one."""
    wanted = _wanted(rule)
    return bool(wanted) and all(
        place in by_place and final.get(by_place[place].name) is completed for place in wanted
    )


def _succeeded(job: Observed, listed: list[Replica], fact: Fact, path: Path) -> Outcome:
    why = f"{named(listed)} {plural(listed, 'has', 'have')} completed"
    by = "one of its successRules" if path else "all replicas, for it has no successRules"
    text = f"the job succeeds by {by}: {why}"
    return succeeds(job, why, Decision("success", text, fact, tuple(listed), path))


def _failed(job: Observed, rule: dict[str, Any], listed: list[Replica], path: Path) -> Outcome:
    why = f"{named(listed)} {how_it_ended(listed[0]) if len(listed) == 1 else 'have failed'}"
    text = f"the job fails by one of its failureRules: {why}"
    decision = Decision("failure", text, termination.FAILURE_RULES, tuple(listed), path)
    written = json.dumps(_ranks(rule), separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return fails(job, why, decision, job_status.SAYS_FAILED_RULE, rule=written)


def _out_of_reach(job: Observed, names: set[str], has_rules: bool) -> Outcome:
    """A job that fails because of Pods that keep every success rule from being fulfilled."""
    blocking = tuple(one for one in job.replicas if one.name in names)
    means = "none of the successRules can be fulfilled any more"
    fact = termination.RULES_OUT_OF_REACH
    if not has_rules:
        means, fact = "not all replicas can complete", termination.FAILURE_WITHOUT_RULES
    why = f"{named(blocking)} {plural(blocking, 'has', 'have')} failed for good, and {means}"
    decision = Decision("failure", f"the job fails: {why}", fact, blocking)
    return fails(job, why, decision, job_status.SAYS_OUT_OF_REACH)._replace(adds=False)


def _not_yet(successes: Sequence[Rule], failures: bool, by_place: Places) -> Decision:
    """Why no rule decides."""
    if not successes:
        text = "not decided yet: the job has no successRules, and waits for all replicas"
        return Decision("success", text, termination.SUCCESS_WITHOUT_RULES)
    lacking = [[place for place in _wanted(rule) if place not in by_place] for _, rule in successes]
    if all(lacking):
        which = "-".join(map(str, lacking[0][0]))
        text = f"the job never succeeds: each of its successRules lists a replica that it lacks ({which})"
        return Decision("success", text, termination.SUCCESS_RULES, (), successes[0][0])
    waits = _listed(successes[0][1], by_place)
    first = f" (the first lists {named(waits)})" if waits else ""
    nor = ", and none of the failureRules" if failures else ""
    text = f"not decided yet: none of the successRules is fulfilled{first}{nor}"
    return Decision("success", text, termination.SUCCESS_RULES, (), successes[0][0])
