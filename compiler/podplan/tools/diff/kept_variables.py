"""Variables of Pods that stay while a change adds others: a Pod that runs keeps its variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from podplan.core.replica_groups import ReplicaGroup
from podplan.core.wording import join_words
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.tools.diff.model import JobChange

MAX_JOBS = 3  # that a note names
MAX_VARIABLES = 4


def find_kept_variables(before: Sequence[ReplicaGroup], after: Sequence[ReplicaGroup]) -> tuple[str, ...]:
    """Return the names of the variables with another value in a replica type that has Pods on both sides."""
    old, new = _index_variables(before), _index_variables(after)
    return tuple(dict.fromkeys(key[-1] for key in old if key in new and old[key] != new[key]))


def _index_variables(groups: Sequence[ReplicaGroup]) -> dict[tuple[str, str, str], Any]:
    """Return the values of the variables of the first Pod of each type, by type, container and name."""
    values: dict[tuple[str, str, str], Any] = {}
    for group in groups:
        if group.doc.data.get("kind") != "Pod":
            continue
        for _, container in get_entries(get_mapping(group.doc.data, "spec"), "containers"):
            for _, variable in get_entries(container, "env"):
                key = (group.replica_type, get_text(container, "name"), get_text(variable, "name"))
                values.setdefault(key, variable.get("value"))
    return values


def iter_kept_variable_notes(changes: Sequence[JobChange]) -> Iterator[str]:
    """Yield a note for each set of variables that Pods of changed jobs keep."""
    names_by_variables: dict[tuple[str, ...], list[str]] = {}
    for change in changes:
        if change.what == "changed" and change.kept_variables:
            names_by_variables.setdefault(change.kept_variables, []).append(f"{change.kind} {change.name}")
    for variables, names in names_by_variables.items():
        more = len(names) - MAX_JOBS
        shown = [*names[:MAX_JOBS], *([f"{more} more"] if more > 0 else [])]
        shown_variables = [
            *variables[:MAX_VARIABLES],
            *(["others"] if len(variables) > MAX_VARIABLES else []),
        ]
        value = "value" if len(variables) == 1 else "values"
        yield (
            f"{join_words(shown)}: the Pods that run keep {join_words(shown_variables)} as before, and only"
            f" new Pods get the new {value}; delete and create the job for all to agree"
        )
