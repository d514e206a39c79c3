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
CLUSTER_DOMAIN = "cluster.local"


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
    searches = _searches(pod)
    lines = ["127.0.0.1 localhost", f"{own} {' '.join(_own_names(pod))}"]
    for service in services:
        published = {**ready, **(started if service["spec"].get("publishNotReadyAddresses") else {})}
        domain = _domain(service["metadata"]["name"], service)
        for one in pods:
            if one["metadata"]["name"] not in published or not selects(service, one):
                continue
            address = published[one["metadata"]["name"]]
            lines.append(f"{address} {' '.join(_spellings(domain, searches))}")
            if one["spec"].get("subdomain") == service["metadata"]["name"]:
                names = _spellings(f"{hostname(one)}.{domain}", searches)
                lines.append(f"{address} {' '.join(names)}")
    return "\n".join(lines) + "\n"


def _domain(name: str, one: Mapping[str, Any]) -> str:
    return f"{name}.{one['metadata'].get('namespace', 'default')}.svc.{CLUSTER_DOMAIN}"


def _own_names(pod: Mapping[str, Any]) -> list[str]:
    subdomain = pod["spec"].get("subdomain")
    full = [f"{hostname(pod)}.{_domain(subdomain, pod)}"] if subdomain else []
    return [*full, hostname(pod)]


def _searches(pod: Mapping[str, Any]) -> list[str]:
    """Return the search domains of a Pod: those of the cluster, and those of its dnsConfig."""
    namespace = pod["metadata"].get("namespace", "default")
    cluster = [f"{namespace}.svc.{CLUSTER_DOMAIN}", f"svc.{CLUSTER_DOMAIN}", CLUSTER_DOMAIN]
    return [*cluster, *pod["spec"].get("dnsConfig", {}).get("searches", ())]


def _spellings(domain: str, searches: Iterable[str]) -> list[str]:
    """Return a domain name without each of the search domains, and whole."""
    short = [domain.removesuffix(f".{search}") for search in searches if domain.endswith(f".{search}")]
    return [*short, domain]


def hostname(pod: Mapping[str, Any]) -> str:
    """Return the host name of the Pod."""
    return str(pod["spec"].get("hostname") or pod["metadata"]["name"])


def selects(service: Mapping[str, Any], pod: Mapping[str, Any]) -> bool:
    """Whether the Pod has all labels in the selector of the Service."""
    wanted = service["spec"].get("selector") or {}
    return bool(wanted) and wanted.items() <= pod["metadata"].get("labels", {}).items()


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, timeout=10)
