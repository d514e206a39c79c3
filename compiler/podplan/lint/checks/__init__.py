"""How policies are evaluated: by a named check, a JSON Schema, or CEL.

A check is a function of a target and the params of the policy that yields violations. It is in a module of
this folder and registers itself there (``registration``). ``index`` has the module of each check, and what a
job must have for it, so that a run imports only the modules that its jobs need.

A cross-job check is two functions: one returns a summary of a job, plain and small data, and the other is
called once with the summaries. A summary has keys and an owner: a job that has no key in common with another
owner has no violation, and the check does not get its summary.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from importlib import import_module

from podplan.core.typing import Any
from podplan.lint.checks.index import CHECK_ALIASES as CHECK_ALIASES
from podplan.lint.checks.index import CHECK_MODULES as CHECK_MODULES
from podplan.lint.checks.index import REQUIRED_FEATURES
from podplan.lint.checks.registration import REGISTERED_CHECKS, RegisteredCheck
from podplan.lint.policy import Policy
from podplan.lint.target import LoweredJob, Target, Violation

ALL_REQUIRED_FEATURES = frozenset().union(*REQUIRED_FEATURES.values())
Check = Callable[[Target, Mapping[str, Any]], Iterable[Violation]]
# Takes summaries by job number and a function that rebuilds a job; yields job numbers with violations.
CrossJobCheck = Callable[[Mapping[int, Any], Callable[[int], LoweredJob]], Iterable[tuple[int, Violation]]]


def resolve_check(policy: Policy) -> Check:
    """Return the function that evaluates a policy; for a schema or CEL it has the policy bound to it."""
    if policy.evaluator == "check":
        return load_check(policy.body)
    if policy.evaluator == "schema":
        from podplan.lint.checks.by_schema import evaluate_schema_policy

        return lambda subject, _: evaluate_schema_policy(policy, subject)
    from podplan.lint.checks.by_cel import evaluate_cel_policy

    return lambda subject, _: evaluate_cel_policy(policy, subject)


def lacks_required_features(policy: Policy, features: Collection[str]) -> bool:
    """Whether a job with these features has none of those that the check of a policy requires."""
    required = REQUIRED_FEATURES.get(policy.body) if policy.evaluator == "check" else None
    return required is not None and required.isdisjoint(features)


def load_check(name: str) -> Check:
    """Return the check called ``name``; KeyError if there is none."""
    function: Check = load_registered_check(name).function
    return function


def load_cross_job_check(name: str) -> CrossJobCheck:
    """Return the cross-job check called ``name``."""
    function: CrossJobCheck = load_registered_check(name).function
    return function


def summarize_job(name: str, job: LoweredJob) -> Any:
    """Return the summary of a job for a cross-job check; None if the check does not need the job."""
    summarize = load_registered_check(name).summarize
    assert summarize is not None
    return summarize(job)


def keeper(name: str) -> Any:
    """Return a new object that collects what a check needs from all variants of a profile."""
    build_keeper = load_registered_check(name).keeper
    assert build_keeper is not None
    return build_keeper()


def load_registered_check(name: str) -> RegisteredCheck:
    """Import the module of a check and return its registration; KeyError if there is no such check."""
    if name not in REGISTERED_CHECKS:
        import_module(f"{__name__}.{CHECK_MODULES[name]}")
    return REGISTERED_CHECKS[name]
