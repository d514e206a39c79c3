"""The variables of a GenericJob: $(type), $(rank), $(replicas[T]), $(service.T[i].host), $(service.port[n]).

The controller substitutes them before it creates a Pod
(docs/evidence/t9k-genericjob.md#variable-substitution). Unknown variables stay unchanged, and so does text
after ``$$``, which Kubernetes reads as an escape.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from podplan.core.indexed_text import Indexed
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import Cursor, Path, Traced, attribute_to, compute_traced
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.child_metadata import TracedMap, record_replaced
from podplan.kinds.t9k.generic_job import behaviors as kind_behaviors
from podplan.kinds.t9k.job import JobContext, ReplicaType, index_entries
from podplan.kinds.t9k.pods import REPLICA_INDEX, build_replica_name

VARIABLE_PATTERN = compile_lazily(
    r"\$\$|\$\((?:(?P<type>type)|(?P<rank>rank)|replicas\[(?P<replicas>[^\[\]()]+)\]"
    r"|service\.(?P<host_type>[^\[\]()]+)\[(?P<host_rank>[0-9]{1,9})\]\.host"
    r"|service\.port\[(?P<port>[^\[\]()]+)\])\)"
)


class JobVariables(NamedTuple):
    """What the variables of one job resolve to: its replica types, and the ports of its Services."""

    job: JobContext
    types_by_name: Mapping[str, ReplicaType]
    ports_by_name: Mapping[str, Cursor] | None


def collect_variables(job: JobContext, replica_types: list[ReplicaType]) -> JobVariables:
    """Collect the variables of a job."""
    ports = job.spec.get("service", "ports")
    types_by_name = {role.name: role for role in reversed(replica_types)}
    return JobVariables(job, types_by_name, index_entries("name", ports) if ports.exists else None)


def substitute_variables(
    job_variables: JobVariables, replica_type: ReplicaType, container: TracedMap
) -> TracedMap:
    """Return a container with the variables in its command, args and env values substituted."""
    tree = dict(container)
    for key in ("command", "args"):
        if key in tree:
            tree[key] = _map_entries(
                tree[key], lambda entry: _substitute_text(job_variables, replica_type, entry)
            )
    if "env" in tree:
        tree["env"] = _map_entries(
            tree["env"], lambda entry: _substitute_env_entry(job_variables, replica_type, entry)
        )
    return tree


def _map_entries(list_value: Cursor | Traced, change: Callable[[Cursor], Any]) -> Cursor | Traced:
    """Apply ``change`` to the entries of a list in the CR; ``list_value`` itself if nothing changes."""
    list_cursor = _find_written_list(list_value)
    entries = list_cursor.entries() if list_cursor is not None else []
    changed = [change(entry) for entry in entries]
    if list_cursor is None or all(new is old for new, old in zip(changed, entries, strict=True)):
        return list_value
    traced = attribute_to(list_cursor, changed)
    return record_replaced(traced, list_value) if isinstance(list_value, Traced) else traced


def _find_written_list(list_value: Cursor | Traced) -> Cursor | None:
    """Return the place in the CR that a list was copied from; None for one that the controller creates."""
    if isinstance(list_value, Cursor):
        return list_value
    if list_value.origin.derivation != "copied":
        return None
    return Cursor(*list_value.origin.sources[0], list_value.value)


def _substitute_env_entry(job_variables: JobVariables, replica_type: ReplicaType, entry: Cursor) -> Any:
    value = entry.get("value")
    if not value.exists:
        return entry
    replaced = _substitute_text(job_variables, replica_type, value)
    return entry if replaced is value else {**entry.fields(), "value": replaced}


def _substitute_text(job_variables: JobVariables, replica_type: ReplicaType, cursor: Cursor) -> Any:
    """Return the text at a cursor with its variables substituted; the cursor itself if there are none."""
    if not isinstance(cursor.value, str) or "$(" not in cursor.value:
        return cursor
    parts: list[str | int] = []
    sources: dict[Path, Cursor] = {}
    end = 0
    for match in VARIABLE_PATTERN.finditer(cursor.value):
        value = _resolve_variable(job_variables, replica_type, match)
        if value is None:
            continue
        text, source = value
        parts += [cursor.value[end : match.start()], text]
        if source is not None and source.exists:
            sources[source.path] = source
        end = match.end()
    if not parts:
        return cursor
    parts.append(cursor.value[end:])
    is_indexed = any(isinstance(part, int) for part in parts)
    return compute_traced(
        lambda *_: Indexed(tuple(parts)) if is_indexed else "".join(map(str, parts)),
        cursor,
        *sources.values(),
        behavior=kind_behaviors.GENERIC_SUBSTITUTION,
    )


def _resolve_variable(
    job_variables: JobVariables, replica_type: ReplicaType, match: re.Match[str]
) -> tuple[str | int, Cursor | None] | None:
    """Return the value of one variable, and the field that it is read from; None if it is unknown.

    The value is a number for the index of the replica.
    """
    match_groups = match.groupdict()
    if match[0] == "$$":
        return None
    if match_groups["type"]:
        return replica_type.name, None
    if match_groups["rank"]:
        return REPLICA_INDEX, None
    if match_groups["replicas"]:
        named_type = job_variables.types_by_name.get(match_groups["replicas"])
        return None if named_type is None else (str(named_type.replicas), named_type.entry.get("replicas"))
    if job_variables.ports_by_name is None:
        return None
    if match_groups["port"]:
        port = job_variables.ports_by_name.get(match_groups["port"])
        return (
            (str(port["port"].value), port["port"]) if port is not None and port.get("port").exists else None
        )
    named_type = job_variables.types_by_name.get(match_groups["host_type"])
    if named_type is None or int(match_groups["host_rank"]) >= named_type.replicas:
        return None
    host = build_replica_name(job_variables.job, named_type, behaviors.SERVICE_NAME).text_at(
        int(match_groups["host_rank"])
    )
    return host, None
