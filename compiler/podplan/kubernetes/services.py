"""What the API server asks of a Service beyond its schema."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Path, Problem
from podplan.core.typing import Any
from podplan.kubernetes import names
from podplan.kubernetes.accessors import entries, mapping, number, size, text, texts
from podplan.kubernetes.containers import address, unique
from podplan.kubernetes.probes import port_reference


def check(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of a ServiceSpec."""
    kind = text(spec, "type") or "ClusterIP"
    cluster_ip = text(spec, "clusterIP")
    headless = cluster_ip == "None"
    if not size(spec, "ports") and not headless and kind != "ExternalName":
        message = "a Service needs at least one port, unless it is headless (clusterIP: None)"
        yield Problem("SCHEMA003", message, (*path, "ports"))
    yield from _ports(spec, kind, path)
    yield from _addresses(spec, kind, path)
    yield from _policies(spec, kind, path)
    if kind == "ExternalName":
        yield from _external_name(spec, path)
    elif kind in ("NodePort", "LoadBalancer") and headless:
        message = f"a Service of type {kind} may not be headless (clusterIP: None)"
        yield Problem("SCHEMA009", message, (*path, "clusterIP"))


def _ports(spec: dict[str, Any], kind: str, path: Path) -> Iterator[Problem]:
    several = size(spec, "ports") > 1
    seen: dict[str, Path] = {}
    taken: dict[tuple[str, int], Path] = {}
    outside: dict[tuple[str, int], Path] = {}
    for index, port in entries(spec, "ports"):
        at = (*path, "ports", index)
        name, value = text(port, "name"), number(port, "port")
        protocol = text(port, "protocol") or "TCP"
        if several and not name:
            yield Problem(
                "SCHEMA003", "each port needs a name when a Service has more than one", (*at, "name")
            )
        yield from unique(name, (*at, "name"), seen, "port")
        if (protocol, value) in taken:
            message = f"port {value} ({protocol}) is used twice"
            yield Problem("SCHEMA007", message, at, related=((taken[protocol, value], "the first"),))
        taken.setdefault((protocol, value), at)
        if "targetPort" in port and port["targetPort"] not in ("", 0):
            yield from port_reference(port["targetPort"], (*at, "targetPort"))
        node = number(port, "nodePort")
        if node and kind not in ("NodePort", "LoadBalancer"):
            message = f"nodePort {node} needs type NodePort or LoadBalancer, not {kind}"
            yield Problem("SCHEMA009", message, (*at, "nodePort"))
        elif node and (protocol, node) in outside:
            message = f"nodePort {node} ({protocol}) is used twice"
            yield Problem(
                "SCHEMA007", message, (*at, "nodePort"), related=((outside[protocol, node], "the first"),)
            )
        outside.setdefault((protocol, node), at)


def _addresses(spec: dict[str, Any], kind: str, path: Path) -> Iterator[Problem]:
    single, several = text(spec, "clusterIP"), [ip for _, ip in texts(spec, "clusterIPs")]
    if kind == "ExternalName":
        if single:
            yield Problem(
                "SCHEMA009", "a Service of type ExternalName has no clusterIP", (*path, "clusterIP")
            )
        return
    if single != "None":
        yield from address(single, (*path, "clusterIP"))
    if several:
        if several[0] != single:
            message = f"the first of clusterIPs ({several[0]}) must be clusterIP ({single or 'not set'})"
            yield Problem("SCHEMA009", message, (*path, "clusterIPs"))
        for index, ip in enumerate(several):
            if ip == "None" and len(several) > 1:
                yield Problem(
                    "SCHEMA009", "clusterIPs may hold None by itself only", (*path, "clusterIPs", index)
                )
            elif ip != "None":
                yield from address(ip or "(empty)", (*path, "clusterIPs", index))
    for index, ip in texts(spec, "externalIPs"):
        yield from address(ip or "(empty)", (*path, "externalIPs", index))
    for index, block in texts(spec, "loadBalancerSourceRanges"):
        yield from _network(block, (*path, "loadBalancerSourceRanges", index))


def _network(block: str, path: Path) -> Iterator[Problem]:
    from ipaddress import ip_network

    try:
        ip_network(block.strip(), strict=False)
    except ValueError:
        yield Problem("SCHEMA006", f"{names.shown(block)} is no CIDR block, such as 10.0.0.0/8", path)


def _policies(spec: dict[str, Any], kind: str, path: Path) -> Iterator[Problem]:
    reachable = kind in ("NodePort", "LoadBalancer") or bool(size(spec, "externalIPs"))
    if text(spec, "externalTrafficPolicy") and not reachable:
        message = f"externalTrafficPolicy needs type NodePort or LoadBalancer, not {kind}"
        yield Problem("SCHEMA009", message, (*path, "externalTrafficPolicy"))
    if kind != "LoadBalancer":
        for field in ("loadBalancerSourceRanges", "loadBalancerClass", "allocateLoadBalancerNodePorts"):
            if field in spec and spec[field] not in ("", []):
                yield Problem("SCHEMA009", f"{field} needs type LoadBalancer, not {kind}", (*path, field))
    if text(spec, "sessionAffinity") in ("", "None") and mapping(spec, "sessionAffinityConfig"):
        message = "sessionAffinityConfig needs sessionAffinity: ClientIP"
        yield Problem("SCHEMA009", message, (*path, "sessionAffinityConfig"))
    families = [family for _, family in texts(spec, "ipFamilies")]
    if len(families) != len(set(families)):
        yield Problem("SCHEMA007", f"ipFamilies holds {families[0]} twice", (*path, "ipFamilies"))


def _external_name(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    name, at = text(spec, "externalName"), (*path, "externalName")
    if not name:
        yield Problem("SCHEMA003", "a Service of type ExternalName needs an externalName", at)
        return
    fault = names.fault("dns-name", name)
    if fault:
        yield Problem("SCHEMA006", f"externalName {names.shown(name)} {fault}", at)
