"""The variables of a GenericJob: $(type), $(rank), $(replicas[T]), $(service.T[i].host), $(service.port[n]).

Replaced by the controller before a Pod is made (docs/evidence/t9k-genericjob.md#variable-substitution). What
it does not know is left as it
is, and so is anything after ``$$``, which Kubernetes reads as an escape.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from podplan.core.indexed_text import Indexed
from podplan.core.lazy_regex import pattern
from podplan.core.provenance import Cursor, Marked, at, computed
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.child_metadata import Tree, replacing
from podplan.kinds.t9k.job import Job, Role, by
from podplan.kinds.t9k.pods import REPLICA_INDEX, replica_name

VARIABLE = pattern(
    r"\$\$|\$\((?:(?P<type>type)|(?P<rank>rank)|replicas\[(?P<replicas>[^\[\]()]+)\]"
    r"|service\.(?P<host_type>[^\[\]()]+)\[(?P<host_rank>[0-9]{1,9})\]\.host"
    r"|service\.port\[(?P<port>[^\[\]()]+)\])\)"
)


class Variables(NamedTuple):
    """What the variables of one job stand for: its types, and the ports of its Services if it has any."""

    job: Job
    roles: Mapping[str, Role]
    ports: Mapping[str, Cursor] | None


def variables(job: Job, roles: list[Role]) -> Variables:
    """The variables of a job."""
    ports = job.spec.get("service", "ports")
    named = {role.type: role for role in reversed(roles)}
    return Variables(job, named, by("name", ports) if ports.exists else None)


def substituted(known: Variables, role: Role, container: Tree) -> Tree:
    """A container of a role with the variables in its command, args and env values replaced."""
    tree = dict(container)
    for key in ("command", "args"):
        if key in tree:
            tree[key] = _each(tree[key], lambda entry: _text(known, role, entry))
    if "env" in tree:
        tree["env"] = _each(tree["env"], lambda entry: _variable(known, role, entry))
    return tree


def _each(listed: Cursor | Marked, change: Callable[[Cursor], Any]) -> Cursor | Marked:
    """``change`` applied to the entries of a list in the CR; ``listed`` itself when nothing changes."""
    written = _written(listed)
    entries = written.entries() if written is not None else []
    changed = [change(entry) for entry in entries]
    if written is None or all(new is old for new, old in zip(changed, entries, strict=True)):
        return listed
    marked = at(written, changed)
    return replacing(marked, listed) if isinstance(listed, Marked) else marked


def _written(listed: Cursor | Marked) -> Cursor | None:
    """Where in the CR a list was copied from; None for one that the controller made."""
    if isinstance(listed, Cursor):
        return listed
    if listed.origin.how != "copied":
        return None
    return Cursor(*listed.origin.places[0], listed.value)


def _variable(known: Variables, role: Role, entry: Cursor) -> Any:
    value = entry.get("value")
    if not value.exists:
        return entry
    replaced = _text(known, role, value)
    return entry if replaced is value else {**entry.fields(), "value": replaced}


def _text(known: Variables, role: Role, cursor: Cursor) -> Any:
    """The text at a cursor with its variables replaced; the cursor itself when there are none."""
    if not isinstance(cursor.value, str) or "$(" not in cursor.value:
        return cursor
    parts: list[str | int] = []
    end = 0
    for match in VARIABLE.finditer(cursor.value):
        value = _value(known, role, match)
        if value is None:
            continue
        parts += [cursor.value[end : match.start()], value]
        end = match.end()
    if not parts:
        return cursor
    parts.append(cursor.value[end:])
    if any(isinstance(part, int) for part in parts):
        return computed(lambda _: Indexed(tuple(parts)), cursor, fact=behaviors.GENERIC_SUBSTITUTION)
    return computed(lambda _: "".join(map(str, parts)), cursor, fact=behaviors.GENERIC_SUBSTITUTION)


def _value(known: Variables, role: Role, match: re.Match[str]) -> str | int | None:
    """What one variable stands for; a number for the index of the replica, None for what nobody knows."""
    found = match.groupdict()
    if match[0] == "$$":
        return None
    if found["type"]:
        return role.type
    if found["rank"]:
        return REPLICA_INDEX
    if found["replicas"]:
        named = known.roles.get(found["replicas"])
        return None if named is None else str(named.replicas)
    if known.ports is None:
        return None
    if found["port"]:
        port = known.ports.get(found["port"])
        return str(port["port"].value) if port is not None and port.get("port").exists else None
    named = known.roles.get(found["host_type"])
    if named is None or int(found["host_rank"]) >= named.replicas:
        return None
    return replica_name(known.job, named, behaviors.SERVICE_NAME).text(int(found["host_rank"]))
