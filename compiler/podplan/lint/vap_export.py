"""Policies of ours in CEL as ValidatingAdmissionPolicies, so that the API server demands the same."""

from __future__ import annotations

from collections.abc import Iterable

from podplan.core.findings import Severity
from podplan.core.typing import Any
from podplan.kubernetes import DEFAULT_VERSION
from podplan.lint.admission_policy import for_admission, resources, why_not
from podplan.lint.cel.text import with_name
from podplan.lint.policy import Policy, filled

API_VERSION = "admissionregistration.k8s.io/v1"
_ACTIONS = {Severity.ERROR: "Deny", Severity.WARNING: "Warn", Severity.INFO: "Audit"}
_LISTS = {"all": ("containers",), "init": ("initContainers",), "every": ("initContainers", "containers")}


def export_vap(policies: Iterable[Policy], version: str = DEFAULT_VERSION) -> list[dict[str, Any]]:
    """A ValidatingAdmissionPolicy and its binding for each policy that ``why_not`` has nothing against."""
    exported: list[dict[str, Any]] = []
    for policy in (for_admission(one, version) for one in policies):
        if not why_not(policy):
            exported += (_policy(policy), _binding(policy))
    return exported


def reasons(policies: Iterable[Policy], version: str = DEFAULT_VERSION) -> dict[str, str]:
    """Why each policy is not exported, by its code; "" for those that are."""
    return {policy.rule.code: why_not(for_admission(policy, version)) for policy in policies}


def _head(kind: str, policy: Policy) -> dict[str, Any]:
    rule = policy.rule
    metadata = {
        "name": f"podplan-{rule.code.lower()}",
        "labels": {"app.kubernetes.io/part-of": "podplan"},
        "annotations": {"kubernetes.io/description": f"{rule.code} {rule.name}: {rule.summary}"},
    }
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata}


def _policy(policy: Policy) -> dict[str, Any]:
    body = policy.body
    groups: dict[tuple[str, str], list[str]] = {}
    for resource in resources(policy):
        plurals = groups.setdefault((resource.group, resource.version), [])
        plurals.append(resource.plural)
        if "ephemeralContainers" in str(body):
            plurals.append(f"{resource.plural}/ephemeralcontainers")
    spec: dict[str, Any] = {
        "failurePolicy": "Fail" if policy.rule.severity is Severity.ERROR else "Ignore",
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
    if not policy.scope.containers:
        variables = [
            {**variable, "expression": _with_untyped_jobs(policy, variable["expression"])}
            for variable in body.get("variables", ())
        ]
        conditions = [dict(condition) for condition in body.get("matchConditions", ())]
        spec |= {"variables": variables} if variables else {}
        spec |= {"matchConditions": conditions} if conditions else {}
    spec["validations"] = [_validation(policy, one) for one in body["validations"]]
    return {**_head("ValidatingAdmissionPolicy", policy), "spec": spec}


def _binding(policy: Policy) -> dict[str, Any]:
    head = _head("ValidatingAdmissionPolicyBinding", policy)
    spec = {"policyName": head["metadata"]["name"], "validationActions": [_ACTIONS[policy.rule.severity]]}
    return {**head, "spec": spec}


def _validation(policy: Policy, one: dict[str, Any]) -> dict[str, Any]:
    said = one.get("message") or policy.rule.summary
    validation = {
        "expression": _with_untyped_jobs(policy, one["expression"]),
        "message": filled(policy.message, {"message": said}),
    }
    if policy.scope.containers:
        validation["expression"] = _of_each_container(policy, one["expression"])
    elif "messageExpression" in one:
        validation["messageExpression"] = _with_untyped_jobs(policy, one["messageExpression"])
    return validation


def _with_untyped_jobs(policy: Policy, expression: str) -> str:
    """An expression about jobs, which names fields that not every kind of job has.

    With the type that the API server takes from the CustomResourceDefinition of each kind, such a field would
    be a warning in status.typeChecking.
    """
    return with_name(expression, "object", "dyn(object)") if policy.scope.level == "cr" else expression


def _of_each_container(policy: Policy, expression: str) -> str:
    """An expression about one container as one about all containers of a Pod."""
    conditions = [one["expression"] for one in policy.body.get("matchConditions", ())]
    unless = "".join(f"!({with_name(text, 'object', 'container')}) || " for text in conditions)
    demand = f"{unless}({with_name(expression, 'object', 'container')})"
    return " && ".join(
        f"object.spec.?{listed}.orValue([]).all(container, {demand})"
        for listed in _LISTS[policy.scope.containers]
    )
