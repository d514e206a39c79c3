"""Which replicas that have ended are started again (t9k-semantics §1.3, §1.4, §4.2)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from podplan import facts
from podplan.findings import Path
from podplan.kubernetes.shape import mapping, number
from podplan.provenance import Fact
from podplan.status.job import Decision, Observed, at, restarted_before, spec_of
from podplan.status.replicas import Replica, how_it_ended, named, plural

POLICIES = {
    "Never": facts.RESTART_NEVER_AGAIN,
    "OnFailure": facts.RESTART_ON_FAILURE,
    "Always": facts.RESTART_ALWAYS,
    "ExitCode": facts.RESTART_EXIT_CODE,
}


class Budget(NamedTuple):
    """The restarts that some replicas share: how many there are, how many were used, and who says so."""

    limit: int
    used: int
    fact: Fact
    path: Path
    shared: str


class Ended(NamedTuple):
    """What becomes of one replica that has ended.

    ``restart`` is the number of its restart among the ``budget``, 0 where it stays as it is. ``why`` is
    policy, code, limit or kind: what forbids a restart.
    """

    replica: Replica
    restart: int
    why: str
    fact: Fact
    path: Path
    policy: str
    budget: Budget | None

    @property
    def again(self) -> bool:
        return self.restart > 0


def ended(job: Observed) -> list[Ended]:
    """What becomes of each replica that has ended and that its policy speaks of, in their order."""
    used: dict[str, int] = {}
    found = []
    budgets: dict[str, Budget] = {}
    policies: dict[str, tuple[str, Fact, Path]] = {}
    for replica in job.replicas:
        if not replica.ended:
            continue
        if job.kind.policy is None:
            if replica.phase == "Failed":
                found.append(Ended(replica, 0, "kind", facts.RESTART_COLOSSALAI, (), "", None))
            continue
        if replica.type not in policies:
            policies[replica.type] = _policy(job, replica.type)
        policy, default, path = policies[replica.type]
        fact = job.options.fact(POLICIES[policy])
        if replica.phase == "Succeeded" and policy != "Always":
            continue
        key = "" if job.kind.shared else replica.type
        if key not in budgets:
            budgets[key] = _budget(job, replica.type)
        budget = budgets[key]
        why, restart = _forbidden(policy, replica, fact), 0
        if not why and budget.used + used.get(key, 0) >= budget.limit:
            why = "limit"
        if not why:
            used[key] = used.get(key, 0) + 1
            restart = budget.used + used[key]
        found.append(Ended(replica, restart, why, fact if path else default, path, policy, budget))
    return found


def _forbidden(policy: str, replica: Replica, fact: Fact) -> str:
    """Which rule keeps the policy from starting a replica again, "" if none."""
    if policy == "Never":
        return "policy"
    return "code" if policy == "ExitCode" and replica.code not in fact.value else ""


def _policy(job: Observed, type_: str) -> tuple[str, Fact, Path]:
    """The restart policy of a type, the fact that gives it, and where it is written (() for nowhere)."""
    assert job.kind.policy is not None
    path = (*spec_of(job, type_), *job.kind.policy)
    written = at(job.cr, path)
    default = job.options.fact(job.kind.default_policy)
    if isinstance(written, str) and written in POLICIES:
        return written, default, path
    policy = default.value if default.value in POLICIES else "OnFailure"
    return policy, default, ()


def _budget(job: Observed, type_: str) -> Budget:
    fact = job.options.fact(job.kind.limit)
    if job.kind.shared:
        path, used = job.kind.limit_at, _shared_before(job)
        shared = "all replicas share"
    else:
        path, used = (*spec_of(job, type_), *job.kind.limit_at), restarted_before(job, type_)
        shared = f"the replicas of {type_} share"
    written = at(job.cr, path)
    known = isinstance(written, int)
    return Budget(written if known else int(fact.value), used, fact, path if known else (), shared)


def _shared_before(job: Observed) -> int:
    """The restarts of all replicas so far: backoffCount, or what the types add up to."""
    types = dict.fromkeys(replica.type for replica in job.replicas)
    told = sum(replica.restarts for replica in job.replicas)
    counted = number(mapping(job.cr, "status"), "backoffCount")
    return max(counted + told, sum(restarted_before(job, type_) for type_ in types))


def decisions(found: list[Ended]) -> Iterator[Decision]:
    """A sentence for each run of replicas of which the same is true."""
    for _, alike in groupby(found, key=_likeness):
        run = list(alike)
        yield Decision(
            "restart",
            _sentence(run),
            _reason(run[0]),
            tuple(one.replica for one in run),
            run[0].path if run[0].why != "limit" or run[0].budget is None else run[0].budget.path,
        )


def _reason(one: Ended) -> Fact:
    return one.budget.fact if one.why == "limit" and one.budget is not None else one.fact


def _likeness(one: Ended) -> tuple[object, ...]:
    return (one.replica.type, one.replica.phase, one.replica.code, one.again, one.why, one.policy)


def _sentence(run: list[Ended]) -> str:
    first = run[0]
    whole = [one.replica for one in run]
    are = plural(run, "is", "are")
    subject = f"{named(whole)} {how_it_ended(first.replica)}"
    if first.again:
        return f"{subject} and {are} started again: the policy is {first.policy}; {_counted(run)}"
    verdict = f"{subject} and {are} not started again"
    if first.why == "code":
        codes = [str(code) for code in first.fact.value]
        return f"{verdict}: the policy is ExitCode, and only {', '.join(codes[:-1])} and {codes[-1]} restart"
    if first.why == "kind":
        return f"{verdict}: a replica that starts anew cannot join the training"
    if first.why == "policy" or first.budget is None:
        return f"{verdict}: the policy is {first.policy}"
    return f"{verdict}: the policy is {first.policy}, but {_used_up(first.budget)}"


def _used_up(budget: Budget) -> str:
    if budget.limit == 0:
        return "no restarts are granted (the limit is 0)"
    if budget.limit == 1:
        return f"the only restart that {budget.shared} is used up"
    return f"all {budget.limit} restarts that {budget.shared} are used up"


def _counted(run: list[Ended]) -> str:
    """Which restarts these are, of how many."""
    first, last, budget = run[0].restart, run[-1].restart, run[0].budget
    assert budget is not None
    whole = f"of the {budget.limit} that {budget.shared}"
    return f"restart {first} {whole}" if first == last else f"restarts {first} to {last} {whole}"
