"""The network of a job: a bridge, a network namespace with an address for each Pod, and host names.

Everything is in namespaces of the node, so nothing affects the network of the machine or outlives the run.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

BRIDGE = "pods"
GATEWAY = "10.244.0.1"


def address(number: int) -> str:
    """Return the address of the Pod with this start number, from 0."""
    high, low = divmod(number + 2, 250)
    return f"10.244.{high}.{low + 1}"


def bridge() -> None:
    """Create the bridge for all Pods."""
    _ip("link", "set", "lo", "up")
    _ip("link", "add", BRIDGE, "type", "bridge")
    _ip("addr", "add", f"{GATEWAY}/16", "dev", BRIDGE)
    _ip("link", "set", BRIDGE, "up")


def sandbox(number: int) -> str:
    """Create the network namespace of a Pod, and return its path."""
    name, outside = f"pod{number}", f"veth{number}"
    _ip("netns", "add", name)
    _ip("link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", name)
    _ip("link", "set", outside, "master", BRIDGE, "up")
    _ip("-n", name, "addr", "add", f"{address(number)}/16", "dev", "eth0")
    _ip("-n", name, "link", "set", "eth0", "up")
    _ip("-n", name, "link", "set", "lo", "up")
    return f"/run/netns/{name}"


def hosts(
    pod: Mapping[str, Any],
    own: str,
    services: Iterable[Mapping[str, Any]],
    ready: Mapping[str, str],
    pods: Any,
    started: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the hosts file of a Pod: its own line, as the kubelet writes it, and the answers of the
    cluster's DNS.

    ``ready`` has the addresses of the Pods that a headless Service publishes, by name of the Pod;
    ``started`` those that it publishes with publishNotReadyAddresses. A Pod whose subdomain is the
    Service has a name of its own.
    """
    subdomain = pod["spec"].get("subdomain")
    full = [f"{hostname(pod)}.{subdomain}.{_namespace(pod)}.svc.cluster.local"] if subdomain else []
    lines = ["127.0.0.1 localhost", " ".join([own, *full, hostname(pod)])]
    for service in services:
        published = {**ready, **(started if service["spec"].get("publishNotReadyAddresses") else {})}
        for one in pods:
            if one["metadata"]["name"] in published and selects(service, one):
                name = service["metadata"]["name"]
                names = [name, *([f"{hostname(one)}.{name}"] if one["spec"].get("subdomain") == name else [])]
                answers = [answer for each in names for answer in _spellings(each, _namespace(service))]
                lines.append(" ".join([published[one["metadata"]["name"]], *answers]))
    return "\n".join(lines) + "\n"


def _spellings(name: str, namespace: str) -> list[str]:
    """Return the ways to write a name of the cluster's DNS, in a Pod of its namespace."""
    return [name, *(f"{name}.{namespace}{end}" for end in ("", ".svc", ".svc.cluster.local"))]


def _namespace(found: Mapping[str, Any]) -> str:
    return str(found["metadata"].get("namespace", "default"))


def hostname(pod: Mapping[str, Any]) -> str:
    """Return the host name of the Pod."""
    return str(pod["spec"].get("hostname") or pod["metadata"]["name"])


def selects(service: Mapping[str, Any], pod: Mapping[str, Any]) -> bool:
    """Whether the Pod has all labels in the selector of the Service."""
    wanted = service["spec"].get("selector") or {}
    return bool(wanted) and wanted.items() <= pod["metadata"].get("labels", {}).items()


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, timeout=10)
