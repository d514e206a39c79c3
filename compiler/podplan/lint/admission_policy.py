"""What a policy demands of the API server of one version: its ``admission`` section, made whole.

The API server sees one object at a time: no profile, no inventory, no other job. What cannot be said of one
object in CEL has a sentence there instead of expressions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from podplan.core.typing import Any
from podplan.kinds.registry import PACKAGES, find_kind, is_kind_name, load_spec
from podplan.lint.admission_variables import ADMISSION_VARIABLES
from podplan.lint.api_resources import API_RESOURCES, ApiResource
from podplan.lint.cel.text import iter_variables, rename_variable
from podplan.lint.kind_conditions import fill_kind_conditions, quote_list
from podplan.lint.pod_security import parse_minor_version
from podplan.lint.policy import PLACEHOLDER, Policy
from podplan.lint.policy_scope import PolicyScope, has_traits_of, matches_kind, matches_traits

# Whose Pods they are is in the label that controllers of T9k set, and in their owner.
_LABEL_CONDITION = "object.metadata.?labels[?'tensorstack.dev/owner-kind'].orValue('') in {kinds}"
_OWNER_CONDITION = "object.metadata.?ownerReferences.orValue([]).exists(o, {owners})"
# An object that was there before the policy can still be labelled, finalized and deleted.
_SPEC_CHANGED_CONDITION = "oldObject == null || object.?spec != oldObject.?spec"


def resolve_admission_policy(policy: Policy, version: str) -> Policy:
    """Return a policy as an API server, such as "1.34", can enforce it: by its ``admission`` section.

    A policy in CEL is returned as it is, as is one without the section. ``find_export_obstacle`` returns why
    a policy cannot be exported.
    """
    if policy.admission is None or isinstance(policy.admission, str):
        return policy
    admission = _fill_params(policy.admission, policy.params)
    is_same_level = (admission["level"] == "lowered") is (policy.scope.level == "lowered")
    kinds = tuple(admission.get("kinds", policy.scope.kinds if is_same_level else ()))
    needs = policy.scope.needs.union(admission.get("needs", ()))
    scope = policy.scope._replace(level=admission["level"], kinds=kinds, containers="", needs=needs)
    validations = [
        _select_validation_fields(one)
        for one in admission["validations"]
        if _applies_to_version(one, version)
    ]
    body = {
        "variables": list(
            _iter_used_variables(admission["level"], admission.get("variables", ()), validations)
        ),
        "matchConditions": list(_iter_match_conditions(scope)),
        "validations": validations,
    }
    return policy._replace(scope=scope, evaluator="cel", body=body, params={}, message="{message}")


def find_export_obstacle(policy: Policy) -> str:
    """Return why the API server cannot enforce a policy of ``resolve_admission_policy``, or "" if it can."""
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
    return _find_cel_export_obstacle(policy)


def _find_cel_export_obstacle(policy: Policy) -> str:
    """The same, of what is in CEL already."""
    if policy.scope.level not in ("cr", "lowered"):
        return f"it looks at a {policy.scope.level}, and the API server sees one object at a time"
    if not find_policy_resources(policy):
        return "it is about kinds that podplan does not know the resources of"
    body = policy.body
    if not body["validations"]:
        return "this version of Kubernetes does not demand it"
    texts = [one["expression"] for one in (*body["validations"], *body.get("matchConditions", ()))]
    if policy.params or any(rename_variable(text, "params", "") != text for text in texts):
        return "it has params, which would need an object of their own in the cluster"
    if policy.scope.containers == "training":
        return "the API server does not know which container trains"
    if policy.scope.containers and (
        body.get("variables") or any(next(iter_variables(text), None) for text in texts)
    ):
        return "its variables are about one container, and those of the API server are about the Pod"
    return ""


def find_policy_resources(policy: Policy) -> list[ApiResource]:
    """The resources of the API that a policy is about."""
    return [
        resource
        for resource in API_RESOURCES
        if resource.level == policy.scope.level
        and _is_resource_of(policy.scope, resource)
        and (not policy.scope.containers or resource.kind == "Pod")
    ]


def _is_resource_of(scope: PolicyScope, resource: ApiResource) -> bool:
    """Whether a scope has a resource; which jobs the lowered objects belong to is in a match condition."""
    data = {"apiVersion": resource.api_version, "kind": resource.kind}
    if resource.level != "cr":
        return matches_kind(scope, data)
    kind = find_kind(resource.api_version, resource.kind)
    return matches_kind(scope, data) and matches_traits(scope, load_spec(kind) if kind is not None else None)


def _fill_params(value: Any, params: Mapping[str, Any]) -> Any:
    """The admission section with the params of the rule in its texts, so that no number has two places."""
    if isinstance(value, dict):
        return {key: _fill_params(below, params) for key, below in value.items()}
    if isinstance(value, list):
        return [_fill_params(below, params) for below in value]
    if not isinstance(value, str):
        return value
    return PLACEHOLDER.sub(
        lambda match: _format_param(params[match[1]]) if match[1] in params else match[0], value
    )


def _format_param(value: Any) -> str:
    return "|".join(value) if isinstance(value, list) else str(value)


def _applies_to_version(validation: Mapping[str, Any], version: str) -> bool:
    since, until = validation.get("since", "1.0"), validation.get("until")
    return parse_minor_version(since) <= parse_minor_version(version) and (
        until is None or parse_minor_version(version) < parse_minor_version(until)
    )


def _select_validation_fields(validation: Mapping[str, Any]) -> dict[str, Any]:
    expression = {"expression": fill_kind_conditions(validation["expression"])}
    return expression | {key: validation[key] for key in ("message",) if key in validation}


def _iter_used_variables(
    level: str, policy_variables: Iterable[Mapping[str, str]], validations: Iterable[Mapping[str, Any]]
) -> Iterator[dict[str, str]]:
    """The variables that the expressions use, directly or through others, in the order to work them out."""
    definitions = {
        **ADMISSION_VARIABLES[level],
        **{one["name"]: fill_kind_conditions(one["expression"]) for one in policy_variables},
    }
    pending = [one["expression"] for one in validations]
    used_names: set[str] = set()
    while pending:
        new_names = {name for name, _ in iter_variables(pending.pop())} - used_names
        used_names |= new_names
        pending += (definitions[name] for name in sorted(new_names & definitions.keys()))
    yield from (
        {"name": name, "expression": text} for name, text in definitions.items() if name in used_names
    )


def _iter_match_conditions(scope: PolicyScope) -> Iterator[dict[str, str]]:
    if scope.level == "lowered":
        # Pods of a common kind, such as Job, may belong to anything in the cluster.
        kinds_of_jobs = [kind for kind in PACKAGES if is_kind_name(kind.kind)]
        jobs = [kind for kind in kinds_of_jobs if has_traits_of(scope, kind)]
        kinds = quote_list(dict.fromkeys(job.kind for job in jobs))
        groups = dict.fromkeys(job.group for job in jobs)
        owners = " || ".join(f"o.apiVersion.startsWith('{group}/')" for group in groups)
        if len(jobs) < len(kinds_of_jobs):
            owners = f"({owners}) && o.kind in {kinds}"
        label_condition = _LABEL_CONDITION.format(kinds=kinds)
        owner_condition = _OWNER_CONDITION.format(owners=owners)
        yield {"name": "of-a-job", "expression": f"{label_condition} || {owner_condition}"}
    yield {"name": "changed", "expression": _SPEC_CHANGED_CONDITION}
