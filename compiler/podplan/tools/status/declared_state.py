"""Declared states of replicas."""

from __future__ import annotations

from podplan.core.errors import UsageError
from podplan.core.suggestions import suggest_or_list
from podplan.core.truncation import truncate
from podplan.core.typing import Any, NamedTuple
from podplan.tools.status.replicas import ContainerState

_MAX_SHOWN_LENGTH = 61


class DeclaredState(NamedTuple):
    """The declared state of the replicas at some ``positions``; ``location`` begins messages about it.

    ``is_exact`` is false for the state of a whole type, which the state of one replica overrides.
    ``containers`` are None if only the phase is known. ``name`` and ``uid`` are those of the real Pod.
    """

    positions: list[int]
    location: str
    is_exact: bool
    phase: str
    exit_code: int | None = None
    reason: str = ""
    containers: tuple[ContainerState, ...] | None = None
    name: str = ""
    uid: str = ""
    restarts: int = 0


def parse_phase(value: Any, phases: tuple[str, ...], location: str) -> str:
    """Return ``value`` if it is one of ``phases``. Raises UsageError: if it is not."""
    if isinstance(value, str) and value in phases:
        return value
    hint = suggest_or_list(value if isinstance(value, str) else "", phases)
    raise UsageError(f"{location}: there is no phase {format_value(value)}{hint}")


def format_value(value: Any) -> str:
    """Format a value for a message."""
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return truncate(text, _MAX_SHOWN_LENGTH)
