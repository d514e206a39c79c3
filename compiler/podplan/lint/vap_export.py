"""Policies of ours in CEL as ValidatingAdmissionPolicies, so that the API server demands the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from podplan.cel.text import variables_in, with_name
from podplan.findings import Severity
from podplan.lint.admitted import RESOURCES, Resource
from podplan.lint.policy import Policy, Scope, filled

API_VERSION = "admissionregistration.k8s.io/v1"
_ACTIONS = {Severity.ERROR: "Deny", Severity.WARNING: "Warn", Severity.INFO: "Audit"}
_LISTS = {"all": ("containers",), "init": ("initContainers",), "every": ("initContainers", "containers")}


def export_vap(policies: Iterable[Policy]) -> list[dict[str, Any]]:
    """A ValidatingAdmissionPolicy and its binding for each policy that ``why_not`` has nothing against."""
    exported: list[dict[str, Any]] = []
    for policy in map(for_admission, policies):
        if not why_not(policy):
            exported += (_policy(policy), _binding(policy))
    return exported


def for_admission(policy: Policy) -> Policy:
    """The policy as the API server can demand it: by its expressions for admission, where it has them."""
    if policy.admission is None:
        return policy
    scope = Scope(policy.admission["level"], frozenset(policy.admission.get("kinds", ())), "")
    return policy._replace(
        scope=scope, evaluator="cel", body=policy.admission, params={}, message="{message}"
    )


def why_not(policy: Policy) -> str:
    """Why a policy cannot be exported, "" when it can."""
    if policy.evaluator != "cel":
        return "it is not written in CEL"
    if policy.scope.level not in ("cr", "lowered"):
        return f"it looks at a {policy.scope.level}, which the API server never sees"
    if not _resources(policy):
        return "it is about kinds that podplan does not know the resources of"
    body = policy.body
    texts = [*(one["expression"] for one in (*body["validations"], *body.get("matchConditions", ())))]
    if policy.params or any(with_name(text, "params", "") != text for text in texts):
        return "it has params, which would need an object of their own in the cluster"
    if policy.scope.containers == "training":
        return "the API server does not know which container trains"
    if policy.scope.containers and (
        body.get("variables") or any(next(variables_in(text), None) for text in texts)
    ):
        return "its variables are about one container, and those of the API server are about the Pod"
    return ""


def _resources(policy: Policy) -> list[Resource]:
    return [
        resource
        for resource in RESOURCES
        if resource.level == policy.scope.level
        and (not policy.scope.kinds or resource.kind in policy.scope.kinds)
        and (not policy.scope.containers or resource.kind == "Pod")
    ]


def _head(kind: str, policy: Policy) -> dict[str, Any]:
    name = f"podplan-{policy.rule.code.lower()}"
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}}


def _policy(policy: Policy) -> dict[str, Any]:
    body = policy.body
    groups: dict[tuple[str, str], list[str]] = {}
    for resource in _resources(policy):
        groups.setdefault((resource.group, resource.version), []).append(resource.plural)
    spec: dict[str, Any] = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [group],
                    "apiVersions": [version],
                    "operations": ["CREATE", "UPDATE"],
                    "resources": plurals,
                }
                for (group, version), plurals in groups.items()
            ]
        },
    }
    for key in ("variables", "matchConditions"):
        if body.get(key) and not policy.scope.containers:
            spec[key] = [dict(one) for one in body[key]]
    spec["validations"] = [_validation(policy, one) for one in body["validations"]]
    return {**_head("ValidatingAdmissionPolicy", policy), "spec": spec}


def _binding(policy: Policy) -> dict[str, Any]:
    head = _head("ValidatingAdmissionPolicyBinding", policy)
    spec = {"policyName": head["metadata"]["name"], "validationActions": [_ACTIONS[policy.rule.severity]]}
    return {**head, "spec": spec}


def _validation(policy: Policy, one: dict[str, Any]) -> dict[str, Any]:
    said = one.get("message") or policy.rule.summary
    validation = {"expression": one["expression"], "message": filled(policy.message, {"message": said})}
    if policy.scope.containers:
        validation["expression"] = _of_each_container(policy, one["expression"])
    elif "messageExpression" in one:
        validation["messageExpression"] = one["messageExpression"]
    return validation


def _of_each_container(policy: Policy, expression: str) -> str:
    """An expression about one container as one about all containers of a Pod."""
    conditions = [one["expression"] for one in policy.body.get("matchConditions", ())]
    unless = "".join(f"!({with_name(text, 'object', 'container')}) || " for text in conditions)
    demand = f"{unless}({with_name(expression, 'object', 'container')})"
    return " && ".join(
        f"object.spec.?{listed}.orValue([]).all(container, {demand})"
        for listed in _LISTS[policy.scope.containers]
    )
