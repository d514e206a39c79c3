"""Probes and lifecycle hooks: one handler each, ports that exist, consistent thresholds."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Diagnostic, Path
from podplan.core.typing import Any
from podplan.kubernetes import names
from podplan.kubernetes.accessors import get_mapping, get_number

HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
HOOKS = ("exec", "httpGet", "tcpSocket", "sleep")
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def validate_probes(container: dict[str, Any], path: Path, grace_period: int) -> Iterator[Diagnostic]:
    """Yield the diagnostics of the probes and the lifecycle of a container; ``grace_period`` is that of
    the Pod."""
    for name in PROBES:
        if name in container:
            yield from _validate_probe(name, get_mapping(container, name), (*path, name))
    if "lifecycle" in container:
        lifecycle = get_mapping(container, "lifecycle")
        for hook in ("postStart", "preStop"):
            if hook in lifecycle:
                yield from _validate_hook(
                    get_mapping(lifecycle, hook), (*path, "lifecycle", hook), grace_period
                )


def _validate_probe(name: str, probe: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    yield from _validate_handlers(probe, HANDLERS, path)
    threshold = get_number(probe, "successThreshold")
    if name != "readinessProbe" and threshold > 1:
        message = f"successThreshold of a {name} must be 1, not {threshold}"
        yield Diagnostic("SCHEMA005", message, (*path, "successThreshold"))
    if name == "readinessProbe" and "terminationGracePeriodSeconds" in probe:
        message = "a readinessProbe must not have terminationGracePeriodSeconds"
        yield Diagnostic("SCHEMA009", message, (*path, "terminationGracePeriodSeconds"))


def _validate_hook(hook: dict[str, Any], path: Path, grace_period: int) -> Iterator[Diagnostic]:
    yield from _validate_handlers(hook, HOOKS, path)
    seconds = get_number(get_mapping(hook, "sleep"), "seconds")
    if seconds > grace_period:
        message = f"the hook sleeps {seconds} s, longer than the grace period of the Pod ({grace_period} s)"
        yield Diagnostic("SCHEMA005", message, (*path, "sleep", "seconds"))


def _validate_handlers(
    holder: dict[str, Any], handler_names: tuple[str, ...], path: Path
) -> Iterator[Diagnostic]:
    given_handlers = [name for name in handler_names if name in holder]
    if not given_handlers:
        yield Diagnostic("SCHEMA003", f"{path[-1]} needs one of {', '.join(handler_names)}", path)
    for extra in given_handlers[1:]:
        related = (((*path, given_handlers[0]), "the first handler"),)
        message = f"{path[-1]} must have one handler, not {' and '.join(given_handlers)}"
        yield Diagnostic("SCHEMA009", message, (*path, extra), related=related)
    for name in ("httpGet", "tcpSocket"):
        if name in holder:
            yield from validate_port_reference(get_mapping(holder, name).get("port"), (*path, name, "port"))


def validate_port_reference(port: object, path: Path) -> Iterator[Diagnostic]:
    """Yield a diagnostic for an invalid port: a number or the name of a container port."""
    if isinstance(port, bool):
        return
    if isinstance(port, int):
        if not 1 <= port <= 65535:
            yield Diagnostic("SCHEMA005", f"{path[-1]} must be between 1 and 65535, not {port}", path)
    elif isinstance(port, str) and port.isdecimal():
        message = (
            f"{path[-1]} {names.format_value(port)} is a string of digits, which is not a valid port name"
        )
        yield Diagnostic("SCHEMA006", message, path, help="remove the quotes")
    elif isinstance(port, str):
        mismatch = names.explain_mismatch("port-name", port)
        if mismatch:
            yield Diagnostic("SCHEMA006", f"{path[-1]} {names.format_value(port)} {mismatch}", path)
