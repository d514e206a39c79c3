"""The field of a CR that suspends or pauses its job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from podplan.core.findings import Path
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kinds.registry import find_kind, load_spec
from podplan.kubernetes.accessors import get_mapping, get_text

_SUSPEND_PATHS: tuple[Path, ...] = (("spec", "suspend"), ("spec", "runPolicy", "suspend"))


def find_suspension(cr: Mapping[str, Any]) -> Path:
    """Return the path of the field that suspends or pauses a job, empty if it runs."""
    kind = find_kind(cr.get("apiVersion"), cr.get("kind"))
    run_mode = load_spec(kind).run_mode_path if kind is not None else ()
    paths = ((*run_mode, "pause", "enabled"), *_SUSPEND_PATHS) if run_mode else _SUSPEND_PATHS
    return next((path for path in paths if _get_value(cr, path) is True), ())


def _get_value(cr: Mapping[str, Any], path: Path) -> Any:
    for step in path[:-1]:
        cr = get_mapping(cr, str(step))
    return cr.get(str(path[-1]))


def explain_missing_pods(cr: Mapping[str, Any], groups: Iterable[ReplicaGroup]) -> str:
    """Return why a job has no Pods if it is suspended or paused, "" for any other."""
    field = find_suspension(cr)
    if not field or any(group.doc.data.get("kind") == "Pod" for group in groups):
        return ""
    name = get_text(get_mapping(cr, "metadata"), "name")
    job = f"{get_text(cr, 'kind')} {name}".rstrip()
    return f"{job} has no Pods because of {'.'.join(map(str, field))}: true; --resumed lowers it as it runs"
