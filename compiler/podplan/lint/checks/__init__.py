"""How policies are decided: by a named check, a JSON Schema, or CEL.

A check is a function of a subject and the params of the policy that yields hits. It lives in a module of this
folder, and in this table under the name that policies call it by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from podplan.lint.policy import Policy
from podplan.lint.subject import Hit, Subject

Check = Callable[[Subject, Mapping[str, Any]], Iterable[Hit]]

# name -> module below this folder; the function is called like the check, with _ for -.
CHECKS: dict[str, str] = {
    "pod-security": "pod_security",
}


def hits(policy: Policy, subject: Subject) -> Iterable[Hit]:
    """Where the subject breaks the policy."""
    if policy.evaluator == "check":
        return check(policy.body)(subject, policy.params)
    if policy.evaluator == "schema":
        from podplan.lint.checks.by_schema import by_schema

        return by_schema(policy, subject)
    from podplan.lint.checks.by_cel import by_cel

    return by_cel(policy, subject)


@cache
def check(name: str) -> Check:
    """The check called ``name``; KeyError where there is none."""
    module = import_module(f"{__name__}.{CHECKS[name]}")
    function: Check = getattr(module, name.replace("-", "_"))
    return function
