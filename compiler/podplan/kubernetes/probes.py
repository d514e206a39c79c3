"""Probes and lifecycle hooks: one handler each, ports that exist, thresholds that make sense."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Path, Problem
from podplan.core.typing import Any
from podplan.kubernetes import names
from podplan.kubernetes.accessors import mapping, number

HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
HOOKS = ("exec", "httpGet", "tcpSocket", "sleep")
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def check(container: dict[str, Any], path: Path, grace: int) -> Iterator[Problem]:
    """The problems of the probes and the lifecycle of a container; ``grace`` is the Pod's grace period."""
    for name in PROBES:
        if name in container:
            yield from _probe(name, mapping(container, name), (*path, name))
    if "lifecycle" in container:
        lifecycle = mapping(container, "lifecycle")
        for hook in ("postStart", "preStop"):
            if hook in lifecycle:
                yield from _hook(mapping(lifecycle, hook), (*path, "lifecycle", hook), grace)


def _probe(name: str, probe: dict[str, Any], path: Path) -> Iterator[Problem]:
    yield from _handlers(probe, HANDLERS, path)
    threshold = number(probe, "successThreshold")
    if name != "readinessProbe" and threshold > 1:
        message = f"successThreshold of a {name} must be 1, not {threshold}"
        yield Problem("SCHEMA005", message, (*path, "successThreshold"))
    if name == "readinessProbe" and "terminationGracePeriodSeconds" in probe:
        message = "a readinessProbe has no terminationGracePeriodSeconds"
        yield Problem("SCHEMA009", message, (*path, "terminationGracePeriodSeconds"))


def _hook(hook: dict[str, Any], path: Path, grace: int) -> Iterator[Problem]:
    yield from _handlers(hook, HOOKS, path)
    seconds = number(mapping(hook, "sleep"), "seconds")
    if seconds > grace:
        message = f"the hook sleeps {seconds} s, longer than the grace period of the Pod ({grace} s)"
        yield Problem("SCHEMA005", message, (*path, "sleep", "seconds"))


def _handlers(holder: dict[str, Any], known: tuple[str, ...], path: Path) -> Iterator[Problem]:
    given = [name for name in known if name in holder]
    if not given:
        yield Problem("SCHEMA003", f"{path[-1]} needs one of {', '.join(known)}", path)
    for extra in given[1:]:
        related = (((*path, given[0]), "the first handler"),)
        message = f"{path[-1]} takes one handler; it has {' and '.join(given)}"
        yield Problem("SCHEMA009", message, (*path, extra), related=related)
    for name in ("httpGet", "tcpSocket"):
        if name in holder:
            yield from port_reference(mapping(holder, name).get("port"), (*path, name, "port"))


def port_reference(port: object, path: Path) -> Iterator[Problem]:
    """The problem of a port that is given as a number or as the name of a container port."""
    if isinstance(port, bool):
        return
    if isinstance(port, int):
        if not 1 <= port <= 65535:
            yield Problem("SCHEMA005", f"{path[-1]} must be between 1 and 65535, not {port}", path)
    elif isinstance(port, str) and port.isdecimal():
        message = f"{path[-1]} {names.shown(port)} is text, and no port can have that name"
        yield Problem("SCHEMA006", message, path, help="take the quotes away")
    elif isinstance(port, str):
        fault = names.fault("port-name", port)
        if fault:
            yield Problem("SCHEMA006", f"{path[-1]} {names.shown(port)} {fault}", path)
