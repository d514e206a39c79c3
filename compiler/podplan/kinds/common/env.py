"""``env`` of a profile as the env of a container."""

from __future__ import annotations

from podplan.core.provenance import Cursor, Traced, attribute_to, compute_traced
from podplan.core.typing import Any
from podplan.kinds.common.profile import ProfileRole, stringify_scalar

TracedMap = dict[str, Any]

# {secret: NAME/KEY} and the like: the key of the profile, that of valueFrom, and the field for NAME.
ENV_REFERENCES = {"secret": "secretKeyRef", "configMap": "configMapKeyRef"}


def build_env(role: ProfileRole) -> Traced | None:
    """Build the variables of a role, those of the spec first; None if there are none.

    A variable that the role sets to null is removed.
    """
    variables: dict[str, Cursor] = {}
    for env_layer in role.get_layers("env"):
        for name in env_layer.value if isinstance(env_layer.value, dict) else ():
            value = env_layer.get(name)
            if value.exists:
                variables[name] = value
            else:
                variables.pop(name, None)
    entries = [
        attribute_to(value, {"name": name, **_build_env_value(value)}) for name, value in variables.items()
    ]
    return attribute_to(role.get_field("env"), entries) if entries else None


def _build_env_value(cursor: Cursor) -> TracedMap:
    if not isinstance(cursor.value, dict):
        return {"value": stringify_scalar(cursor)}
    for source, reference in ENV_REFERENCES.items():
        reference_cursor = cursor.get(source)
        if isinstance(reference_cursor.value, str):
            parts = {
                "name": compute_traced(_reference_name, reference_cursor),
                "key": compute_traced(_reference_key, reference_cursor),
            }
            return {"valueFrom": attribute_to(reference_cursor, {reference: parts})}
    return {"valueFrom": {"fieldRef": {"fieldPath": cursor.get("field")}}}


def _reference_name(reference: str) -> str:
    return reference.partition("/")[0]


def _reference_key(reference: str) -> str:
    return reference.partition("/")[2]
