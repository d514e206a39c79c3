"""Ports that probes and lifecycle hooks refer to by name.

Source: https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/,
https://github.com/kubernetes/kubernetes/blob/master/pkg/kubelet/prober/worker.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.suggestions import suggest_phrase
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.analysis.jobs import format_list
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

# Effects of a port that the kubelet cannot find: an error is no failed probe.
_EFFECT = {
    "livenessProbe": "the kubelet cannot run the probe, so a training that hangs never restarts",
    "readinessProbe": "the kubelet cannot run the probe, so the Pod never becomes ready",
    "startupProbe": "the kubelet cannot run the probe, so the Pod never becomes ready",
    "postStart": "the hook fails, and the kubelet kills the container",
    "preStop": "the hook fails, and the container ends without it",
}


@check(
    aliases=("unknown-port-name",), requires=("livenessProbe", "readinessProbe", "startupProbe", "lifecycle")
)
def unknown_probe_port(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A port name that the container lacks. Values: ``port``, ``field``, ``effect``, ``instead``."""
    lifecycle = get_mapping(subject.data, "lifecycle")
    known: list[str] | None = None
    for field, effect in _EFFECT.items():
        base: Path = (field,) if field.endswith("Probe") else ("lifecycle", field)
        handler = get_mapping(subject.data if len(base) == 1 else lifecycle, field)
        for action in ("httpGet", "tcpSocket"):
            port = get_text(get_mapping(handler, action), "port")
            if not port or port.isdecimal():
                continue
            if known is None:
                known = [get_text(entry, "name") for _, entry in get_entries(subject.data, "ports")]
            if port not in known:
                values = {
                    "port": port,
                    "field": field,
                    "effect": effect,
                    "instead": _instead(port, [one for one in known if one]),
                }
                yield Violation((*base, action, "port"), values)


def _instead(port: str, known: list[str]) -> str:
    meant = suggest_phrase(port, known)
    names = f" ({format_list(known)})" if known else ""
    return f"write the number, or the name of a port of the container{meant or names}"
