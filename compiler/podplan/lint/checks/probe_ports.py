"""Ports that probes and lifecycle hooks refer to by name.

Source: https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/,
https://github.com/kubernetes/kubernetes/blob/master/pkg/kubelet/prober/worker.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.suggestions import did_you_mean
from podplan.core.typing import Any
from podplan.kubernetes.accessors import entries, mapping, text
from podplan.lint.analysis.jobs import shown_list
from podplan.lint.target import Hit, Subject

# What becomes of a container whose port the kubelet cannot find: an error is no failed probe.
_EFFECT = {
    "livenessProbe": "the kubelet cannot run the probe, so that a training that hangs is never restarted",
    "readinessProbe": "the kubelet cannot run the probe, so that the Pod never becomes ready",
    "startupProbe": "the kubelet cannot run the probe, so that the Pod never becomes ready",
    "postStart": "the hook fails, and the kubelet kills the container",
    "preStop": "the hook fails, and the container is ended without it",
}


def unknown_port_name(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A port name that the container lacks. Values: ``port``, ``field``, ``effect``, ``instead``."""
    lifecycle = mapping(subject.data, "lifecycle")
    known: list[str] | None = None
    for field, effect in _EFFECT.items():
        base: Path = (field,) if field.endswith("Probe") else ("lifecycle", field)
        handler = mapping(subject.data if len(base) == 1 else lifecycle, field)
        for action in ("httpGet", "tcpSocket"):
            port = text(mapping(handler, action), "port")
            if not port or port.isdecimal():
                continue
            if known is None:
                known = [text(entry, "name") for _, entry in entries(subject.data, "ports")]
            if port not in known:
                values = {
                    "port": port,
                    "field": field,
                    "effect": effect,
                    "instead": _instead(port, [one for one in known if one]),
                }
                yield Hit((*base, action, "port"), values)


def _instead(port: str, known: list[str]) -> str:
    meant = did_you_mean(port, known)
    names = f" ({shown_list(known)})" if known else ""
    return f"write the number, or the name of a port of the container{meant or names}"
