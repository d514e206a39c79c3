"""The form of admission policies and bindings: what the API server refuses when one is created."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from podplan.core.findings import Problem
from podplan.core.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

_TEXTS = {"type": "array", "items": {"type": "string"}}
_SELECTOR = {
    "type": "object",
    "properties": {
        "matchLabels": {"type": "object", "additionalProperties": {"type": "string"}},
        "matchExpressions": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["key", "operator"],
                "properties": {
                    "key": {"type": "string"},
                    "operator": {"enum": ["In", "NotIn", "Exists", "DoesNotExist"]},
                    "values": _TEXTS,
                },
            },
        },
    },
    "additionalProperties": False,
}
_RULES = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["apiGroups", "apiVersions", "operations", "resources"],
        "properties": {
            "apiGroups": _TEXTS,
            "apiVersions": _TEXTS,
            "operations": {
                "type": "array",
                "items": {"enum": ["*", "CREATE", "UPDATE", "DELETE", "CONNECT"]},
            },
            "resources": _TEXTS,
            "resourceNames": _TEXTS,
            "scope": {"enum": ["*", "Cluster", "Namespaced"]},
        },
        "additionalProperties": False,
    },
}
_MATCH = {
    "type": "object",
    "properties": {
        "resourceRules": _RULES,
        "excludeResourceRules": _RULES,
        "objectSelector": _SELECTOR,
        "namespaceSelector": _SELECTOR,
        "matchPolicy": {"enum": ["Exact", "Equivalent"]},
    },
    "additionalProperties": False,
}


def _named(*more: str) -> dict[str, Any]:
    return {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["name", "expression"],
            "properties": {name: {"type": "string"} for name in ("name", "expression", *more)},
            "additionalProperties": False,
        },
    }


_METADATA = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string", "minLength": 1}},
}
_POLICY = {
    "type": "object",
    "required": ["metadata", "spec"],
    "properties": {
        "apiVersion": {},
        "kind": {},
        "status": {},
        "metadata": _METADATA,
        "spec": {
            "type": "object",
            "required": ["matchConstraints"],
            "anyOf": [{"required": ["validations"]}, {"required": ["auditAnnotations"]}],
            "properties": {
                "failurePolicy": {"enum": ["Fail", "Ignore"]},
                "paramKind": {
                    "type": "object",
                    "required": ["apiVersion", "kind"],
                    "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}},
                    "additionalProperties": False,
                },
                "matchConstraints": {**_MATCH, "required": ["resourceRules"]},
                "matchConditions": _named(),
                "variables": _named(),
                "validations": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["expression"],
                        "properties": {
                            "expression": {"type": "string", "minLength": 1},
                            "message": {"type": "string"},
                            "messageExpression": {"type": "string"},
                            "reason": {
                                "enum": ["Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge"]
                            },
                        },
                        "additionalProperties": False,
                    },
                },
                "auditAnnotations": {"type": "array", "items": {"type": "object"}},
            },
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}
_BINDING = {
    "type": "object",
    "required": ["metadata", "spec"],
    "properties": {
        "apiVersion": {},
        "kind": {},
        "metadata": _METADATA,
        "spec": {
            "type": "object",
            "required": ["policyName", "validationActions"],
            "properties": {
                "policyName": {"type": "string", "minLength": 1},
                "paramRef": {
                    "type": "object",
                    "required": ["parameterNotFoundAction"],
                    "oneOf": [{"required": ["name"]}, {"required": ["selector"]}],
                    "properties": {
                        "name": {"type": "string"},
                        "namespace": {"type": "string"},
                        "selector": _SELECTOR,
                        "parameterNotFoundAction": {"enum": ["Allow", "Deny"]},
                    },
                    "additionalProperties": False,
                },
                "matchResources": _MATCH,
                "validationActions": {
                    "type": "array",
                    "minItems": 1,
                    "uniqueItems": True,
                    "items": {"enum": ["Deny", "Warn", "Audit"]},
                    "not": {"allOf": [{"contains": {"const": "Deny"}}, {"contains": {"const": "Warn"}}]},
                },
            },
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}


def form_problems(data: Mapping[str, Any], api_versions: tuple[str, ...]) -> Iterator[Problem]:
    """What is wrong with the form of a ValidatingAdmissionPolicy or its binding."""
    if data["apiVersion"] not in api_versions:
        message = f'apiVersion "{data["apiVersion"]}" is not one of {" and ".join(api_versions)}'
        yield Problem("POLICY001", message, ("apiVersion",))
        return
    from podplan.schema.errors import faults
    from podplan.schema.messages import problems

    kind = str(data["kind"])
    schema = _BINDING if kind.endswith("Binding") else _POLICY
    for problem in problems(faults(_validator(kind), schema, data), schema, kind):
        yield problem._replace(rule="POLICY001")


@cache
def _validator(kind: str) -> Draft202012Validator:
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator(_BINDING if kind.endswith("Binding") else _POLICY)
