"""Whether a job has succeeded or failed: by the replica that leads, by rules, or by the deadline."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from podplan import facts
from podplan.findings import Path
from podplan.kubernetes.shape import entries, mapping
from podplan.provenance import Fact
from podplan.status.job import Decision, Observed, at, leader
from podplan.status.replicas import Replica, how_it_ended, named, plural

DEADLINE_AT: Path = ("spec", "runPolicy", "activeDeadlineSeconds")
Final = Mapping[str, bool]  # of each replica that has ended and stays so, by Pod: whether it completed


class Outcome(NamedTuple):
    """How a job ends: ``phase`` is Succeeded, Failed or "" for not yet. ``says`` fills the conditions.

    ``why`` is what led there, for a headline; ``adds`` says whether that may add that nothing starts again.
    """

    phase: str
    why: str
    decision: Decision
    says: Fact = facts.SAYS_STILL_RUNNING
    message: str = ""
    adds: bool = True


def outcome(job: Observed, final: Final) -> Outcome:
    """How the job ends, from those of its replicas that have ended and are not started again."""
    found = _by_leader(job, final) if job.kind.leader else _by_rules(job, final)
    if found.phase == "Failed" or not _too_long(job):
        return found
    return _deadline(job)


def _too_long(job: Observed) -> bool:
    deadline = at(job.cr, DEADLINE_AT)
    return isinstance(deadline, int) and job.elapsed is not None and job.elapsed > deadline


def _deadline(job: Observed) -> Outcome:
    why = f"it ran for {job.elapsed} s, and activeDeadlineSeconds is {at(job.cr, DEADLINE_AT)}"
    decision = Decision("failure", f"the job fails: {why}", facts.DEADLINE, (), DEADLINE_AT)
    return Outcome("Failed", why, decision, facts.SAYS_DEADLINE, _said(job, facts.SAYS_DEADLINE))


def _by_leader(job: Observed, final: Final) -> Outcome:
    fact, lead = job.kind.outcome, leader(job)
    if lead is None:
        return Outcome("", "", Decision("success", "nothing decides: the job has no replica that does", fact))
    ended = how_it_ended(lead)
    if lead.name not in final:
        state = "is started again" if lead.ended else _state(lead)
        return Outcome(
            "", "", Decision("success", f"not decided yet: {lead.short} decides, and {state}", fact, (lead,))
        )
    if final[lead.name]:
        log = "; whether the training succeeded, only its log tells" if job.kind.says_finished else ""
        decision = Decision(
            "success", f"the job succeeds with {lead.short}, which completed{log}", fact, (lead,)
        )
        why = f"{lead.short} has completed{log}"
        return Outcome("Succeeded", why, decision, facts.SAYS_SUCCEEDED, _said(job, facts.SAYS_SUCCEEDED))
    decision = Decision("failure", f"the job fails with {lead.short}, which {ended}", fact, (lead,))
    says = job.kind.says_failed
    return Outcome("Failed", f"{lead.short} {ended}", decision, says, _said(job, says, lead))


def _state(replica: Replica) -> str:
    if replica.phase == "Running":
        return "is running"
    return {"Creating": "is being created", "Deleted": "is gone"}.get(replica.phase, f"is {replica.phase}")


def _by_rules(job: Observed, final: Final) -> Outcome:
    spec, by_place = mapping(job.cr, "spec"), {(one.type, one.rank): one for one in job.replicas}
    successes = [(("spec", "successRules", i), rule) for i, rule in entries(spec, "successRules")]
    failures = [(("spec", "failureRules", i), rule) for i, rule in entries(spec, "failureRules")]
    for path, rule in successes:
        if _fulfilled(rule, by_place, final, True):
            return _succeeded(job, _listed(rule, by_place), facts.SUCCESS_RULES, path)
    if not successes and job.replicas and all(final.get(one.name) for one in job.replicas):
        return _succeeded(job, list(job.replicas), facts.SUCCESS_WITHOUT_RULES, ())
    for path, rule in failures:
        if _fulfilled(rule, by_place, final, False):
            return _failed_by_rule(job, rule, _listed(rule, by_place), path)
    blocked = _out_of_reach(job, successes, by_place, final)
    if blocked:
        return _failed_out_of_reach(job, blocked)
    return Outcome("", "", _undecided(successes, by_place, bool(failures)))


def _ranks(rule: Mapping[str, Any]) -> list[tuple[str, int]]:
    """The replicas that a rule lists; ranks may be texts."""
    return [
        (type_, int(rank))
        for type_, ranks in rule.items()
        for rank in (ranks if isinstance(ranks, list) else ())
        if str(rank).isdecimal()
    ]


def _listed(rule: Mapping[str, Any], by_place: Mapping[tuple[str, int], Replica]) -> list[Replica]:
    return [by_place[place] for place in _ranks(rule) if place in by_place]


def _fulfilled(
    rule: Mapping[str, Any], by_place: Mapping[tuple[str, int], Replica], final: Final, completed: bool
) -> bool:
    """Whether all replicas that a rule lists are there and have ended in this way; never for an empty one."""
    places = _ranks(rule)
    return bool(places) and all(
        place in by_place and final.get(by_place[place].name) is completed for place in places
    )


def _out_of_reach(
    job: Observed,
    successes: Sequence[tuple[Path, dict[str, Any]]],
    by_place: Mapping[tuple[str, int], Replica],
    final: Final,
) -> list[Replica]:
    """The replicas that failed for good and keep every success rule from being fulfilled; else nobody."""
    wanted = [_listed(rule, by_place) for _, rule in successes] if successes else [list(job.replicas)]
    failed = [[one for one in listed if final.get(one.name) is False] for listed in wanted]
    if not all(failed):
        return []
    named_once = {one.name for listed in failed for one in listed}
    return [one for one in job.replicas if one.name in named_once]


def _succeeded(job: Observed, listed: list[Replica], fact: Fact, path: Path) -> Outcome:
    subject = f"{named(listed)} {plural(listed, 'has', 'have')} completed"
    by = "one of its successRules" if path else "all replicas, for it has no successRules"
    decision = Decision("success", f"the job succeeds by {by}: {subject}", fact, tuple(listed), path)
    return Outcome("Succeeded", subject, decision, facts.SAYS_SUCCEEDED, _said(job, facts.SAYS_SUCCEEDED))


def _failed_by_rule(job: Observed, rule: dict[str, Any], listed: list[Replica], path: Path) -> Outcome:
    subject = f"{named(listed)} {how_it_ended(listed[0]) if len(listed) == 1 else 'have failed'}"
    text = f"the job fails by one of its failureRules: {subject}"
    written = {type_: [str(rank) for rank in ranks] for type_, ranks in rule.items()}
    message = _said(job, facts.SAYS_FAILED_RULE).replace("{rule}", _compact(written))
    decision = Decision("failure", text, facts.FAILURE_RULES, tuple(listed), path)
    return Outcome("Failed", subject, decision, facts.SAYS_FAILED_RULE, message)


def _failed_out_of_reach(job: Observed, blocked: list[Replica]) -> Outcome:
    has_rules = bool(mapping(job.cr, "spec").get("successRules"))
    means = (
        "none of the successRules can be fulfilled any more" if has_rules else "not all replicas can complete"
    )
    subject = f"{named(blocked)} {plural(blocked, 'has', 'have')} failed for good, and {means}"
    fact = facts.RULES_OUT_OF_REACH if has_rules else facts.FAILURE_WITHOUT_RULES
    decision = Decision("failure", f"the job fails: {subject}", fact, tuple(blocked))
    message = _said(job, facts.SAYS_OUT_OF_REACH)
    return Outcome("Failed", subject, decision, facts.SAYS_OUT_OF_REACH, message, adds=False)


def _undecided(
    successes: Sequence[tuple[Path, dict[str, Any]]],
    by_place: Mapping[tuple[str, int], Replica],
    failures: bool,
) -> Decision:
    if not successes:
        text = "not decided yet: the job has no successRules, and waits for all replicas"
        return Decision("success", text, facts.SUCCESS_WITHOUT_RULES)
    missing = [place for _, rule in successes for place in _ranks(rule) if place not in by_place]
    if missing and all(any(p not in by_place for p in _ranks(rule)) for _, rule in successes):
        type_, rank = missing[0]
        text = (
            f"the job never succeeds: each of its successRules lists a replica that it lacks ({type_}-{rank})"
        )
        return Decision("success", text, facts.SUCCESS_RULES, (), successes[0][0])
    waits = [one.short for one in _listed(successes[0][1], by_place)]
    first = f" (the first lists {', '.join(waits[:6])}{', …' if len(waits) > 6 else ''})" if waits else ""
    nor = ", and none of the failureRules" if failures else ""
    text = f"not decided yet: none of the successRules is fulfilled{first}{nor}"
    return Decision("success", text, facts.SUCCESS_RULES, (), successes[0][0])


def _compact(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def _said(job: Observed, fact: Fact, replica: Replica | None = None) -> str:
    """The message that a fact gives, about the job and a replica."""
    return said(job.options.fact(fact), job, replica)


def said(fact: Fact, job: Observed, replica: Replica | None = None) -> str:
    """The text of a fact with the names and numbers of a job and a replica in it."""
    text = str(fact.value).replace("{kind}", job.cr["kind"]).replace("{job}", job.name)
    if replica is None:
        return text
    code = "unknown" if replica.code is None else str(replica.code)
    return text.replace("{pod}", replica.name).replace("{code}", code)
