"""What somebody says of the state of some replicas."""

from __future__ import annotations

from podplan.core.errors import UsageError
from podplan.core.suggestions import suggest_or_list
from podplan.core.truncation import truncate
from podplan.core.typing import Any, NamedTuple
from podplan.tools.status.replicas import ContainerState

_MAX_SHOWN_LENGTH = 61


class DeclaredState(NamedTuple):
    """What is said of the replicas at some ``positions``; ``place`` begins messages about it.

    ``exact`` is false for what is said of a whole type, which gives way to what is said of one of them.
    ``containers`` are None where only the phase is known. ``name`` and ``uid`` are those of the real Pod.
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
    """``written`` if it is one of the known phases. Raises UsageError."""
    if isinstance(value, str) and value in phases:
        return value
    hint = suggest_or_list(value if isinstance(value, str) else "", phases)
    raise UsageError(f"{location}: there is no phase {format_value(value)}{hint}")


def format_value(value: Any) -> str:
    """A value in a message."""
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return truncate(text, _MAX_SHOWN_LENGTH)
