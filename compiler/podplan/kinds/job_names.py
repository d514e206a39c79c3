"""The names that the children of a job are derived from."""

from __future__ import annotations

from collections.abc import Callable

from podplan.core.provenance import Cursor
from podplan.core.replica_groups import LoweringOptions
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.registry import find_kind, load_spec


class JobNames(NamedTuple):
    """The name of a job, the base name of its children, and whether that depends on a uid."""

    name: str
    base_name: str
    has_uid: bool = False


def compute_job_names(cr: Cursor, options: LoweringOptions) -> JobNames:
    """Compute the names for the children of a CR that fits its schema."""
    kind = find_kind(cr.value["apiVersion"], cr.value["kind"])
    load: Callable[[Any, Any], JobNames] | None = load_spec(kind).load_job_names if kind else None
    if load is not None:
        return load(cr, options)
    name = str(cr.get("metadata", "name").value_or(""))
    return JobNames(name, name)
