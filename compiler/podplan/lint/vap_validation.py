"""The form of admission policies and bindings: what the API server refuses when one is created."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from podplan.core.findings import Diagnostic
from podplan.core.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

_STRING_LIST_SCHEMA = {"type": "array", "items": {"type": "string"}}
_LABEL_SELECTOR_SCHEMA = {
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
                    "values": _STRING_LIST_SCHEMA,
                },
            },
        },
    },
    "additionalProperties": False,
}
_RESOURCE_RULES_SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["apiGroups", "apiVersions", "operations", "resources"],
        "properties": {
            "apiGroups": _STRING_LIST_SCHEMA,
            "apiVersions": _STRING_LIST_SCHEMA,
            "operations": {
                "type": "array",
                "items": {"enum": ["*", "CREATE", "UPDATE", "DELETE", "CONNECT"]},
            },
            "resources": _STRING_LIST_SCHEMA,
            "resourceNames": _STRING_LIST_SCHEMA,
            "scope": {"enum": ["*", "Cluster", "Namespaced"]},
        },
        "additionalProperties": False,
    },
}
_MATCH_RESOURCES_SCHEMA = {
    "type": "object",
    "properties": {
        "resourceRules": _RESOURCE_RULES_SCHEMA,
        "excludeResourceRules": _RESOURCE_RULES_SCHEMA,
        "objectSelector": _LABEL_SELECTOR_SCHEMA,
        "namespaceSelector": _LABEL_SELECTOR_SCHEMA,
        "matchPolicy": {"enum": ["Exact", "Equivalent"]},
    },
    "additionalProperties": False,
}


def _build_named_expressions_schema(*extra_fields: str) -> dict[str, Any]:
    return {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["name", "expression"],
            "properties": {name: {"type": "string"} for name in ("name", "expression", *extra_fields)},
            "additionalProperties": False,
        },
    }


_METADATA_SCHEMA = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string", "minLength": 1}},
}
_POLICY_SCHEMA = {
    "type": "object",
    "required": ["metadata", "spec"],
    "properties": {
        "apiVersion": {},
        "kind": {},
        "status": {},
        "metadata": _METADATA_SCHEMA,
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
                "matchConstraints": {**_MATCH_RESOURCES_SCHEMA, "required": ["resourceRules"]},
                "matchConditions": _build_named_expressions_schema(),
                "variables": _build_named_expressions_schema(),
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
_BINDING_SCHEMA = {
    "type": "object",
    "required": ["metadata", "spec"],
    "properties": {
        "apiVersion": {},
        "kind": {},
        "metadata": _METADATA_SCHEMA,
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
                        "selector": _LABEL_SELECTOR_SCHEMA,
                        "parameterNotFoundAction": {"enum": ["Allow", "Deny"]},
                    },
                    "additionalProperties": False,
                },
                "matchResources": _MATCH_RESOURCES_SCHEMA,
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


def validate_form(data: Mapping[str, Any], api_versions: tuple[str, ...]) -> Iterator[Diagnostic]:
    """What is wrong with the form of a ValidatingAdmissionPolicy or its binding."""
    if data["apiVersion"] not in api_versions:
        message = f'apiVersion "{data["apiVersion"]}" is not one of {" and ".join(api_versions)}'
        yield Diagnostic("POLICY001", message, ("apiVersion",))
        return
    from podplan.schema.errors import collect_errors
    from podplan.schema.messages import build_diagnostics

    kind = str(data["kind"])
    schema = _BINDING_SCHEMA if kind.endswith("Binding") else _POLICY_SCHEMA
    for diagnostic in build_diagnostics(collect_errors(_get_validator(kind), schema, data), schema, kind):
        yield diagnostic._replace(rule="POLICY001")


@cache
def _get_validator(kind: str) -> Draft202012Validator:
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator(_BINDING_SCHEMA if kind.endswith("Binding") else _POLICY_SCHEMA)
