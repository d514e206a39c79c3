"""What somebody says of the state of some replicas."""

from __future__ import annotations

from podplan.core.errors import RequestError
from podplan.core.suggestions import meant_or_known
from podplan.core.truncation import shortened
from podplan.core.typing import Any, NamedTuple
from podplan.tools.status.replicas import Container

_MOST_SHOWN = 61


class Told(NamedTuple):
    """What is said of the replicas at some ``positions``; ``place`` begins messages about it.

    ``exact`` is false for what is said of a whole type, which gives way to what is said of one of them.
    ``containers`` are None where only the phase is known. ``name`` and ``uid`` are those of the real Pod.
    """

    positions: list[int]
    place: str
    exact: bool
    phase: str
    code: int | None = None
    reason: str = ""
    containers: tuple[Container, ...] | None = None
    name: str = ""
    uid: str = ""
    restarts: int = 0


def demand_phase(written: Any, known: tuple[str, ...], place: str) -> str:
    """``written`` if it is one of the known phases. Raises RequestError."""
    if isinstance(written, str) and written in known:
        return written
    hint = meant_or_known(written if isinstance(written, str) else "", known)
    raise RequestError(f"{place}: there is no phase {shown(written)}{hint}")


def shown(value: Any) -> str:
    """A value in a message."""
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return shortened(text, _MOST_SHOWN)
