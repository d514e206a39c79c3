"""Exports podplan's own policies in CEL as ValidatingAdmissionPolicies, which the API server enforces."""

from __future__ import annotations

from collections.abc import Iterable

from podplan.core.findings import Severity
from podplan.core.typing import Any
from podplan.kubernetes import DEFAULT_VERSION
from podplan.lint.admission_policy import (
    find_export_obstacle,
    find_policy_resources,
    resolve_admission_policy,
)
from podplan.lint.cel.text import rename_variable
from podplan.lint.policy import Policy, fill_placeholders

API_VERSION = "admissionregistration.k8s.io/v1"
_VALIDATION_ACTIONS = {Severity.ERROR: "Deny", Severity.WARNING: "Warn", Severity.INFO: "Audit"}
_CONTAINER_LISTS = {
    "all": ("containers",),
    "init": ("initContainers",),
    "every": ("initContainers", "containers"),
}


def export_vap(policies: Iterable[Policy], version: str = DEFAULT_VERSION) -> list[dict[str, Any]]:
    """Return a ValidatingAdmissionPolicy and its binding for each policy that can be exported."""
    exported: list[dict[str, Any]] = []
    for policy in (resolve_admission_policy(one, version) for one in policies):
        if not find_export_obstacle(policy):
            exported += (_build_policy(policy), _build_binding(policy))
    return exported


def find_export_obstacles(policies: Iterable[Policy], version: str = DEFAULT_VERSION) -> dict[str, str]:
    """Why each policy is not exported, by its code; "" for those that are."""
    return {
        policy.rule.code: find_export_obstacle(resolve_admission_policy(policy, version))
        for policy in policies
    }


def _build_head(kind: str, policy: Policy) -> dict[str, Any]:
    rule = policy.rule
    metadata = {
        "name": f"podplan-{rule.code.lower()}",
        "labels": {"app.kubernetes.io/part-of": "podplan"},
        "annotations": {"kubernetes.io/description": f"{rule.code} {rule.name}: {rule.summary}"},
    }
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata}


def _build_policy(policy: Policy) -> dict[str, Any]:
    body = policy.body
    groups: dict[tuple[str, str], list[str]] = {}
    for resource in find_policy_resources(policy):
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
            {**variable, "expression": _make_object_dynamic(policy, variable["expression"])}
            for variable in body.get("variables", ())
        ]
        conditions = [dict(condition) for condition in body.get("matchConditions", ())]
        spec |= {"variables": variables} if variables else {}
        spec |= {"matchConditions": conditions} if conditions else {}
    spec["validations"] = [_build_validation(policy, one) for one in body["validations"]]
    return {**_build_head("ValidatingAdmissionPolicy", policy), "spec": spec}


def _build_binding(policy: Policy) -> dict[str, Any]:
    head = _build_head("ValidatingAdmissionPolicyBinding", policy)
    spec = {
        "policyName": head["metadata"]["name"],
        "validationActions": [_VALIDATION_ACTIONS[policy.rule.severity]],
    }
    return {**head, "spec": spec}


def _build_validation(policy: Policy, policy_validation: dict[str, Any]) -> dict[str, Any]:
    default_message = policy_validation.get("message") or policy.rule.summary
    validation = {
        "expression": _make_object_dynamic(policy, policy_validation["expression"]),
        "message": fill_placeholders(policy.message, {"message": default_message}),
    }
    if policy.scope.containers:
        validation["expression"] = _expand_over_containers(policy, policy_validation["expression"])
    elif "messageExpression" in policy_validation:
        validation["messageExpression"] = _make_object_dynamic(policy, policy_validation["messageExpression"])
    return validation


def _make_object_dynamic(policy: Policy, expression: str) -> str:
    """An expression about jobs, which names fields that not every kind of job has.

    With the type that the API server takes from the CustomResourceDefinition of each kind, such a field would
    be a warning in status.typeChecking.
    """
    return rename_variable(expression, "object", "dyn(object)") if policy.scope.level == "cr" else expression


def _expand_over_containers(policy: Policy, expression: str) -> str:
    """An expression about one container as one about all containers of a Pod."""
    conditions = [one["expression"] for one in policy.body.get("matchConditions", ())]
    preconditions = "".join(f"!({rename_variable(text, 'object', 'container')}) || " for text in conditions)
    condition = f"{preconditions}({rename_variable(expression, 'object', 'container')})"
    return " && ".join(
        f"object.spec.?{listed}.orValue([]).all(container, {condition})"
        for listed in _CONTAINER_LISTS[policy.scope.containers]
    )
