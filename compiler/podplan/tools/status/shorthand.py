"""The short form of declared states: lines such as ``worker-3: {exitCode: 137}``, and ``--pod
worker-3=137``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from podplan.core.errors import UsageError
from podplan.core.lazy_regex import compile_lazily
from podplan.core.suggestions import suggest_or_list
from podplan.core.typing import Any
from podplan.tools.status.declared_state import DeclaredState, format_value, parse_phase
from podplan.tools.status.replica_matcher import ReplicaNames, explain_unknown_name, find_positions
from podplan.tools.status.replicas import REPLICA_PHASES
from podplan.yaml import Document

STATE_FIELDS = ("phase", "exitCode", "reason", "restarts")
# The words in the STATUS column of kubectl get pods that are no phases.
_WAITING_WORDS = """
    ContainerCreating PodInitializing ImagePullBackOff ErrImagePull ErrImageNeverPull InvalidImageName
    ImageInspectError RegistryUnavailable CreateContainerConfigError CreateContainerError SchedulingGated
"""
_FAILED_WORDS = """
    DeadlineExceeded NodeAffinity NodeLost NodeShutdown OutOfcpu OutOfmemory OutOfpods Preempting Shutdown
    Terminated UnexpectedAdmissionError
"""
_STATE_BY_STATUS: dict[str, dict[str, Any]] = {
    **{word: {"phase": "Pending", "reason": word} for word in _WAITING_WORDS.split()},
    **{word: {"phase": "Failed", "reason": word} for word in _FAILED_WORDS.split()},
    "Completed": {"exitCode": 0},
    "ContainerCannotRun": {"exitCode": 127, "reason": "ContainerCannotRun"},
    "ContainerStatusUnknown": {"exitCode": 137, "reason": "ContainerStatusUnknown"},
    "CrashLoopBackOff": {"phase": "Running", "reason": "CrashLoopBackOff"},
    "Error": {"phase": "Failed"},
    "Evicted": {"reason": "Evicted"},
    "NotReady": {"phase": "Running"},
    "OOMKilled": {"exitCode": 137, "reason": "OOMKilled"},
    "RunContainerError": {"phase": "Running", "reason": "RunContainerError"},
    "StartError": {"exitCode": 128, "reason": "StartError"},
    "Terminating": {"phase": "Deleted"},
}
# Signal:9 and ExitCode:3 are what kubectl shows of a container that ended without a reason.
_ENDING_PATTERN = compile_lazily(r"(Signal|ExitCode):([0-9]{1,3})")
_INIT_PREFIX = "Init:"
_MAX_VALUES = {"exitCode": 255, "restarts": 2_147_483_647}


def parse_flags(flags: Sequence[str], replica_names: ReplicaNames) -> Iterator[DeclaredState]:
    """Yield the states of ``--pod NAME=STATE`` flags. Raises UsageError: for an invalid one."""
    for flag in flags:
        name, equals, value = flag.partition("=")
        location = f"--pod {flag}"
        if not equals:
            raise UsageError(f"{location}: wants NAME=STATE, such as worker-3=137 or worker-0=Succeeded")
        state: Any = int(value) if value.isascii() and value.isdigit() and len(value) < 10 else value
        yield parse_state(name, state, replica_names, location, location)


def parse_lines(document: Document, replica_names: ReplicaNames) -> Iterator[DeclaredState]:
    """Yield the states in the lines of a mapping. Raises UsageError: with the location of an invalid one."""
    for name, value in document.data.items():
        span_pair = (document.span((name,), on_key) for on_key in (True, False))
        key_location, value_location = (f"{document.file}:{span.line}:{span.column}" for span in span_pair)
        yield parse_state(str(name), value, replica_names, key_location, value_location)


def parse_state(
    name: str, state: Any, replica_names: ReplicaNames, name_location: str, location: str
) -> DeclaredState:
    """Parse a name with a state: an exit code, a phase, or a mapping of FIELDS."""
    positions = find_positions(replica_names, name)
    if positions is None:
        raise UsageError(f"{name_location}: {explain_unknown_name(replica_names, name)}")
    fields = _normalize_state(name, state, location)
    exit_code, restarts = (_read_number(fields, field, location) for field in ("exitCode", "restarts"))
    phase = _read_phase(fields, exit_code, location)
    reason = fields.get("reason", "")
    if not isinstance(reason, str):
        raise UsageError(f"{location}: reason wants a word such as OOMKilled, not {format_value(reason)}")
    is_exact = name in replica_names.short or name not in replica_names.types
    failure_code = exit_code if phase == "Failed" else None
    return DeclaredState(
        positions, name_location, is_exact, phase, failure_code, reason, restarts=restarts or 0
    )


def _normalize_state(name: str, state: Any, location: str) -> dict[str, Any]:
    """Return a state as a mapping of FIELDS."""
    if isinstance(state, str):
        return _read_kubectl_status(state)
    if isinstance(state, int) and not isinstance(state, bool):
        return {"exitCode": state}
    if not isinstance(state, dict) or not state:
        expected = "an exit code (137), a phase (Running), or a mapping such as {exitCode: 137}"
        raise UsageError(
            f"{location}: {name} wants {expected}, not {format_value(state) if state != {} else 'nothing'}"
        )
    for field in state:
        if field not in STATE_FIELDS:
            hint = suggest_or_list(str(field), STATE_FIELDS)
            raise UsageError(f'{location}: {name} has an unknown field "{field}"{hint}')
    return state


def _read_kubectl_status(word: str) -> dict[str, Any]:
    """Return the state that a word in the STATUS column of kubectl means; any other word is a phase.

    Behind Init: are the states of init containers: the Pod is pending, unless one of them failed for good.
    """
    if word.startswith(_INIT_PREFIX):
        inner = word.removeprefix(_INIT_PREFIX)
        state = _read_kubectl_status(inner)
        is_failed = state.get("phase") == "Failed" or state.get("exitCode", 0) != 0
        return state if is_failed else {"phase": "Pending", "reason": word}
    ending = _ENDING_PATTERN.fullmatch(word)
    if ending is not None:
        return {"exitCode": int(ending[2]) + (128 if ending[1] == "Signal" else 0)}
    return _STATE_BY_STATUS.get(word, {"phase": word})


def _read_number(fields: Mapping[str, Any], field: str, location: str) -> int | None:
    value = fields.get(field)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MAX_VALUES[field]:
        raise UsageError(
            f"{location}: {field} wants a number from 0 to {_MAX_VALUES[field]}, not {format_value(value)}"
        )
    return value


def _read_phase(fields: Mapping[str, Any], exit_code: int | None, location: str) -> str:
    """Return the written phase, or the one for an exit code; the two must agree."""
    ended_phase = "" if exit_code is None else "Failed" if exit_code else "Succeeded"
    if fields.get("phase") is None:
        return ended_phase or ("Failed" if fields.get("reason") else "Running")
    phase = parse_phase(fields["phase"], REPLICA_PHASES, location)
    if ended_phase and phase != ended_phase:
        raise UsageError(f"{location}: a Pod with the exit code {exit_code} is {ended_phase}, not {phase}")
    return phase
