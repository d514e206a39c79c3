"""The short form of states: lines such as ``worker-3: {exitCode: 137}``, and ``--pod worker-3=137``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from podplan.core.errors import RequestError
from podplan.core.suggestions import meant_or_known
from podplan.core.typing import Any
from podplan.tools.status.declared_state import Told, demand_phase, shown
from podplan.tools.status.replica_matcher import Names, meant, unknown
from podplan.tools.status.replicas import PHASES
from podplan.yaml import Document

FIELDS = ("phase", "exitCode", "reason", "restarts")
# What kubectl shows in place of a phase, and people copy.
_REASONS: dict[str, dict[str, Any]] = {
    "Evicted": {"reason": "Evicted"},
    "OOMKilled": {"exitCode": 137, "reason": "OOMKilled"},
}
_MOST = {"exitCode": 255, "restarts": 2_147_483_647}


def of_flags(flags: Sequence[str], known: Names) -> Iterator[Told]:
    """What ``--pod NAME=STATE`` flags say. Raises RequestError."""
    for flag in flags:
        name, equals, value = flag.partition("=")
        place = f"--pod {flag}"
        if not equals:
            raise RequestError(f"{place}: wants NAME=STATE, such as worker-3=137 or worker-0=Succeeded")
        state: Any = int(value) if value.isascii() and value.isdigit() and len(value) < 10 else value
        yield told(name, state, known, place, place)


def of_lines(document: Document, known: Names) -> Iterator[Told]:
    """What the lines of a mapping say. Raises RequestError with their place."""
    for name, value in document.data.items():
        places = (document.span((name,), on_key) for on_key in (True, False))
        key, below = (f"{document.file}:{span.line}:{span.column}" for span in places)
        yield told(str(name), value, known, key, below)


def told(name: str, state: Any, known: Names, name_place: str, place: str) -> Told:
    """What a name with a state says: an exit code, a phase, or a mapping of FIELDS."""
    positions = meant(known, name)
    if positions is None:
        raise RequestError(f"{name_place}: {unknown(known, name)}")
    given = _given(name, state, place)
    code, restarts = (_number(given, field, place) for field in ("exitCode", "restarts"))
    phase = _phase(given, code, place)
    reason = given.get("reason", "")
    if not isinstance(reason, str):
        raise RequestError(f"{place}: reason wants a word such as OOMKilled, not {shown(reason)}")
    exact = name in known.short or name not in known.types
    failed = code if phase == "Failed" else None
    return Told(positions, name_place, exact, phase, failed, reason, restarts=restarts or 0)


def _given(name: str, state: Any, place: str) -> dict[str, Any]:
    """A state as a mapping of FIELDS."""
    if isinstance(state, str):
        return _REASONS.get(state, {"phase": state})
    if isinstance(state, int) and not isinstance(state, bool):
        return {"exitCode": state}
    if not isinstance(state, dict) or not state:
        wanted = "an exit code (137), a phase (Running), or a mapping such as {exitCode: 137}"
        raise RequestError(
            f"{place}: {name} wants {wanted}, not {shown(state) if state != {} else 'nothing'}"
        )
    for field in state:
        if field not in FIELDS:
            hint = meant_or_known(str(field), FIELDS)
            raise RequestError(f'{place}: {name} has an unknown field "{field}"{hint}')
    return state


def _number(given: Mapping[str, Any], field: str, place: str) -> int | None:
    value = given.get(field)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST[field]:
        raise RequestError(f"{place}: {field} wants a number from 0 to {_MOST[field]}, not {shown(value)}")
    return value


def _phase(given: Mapping[str, Any], code: int | None, place: str) -> str:
    """The phase that is written, or that an exit code means; the two must agree."""
    ended = "" if code is None else "Failed" if code else "Succeeded"
    if given.get("phase") is None:
        return ended or ("Failed" if given.get("reason") else "Running")
    phase = demand_phase(given["phase"], PHASES, place)
    if ended and phase != ended:
        raise RequestError(f"{place}: a Pod with the exit code {code} is {ended}, not {phase}")
    return phase
