"""Fields about the life of a job that several controllers have: how long it runs, and whether it starts."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, Traced, attribute_to, compute_traced
from podplan.core.typing import Any
from podplan.core.wording import add_article
from podplan.kinds.common.durations import parse_duration


def build_deadline(spec: Cursor) -> Any:
    """Return ``deadline`` in seconds."""
    deadline = spec.get("deadline")
    return compute_traced(parse_duration, deadline) if isinstance(deadline.value, str) else deadline


def build_suspend(mode: Cursor) -> Traced | None:
    """Return ``mode`` as the field suspend; None for a mode that it does not express."""
    if mode.value not in ("pause", "immediate"):
        return None
    return attribute_to(mode, mode.value == "pause")


def reject_start_fields(spec: Cursor) -> list[Diagnostic]:
    """Return a diagnostic for each field about the start of replicas, of the spec and of its roles."""
    name = add_article(spec.get("job").value)
    cursors = [
        entry.get(field) for entry in (spec, *spec.get("roles").entries()) for field in ("debug", "resume")
    ]
    return [
        Diagnostic("PROF020", f"{name} has no use for {cursor.path[-1]}", cursor.path, on_key=True)
        for cursor in cursors
        if cursor.exists
    ]


def reject_start_modes(spec: Cursor) -> list[Diagnostic]:
    """Return a diagnostic for each field about the start of replicas, for controllers that only suspend."""
    diagnostics = reject_start_fields(spec)
    if spec.get("mode").value == "debug":
        message = f"mode of {add_article(spec.get('job').value)} is immediate or pause, not debug"
        diagnostics.append(Diagnostic("PROF024", message, spec.get("mode").path))
    return diagnostics
