"""Variables of a container that a later entry of the controller overrides.

Source: docs/evidence/training-operator.md#environment and
https://kubernetes.io/docs/tasks/inject-data-application/define-environment-variable-container/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.provenance import Path, trace_to_source
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation


@check()
def overridden_variable(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A variable that a later entry of the controller overrides. Values: ``name``, ``written``,
    ``set``."""
    for group in target.job.pods:
        for number, container in get_entries(get_mapping(group.doc.data, "spec"), "containers"):
            first_by_name: dict[str, tuple[Path, Any]] = {}
            for index, entry in get_entries(container, "env"):
                name, value = entry.get("name"), entry.get("value", "" if "valueFrom" not in entry else None)
                path: Path = ("spec", "containers", number, "env", index)
                if not isinstance(name, str):
                    continue
                if name in first_by_name and first_by_name[name][1] != value and _is_added(group.doc, path):
                    first_path, written = first_by_name[name]
                    values = {"name": name, "written": _describe(written), "set": _describe(value)}
                    yield Violation(first_path, values, doc=group.doc, group=group)
                first_by_name.setdefault(name, (path, value))


def _is_added(doc: Any, path: Path) -> bool:
    """Whether the controller wrote what is at ``path``, and not the CR."""
    origin = trace_to_source(doc, path)[0].origin
    return origin is not None and origin.behavior is not None


def _describe(value: Any) -> str:
    if value is None:
        return "read from elsewhere"
    return f'"{value}"' if len(value) <= 80 else "another text"
