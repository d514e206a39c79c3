"""``env`` of a profile as the env of a container."""

from __future__ import annotations

from podplan.core.provenance import Cursor, Marked, at, computed
from podplan.core.typing import Any
from podplan.kinds.common.profile import Role, as_text

Tree = dict[str, Any]

# {secret: NAME/KEY} and the like: the key of the profile, that of valueFrom, and the field for NAME.
REFERENCES = {"secret": "secretKeyRef", "configMap": "configMapKeyRef"}


def env(role: Role) -> Marked | None:
    """The variables of a role, those of the spec first; None where there are none.

    What a role sets to null it does not have.
    """
    variables: dict[str, Cursor] = {}
    for written in role.both("env"):
        for name in written.value if isinstance(written.value, dict) else ():
            value = written.get(name)
            if value.exists:
                variables[name] = value
            else:
                variables.pop(name, None)
    entries = [at(value, {"name": name, **_value(value)}) for name, value in variables.items()]
    return at(role.get("env"), entries) if entries else None


def _value(cursor: Cursor) -> Tree:
    if not isinstance(cursor.value, dict):
        return {"value": as_text(cursor)}
    for source, reference in REFERENCES.items():
        place = cursor.get(source)
        if isinstance(place.value, str):
            parts = {"name": computed(_name, place), "key": computed(_key, place)}
            return {"valueFrom": at(place, {reference: parts})}
    return {"valueFrom": {"fieldRef": {"fieldPath": cursor.get("field")}}}


def _name(reference: str) -> str:
    return reference.partition("/")[0]


def _key(reference: str) -> str:
    return reference.partition("/")[2]
