"""torchrun in the Pods of Jobs: the controller sets no variables for it, so its options say what it needs."""

from __future__ import annotations

from collections.abc import Callable

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, Traced, attribute_to, compute_traced
from podplan.core.typing import Any
from podplan.kinds.common.behaviors import TORCHRUN_OPTIONS
from podplan.kinds.common.hardware import NodeRequest, resolve_process_count
from podplan.kinds.common.profile import ProfileRole, require_choice

PORT = 29500
LAUNCHERS = ("torchrun", "python")
RENDEZVOUS_BACKENDS = ("static", "c10d")
# The address of the first Pod of a role as a traced text; None with a diagnostic if it has none.
FindAddress = Callable[[ProfileRole, list[Diagnostic]], Traced | None]


def uses_torchrun(spec: Cursor, diagnostics: list[Diagnostic]) -> bool:
    """Whether the profile starts its processes with torchrun; a diagnostic for options without it."""
    launcher = require_choice(spec.get("launcher"), LAUNCHERS, spec, diagnostics)
    if launcher is not None and launcher.value == "torchrun":
        return True
    kind = spec.get("job").value
    for field in ("processes", "torchrun"):
        if spec.get(field).exists:
            message = (
                f"{field} of a {kind} needs launcher: torchrun, because its controller starts one process"
            )
            diagnostics.append(Diagnostic("PROF021", message, spec.get(field).path, on_key=True))
    return False


def build_torchrun_options(
    role: ProfileRole, request: NodeRequest, find_address: FindAddress, diagnostics: list[Diagnostic]
) -> list[Any]:
    """Return the options of torchrun for the Pods of a role: processes, and where several Pods meet."""
    spec, replicas = role.spec, role.get_field("replicas")
    restarts = spec.get("torchrun", "maxRestarts")
    options = [
        _build_process_option(role, request, diagnostics),
        _build_option("max-restarts", restarts) if restarts.exists else None,
    ]
    if isinstance(replicas.value, int) and replicas.value > 1:
        options += _build_rendezvous_options(role, replicas, find_address, diagnostics)
    return [option for option in options if option is not None]


def _build_process_option(
    role: ProfileRole, request: NodeRequest, diagnostics: list[Diagnostic]
) -> Traced | None:
    processes, word = role.spec.get("processes"), role.spec.get("torchrun", "procPerNode")
    if not processes.exists:
        return _build_option("nproc-per-node", word) if word.exists else None
    count = resolve_process_count(processes, [(role, request)], diagnostics)
    if isinstance(count, Traced):
        return count._replace(value=f"--nproc-per-node={count.value}")
    return _build_option("nproc-per-node", count) if count is not None else None


def _build_rendezvous_options(
    role: ProfileRole, replicas: Cursor, find_address: FindAddress, diagnostics: list[Diagnostic]
) -> list[Traced]:
    address = find_address(role, diagnostics)
    backend = require_choice(
        role.spec.get("torchrun", "rdzvBackend"), RENDEZVOUS_BACKENDS, role.spec, diagnostics
    )
    if address is None or backend is None:
        return []
    nodes = _build_option("nnodes", replicas)
    if backend.value == "c10d":
        endpoint = address._replace(value=f"--rdzv-endpoint={address.value}:{PORT}")
        job = address._replace(value=f"--rdzv-id={address.value.partition('.')[0]}")
        return [nodes, _build_option("rdzv-backend", backend), endpoint, job]
    launcher = role.spec.get("launcher")
    return [
        nodes,
        attribute_to((TORCHRUN_OPTIONS, launcher), "--node-rank=$(JOB_COMPLETION_INDEX)"),
        address._replace(value=f"--master-addr={address.value}"),
        attribute_to((TORCHRUN_OPTIONS, launcher), f"--master-port={PORT}"),
    ]


def _build_option(name: str, cursor: Cursor) -> Traced:
    return compute_traced(lambda value: f"--{name}={value}", cursor, behavior=TORCHRUN_OPTIONS)
