"""Which replicas that have ended are started again.

Source: docs/evidence/t9k-common.md#meaning-of-the-restart-policies,
docs/evidence/t9k-common.md#backoff-limit, docs/evidence/t9k-genericjob.md#restart-limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from podplan.core.findings import Path
from podplan.core.provenance import Fact
from podplan.core.typing import NamedTuple
from podplan.kinds.t9k.behaviors import termination
from podplan.kubernetes.accessors import mapping, number
from podplan.tools.status.observed_job import Decision, Observed, at, restarted_before, specs
from podplan.tools.status.replicas import Replica, how_it_ended, named, plural

POLICIES = {
    "Never": termination.RESTART_NEVER_AGAIN,
    "OnFailure": termination.RESTART_ON_FAILURE,
    "Always": termination.RESTART_ALWAYS,
    "ExitCode": termination.RESTART_EXIT_CODE,
}


class Budget(NamedTuple):
    """The restarts that some replicas share: how many, how many were used before, and who says so.

    ``sharing`` is the fact that they share them.
    """

    limit: int
    used: int
    fact: Fact
    path: Path
    shared: str
    sharing: Fact


class Policy(NamedTuple):
    """The restart policy of a type: ``rule`` is what its name means, ``fact`` who says that it is it."""

    name: str
    rule: Fact
    fact: Fact
    path: Path
    budget: Budget


class Ended(NamedTuple):
    """What becomes of one replica that has ended.

    ``restart`` is the number of its restart among those granted, 0 where it stays as it is; ``why`` is then
    what forbids one: policy, code, limit, order (others get the last ones), kind or job (it has ended).
    ``policy`` is None for a kind without restarts.
    """

    replica: Replica
    policy: Policy | None
    restart: int = 0
    why: str = ""

    @property
    def again(self) -> bool:
        return self.restart > 0


def ended(job: Observed) -> list[Ended]:
    """What becomes of each replica that has ended and could be started again, in their order.

    What has completed could only under the policy Always. Restarts that do not suffice go to the first.
    """
    if job.kind.policy is None:
        return [Ended(one, None, 0, "kind") for one in job.replicas if one.phase == "Failed"]
    policies = _policies(job)
    used = dict.fromkeys(policies, 0)
    found = []
    for one in job.replicas:
        policy = policies[one.type]
        if one.phase == "Failed" or (one.phase == "Succeeded" and policy.name == "Always"):
            pool = next(iter(used)) if job.kind.shared else one.type
            forbidden = _forbidden(policy, one, used[pool])
            used[pool] += not forbidden
            found.append(Ended(one, policy, 0 if forbidden else policy.budget.used + used[pool], forbidden))
    return found


def _forbidden(policy: Policy, replica: Replica, used: int) -> str:
    """What keeps a replica from being started again, "" if nothing; ``used`` are the restarts of now."""
    if policy.name == "Never":
        return "policy"
    if policy.name == "ExitCode" and replica.code not in policy.rule.value:
        return "code"
    if policy.budget.used + used < policy.budget.limit:
        return ""
    return "order" if policy.budget.used < policy.budget.limit else "limit"


def _policies(job: Observed) -> dict[str, Policy]:
    """The restart policies of the types that have replicas."""
    paths, before = specs(job), restarted_before(job)
    shared = _shared_before(job, before)
    return {
        type_: _policy(job, paths.get(type_, ()), type_, shared if job.kind.shared else used)
        for type_, used in before.items()
    }


def _policy(job: Observed, spec: Path, type_: str, used: int) -> Policy:
    assert job.kind.policy is not None
    path = (*spec, *job.kind.policy)
    written, fact = at(job.cr, path), job.options.fact(job.kind.default_policy)
    if isinstance(written, str) and written in POLICIES:
        rule = job.options.fact(POLICIES[written])
        return Policy(written, rule, rule, path, _budget(job, spec, type_, used))
    return Policy(
        fact.value, job.options.fact(POLICIES[fact.value]), fact, (), _budget(job, spec, type_, used)
    )


def _budget(job: Observed, spec: Path, type_: str, used: int) -> Budget:
    path = job.kind.limit_at if job.kind.shared else (*spec, *job.kind.limit_at)
    shared = "all replicas share" if job.kind.shared else f"the replicas of {type_} share"
    written, fact = at(job.cr, path), job.options.fact(job.kind.limit)
    sharing = fact if job.kind.shared else termination.RESTART_LIMIT_SHARED
    if isinstance(written, int):
        return Budget(written, used, fact, path, shared, sharing)
    return Budget(int(fact.value), used, fact, (), shared, sharing)


def _shared_before(job: Observed, before: dict[str, int]) -> int:
    """The restarts of all replicas so far: backoffCount, or what the types add up to."""
    told = sum(one.restarts for one in job.replicas)
    return max(number(mapping(job.cr, "status"), "backoffCount") + told, sum(before.values()))


def decisions(found: list[Ended]) -> Iterator[Decision]:
    """A sentence for each run of replicas of which the same is true."""
    for _, alike in groupby(found, key=_likeness):
        run = list(alike)
        whole = tuple(one.replica for one in run)
        fact, path = _reason(run[0])
        yield Decision("restart", _sentence(run), fact, whole, path)


def _reason(one: Ended) -> tuple[Fact, Path]:
    """The fact that decides about a replica, and the field that it rests on."""
    if one.policy is None:
        return termination.RESTART_COLOSSALAI, ()
    if one.why == "job":
        return termination.RESTART_WHEN_ENDED, ()
    if one.why == "order":
        return termination.RESTART_ORDER, one.policy.budget.path
    if one.why == "limit":
        budget = one.policy.budget
        return (budget.fact if budget.limit <= 0 else budget.sharing), budget.path
    return one.policy.fact, one.policy.path


def _likeness(one: Ended) -> tuple[object, ...]:
    return (one.replica.type, how_it_ended(one.replica), one.again, one.why, one.policy)


def _sentence(run: list[Ended]) -> str:
    first, policy = run[0], run[0].policy
    are = plural(run, "is", "are")
    subject = f"{named([one.replica for one in run])} {how_it_ended(first.replica)} and {are}"
    if policy is None:
        return f"{subject} not started again: a replica that starts anew cannot join the training"
    if first.again:
        return f"{subject} started again: the policy is {policy.name}; {_counted(run, policy.budget)}"
    reason = f"the policy is {policy.name}"
    if first.why == "code":
        codes = ", ".join(str(code) for code in policy.rule.value)
        reason += f", which restarts only after {' or '.join(codes.rsplit(', ', 1)) or 'no code'}"
    if first.why == "limit":
        reason += f", but {_used_up(policy.budget)}"
    if first.why == "order":
        does = "does" if policy.budget.limit == 1 else "do"
        reason += f", but {_which(policy.budget)} that {policy.budget.shared} {does} not suffice for all"
    if first.why == "job":
        reason = "the job has ended"
    return f"{subject} not started again: {reason}"


def _used_up(budget: Budget) -> str:
    if budget.limit <= 0:
        return f"no restarts are granted (the limit is {budget.limit})"
    return f"{_which(budget)} that {budget.shared} {'is' if budget.limit == 1 else 'are'} used up"


def _which(budget: Budget) -> str:
    return "the only restart" if budget.limit == 1 else f"the {budget.limit} restarts"


def _counted(run: list[Ended], budget: Budget) -> str:
    """Which restarts these are, of how many."""
    if budget.limit == 1:
        return f"it is the only restart that {budget.shared}"
    first, last = run[0].restart, run[-1].restart
    numbers = f"restart {first}" if first == last else f"restarts {first} to {last}"
    return f"{numbers} of the {budget.limit} that {budget.shared}"
