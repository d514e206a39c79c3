"""How policies are decided: by a named check, a JSON Schema, or CEL.

A check is a function of a subject and the params of the policy that yields hits. It lives in a module of this
folder and registers itself there (``registration``). ``index`` has the module of each check, so that a run
imports only what its policies name.

A check about all jobs together is two functions: one says what a job leaves behind for it, plain data and
little of it, and the other is called once with what jobs left. What is left has ``keys`` and a ``owner``: of
a job that has no key in common with another owner there is nothing to say, and the check is not told of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module

from podplan.core.typing import Any
from podplan.lint.checks.index import CHECK_ALIASES as CHECK_ALIASES
from podplan.lint.checks.index import CHECK_MODULES as CHECK_MODULES
from podplan.lint.checks.registration import REGISTERED_CHECKS, RegisteredCheck
from podplan.lint.policy import Policy
from podplan.lint.target import LoweredJob, Target, Violation

Check = Callable[[Target, Mapping[str, Any]], Iterable[Violation]]
# Of what jobs left and of a job, by their numbers; the hits, each with the number of the job it is said of.
CrossJobCheck = Callable[[Mapping[int, Any], Callable[[int], LoweredJob]], Iterable[tuple[int, Violation]]]


def resolve_check(policy: Policy) -> Check:
    """The function that decides a policy; one that is no check has its params with it."""
    if policy.evaluator == "check":
        return load_check(policy.body)
    if policy.evaluator == "schema":
        from podplan.lint.checks.by_schema import evaluate_schema_policy

        return lambda subject, _: evaluate_schema_policy(policy, subject)
    from podplan.lint.checks.by_cel import evaluate_cel_policy

    return lambda subject, _: evaluate_cel_policy(policy, subject)


def load_check(name: str) -> Check:
    """The check called ``name``; KeyError where there is none."""
    function: Check = load_registered_check(name).function
    return function


def load_cross_job_check(name: str) -> CrossJobCheck:
    """The same for a check about all jobs together."""
    function: CrossJobCheck = load_registered_check(name).function
    return function


def summarize_job(name: str, job: LoweredJob) -> Any:
    """What a job leaves for a check about all jobs."""
    summarize = load_registered_check(name).summarize
    assert summarize is not None
    return summarize(job)


def keeper(name: str) -> Any:
    """What keeps of the variants of a profile what a check about all of them needs."""
    build_keeper = load_registered_check(name).keeper
    assert build_keeper is not None
    return build_keeper()


def load_registered_check(name: str) -> RegisteredCheck:
    """A check and what it registered with, after its module is imported; KeyError where there is none."""
    if name not in REGISTERED_CHECKS:
        import_module(f"{__name__}.{CHECK_MODULES[name]}")
    return REGISTERED_CHECKS[name]
