"""What a policy demands of the API server of one version: its ``admission`` section, made whole.

The API server sees one object at a time: no profile, no inventory, no other job. What cannot be said of one
object in CEL has a sentence there instead of expressions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from podplan.core.typing import Any
from podplan.lint.admission_variables import VARIABLES
from podplan.lint.api_resources import RESOURCES, Resource
from podplan.lint.cel.text import variables_in, with_name
from podplan.lint.pod_security import minor
from podplan.lint.policy import Policy, Scope

# Whose Pods they are is in the labels that the controller sets, and in their owner.
_OF_A_JOB = (
    "object.metadata.?labels[?'tensorstack.dev/owner-kind'].orValue('') in {kinds} || "
    "object.metadata.?ownerReferences.orValue([]).exists(o, o.apiVersion.startsWith('{group}/'))"
)
# An object that was there before the policy can still be labelled, finalized and deleted.
_CHANGED = "oldObject == null || object.?spec != oldObject.?spec"


def for_admission(policy: Policy, version: str) -> Policy:
    """The policy as the API server of a version such as "1.34" can demand it: by its admission section.

    ``why_not`` says whether it can. A policy in CEL is its own demand.
    """
    if policy.admission is None or isinstance(policy.admission, str):
        return policy
    told = policy.admission
    kinds = policy.scope.kinds if (told["level"] == "lowered") is (policy.scope.level == "lowered") else ()
    scope = Scope(told["level"], frozenset(told.get("kinds", kinds)), "")
    validations = [_of(one) for one in told["validations"] if _holds(one, version)]
    body = {
        "variables": list(_variables(told["level"], told.get("variables", ()), validations)),
        "matchConditions": list(_conditions(told["level"])),
        "validations": validations,
    }
    return policy._replace(scope=scope, evaluator="cel", body=body, params={}, message="{message}")


def why_not(policy: Policy) -> str:
    """Why the API server cannot demand what a policy of ``for_admission`` says; "" when it can."""
    if policy.scope.level in ("profile", "variants"):
        return "it looks at a profile, which the API server never sees"
    if policy.scope.level == "set":
        return "it looks at several jobs, and the API server sees one object at a time"
    if "base" in policy.needs:
        return "it compares with the revision before, which the API server does not have"
    if policy.needs and policy.evaluator != "cel":
        return "it needs the inventory, which the API server does not have"
    if policy.preview:
        return "it is a preview"
    if isinstance(policy.admission, str):
        return policy.admission
    if policy.evaluator != "cel":
        return "it is not written in CEL"
    return _why_not_as_it_is(policy)


def _why_not_as_it_is(policy: Policy) -> str:
    """The same, of what is in CEL already."""
    if policy.scope.level not in ("cr", "lowered"):
        return f"it looks at a {policy.scope.level}, and the API server sees one object at a time"
    if not resources(policy):
        return "it is about kinds that podplan does not know the resources of"
    body = policy.body
    if not body["validations"]:
        return "this version of Kubernetes does not demand it"
    texts = [one["expression"] for one in (*body["validations"], *body.get("matchConditions", ()))]
    if policy.params or any(with_name(text, "params", "") != text for text in texts):
        return "it has params, which would need an object of their own in the cluster"
    if policy.scope.containers == "training":
        return "the API server does not know which container trains"
    if policy.scope.containers and (
        body.get("variables") or any(next(variables_in(text), None) for text in texts)
    ):
        return "its variables are about one container, and those of the API server are about the Pod"
    return ""


def resources(policy: Policy) -> list[Resource]:
    """The resources of the API that a policy is about."""
    return [
        resource
        for resource in RESOURCES
        if resource.level == policy.scope.level
        and (not policy.scope.kinds or resource.kind in policy.scope.kinds)
        and (not policy.scope.containers or resource.kind == "Pod")
    ]


def _holds(validation: Mapping[str, Any], version: str) -> bool:
    since, until = validation.get("since", "1.0"), validation.get("until")
    return minor(since) <= minor(version) and (until is None or minor(version) < minor(until))


def _of(validation: Mapping[str, Any]) -> dict[str, Any]:
    return {key: validation[key] for key in ("expression", "message") if key in validation}


def _variables(
    level: str, own: Iterable[Mapping[str, str]], validations: Iterable[Mapping[str, Any]]
) -> Iterator[dict[str, str]]:
    """The variables that the expressions use, directly or through others, in the order to work them out."""
    known = {**VARIABLES[level], **{one["name"]: one["expression"] for one in own}}
    texts = [one["expression"] for one in validations]
    used: set[str] = set()
    while texts:
        named = {name for name, _ in variables_in(texts.pop())} - used
        used |= named
        texts += (known[name] for name in sorted(named & known.keys()))
    yield from ({"name": name, "expression": text} for name, text in known.items() if name in used)


def _conditions(level: str) -> Iterator[dict[str, str]]:
    if level == "lowered":
        jobs = [resource for resource in RESOURCES if resource.level == "cr"]
        kinds = "[" + ", ".join(f"'{job.kind}'" for job in jobs) + "]"
        yield {"name": "of-a-job", "expression": _OF_A_JOB.format(kinds=kinds, group=jobs[0].group)}
    yield {"name": "changed", "expression": _CHANGED}
