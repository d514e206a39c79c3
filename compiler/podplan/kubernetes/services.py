"""Constraints on a Service beyond its schema."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Diagnostic, Path
from podplan.core.typing import Any
from podplan.kubernetes import names
from podplan.kubernetes.accessors import get_entries, get_mapping, get_number, get_size, get_text, get_texts
from podplan.kubernetes.containers import validate_ip_address, validate_unique_name
from podplan.kubernetes.probes import validate_port_reference


def validate_service_spec(spec: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    """Yield the diagnostics of a ServiceSpec."""
    service_type = get_text(spec, "type") or "ClusterIP"
    cluster_ip = get_text(spec, "clusterIP")
    is_headless = cluster_ip == "None"
    if not get_size(spec, "ports") and not is_headless and service_type != "ExternalName":
        message = "a Service needs at least one port, unless it is headless (clusterIP: None)"
        yield Diagnostic("SCHEMA003", message, (*path, "ports"))
    yield from _validate_ports(spec, service_type, path)
    yield from _validate_addresses(spec, service_type, path)
    yield from _validate_policies(spec, service_type, path)
    if service_type == "ExternalName":
        yield from _validate_external_name(spec, path)
    elif service_type in ("NodePort", "LoadBalancer") and is_headless:
        message = f"a Service of type {service_type} must not be headless (clusterIP: None)"
        yield Diagnostic("SCHEMA009", message, (*path, "clusterIP"))


def _validate_ports(spec: dict[str, Any], service_type: str, path: Path) -> Iterator[Diagnostic]:
    has_several = get_size(spec, "ports") > 1
    first_paths: dict[str, Path] = {}
    port_paths: dict[tuple[str, int], Path] = {}
    node_port_paths: dict[tuple[str, int], Path] = {}
    for index, port in get_entries(spec, "ports"):
        port_path = (*path, "ports", index)
        name, value = get_text(port, "name"), get_number(port, "port")
        protocol = get_text(port, "protocol") or "TCP"
        if has_several and not name:
            yield Diagnostic(
                "SCHEMA003", "each port needs a name when a Service has more than one", (*port_path, "name")
            )
        yield from validate_unique_name(name, (*port_path, "name"), first_paths, "port")
        if (protocol, value) in port_paths:
            message = f"port {value} ({protocol}) is used twice"
            yield Diagnostic(
                "SCHEMA007", message, port_path, related=((port_paths[protocol, value], "the first"),)
            )
        port_paths.setdefault((protocol, value), port_path)
        if "targetPort" in port and port["targetPort"] not in ("", 0):
            yield from validate_port_reference(port["targetPort"], (*port_path, "targetPort"))
        node_port = get_number(port, "nodePort")
        if node_port and service_type not in ("NodePort", "LoadBalancer"):
            message = f"nodePort {node_port} needs type NodePort or LoadBalancer, not {service_type}"
            yield Diagnostic("SCHEMA009", message, (*port_path, "nodePort"))
        elif node_port and (protocol, node_port) in node_port_paths:
            message = f"nodePort {node_port} ({protocol}) is used twice"
            yield Diagnostic(
                "SCHEMA007",
                message,
                (*port_path, "nodePort"),
                related=((node_port_paths[protocol, node_port], "the first"),),
            )
        node_port_paths.setdefault((protocol, node_port), port_path)


def _validate_addresses(spec: dict[str, Any], service_type: str, path: Path) -> Iterator[Diagnostic]:
    cluster_ip, cluster_ips = get_text(spec, "clusterIP"), [ip for _, ip in get_texts(spec, "clusterIPs")]
    if service_type == "ExternalName":
        if cluster_ip:
            yield Diagnostic(
                "SCHEMA009", "a Service of type ExternalName has no clusterIP", (*path, "clusterIP")
            )
        return
    if cluster_ip != "None":
        yield from validate_ip_address(cluster_ip, (*path, "clusterIP"))
    if cluster_ips:
        if cluster_ips[0] != cluster_ip:
            message = (
                f"the first of clusterIPs ({cluster_ips[0]}) must be clusterIP ({cluster_ip or 'not set'})"
            )
            yield Diagnostic("SCHEMA009", message, (*path, "clusterIPs"))
        for index, ip in enumerate(cluster_ips):
            if ip == "None" and len(cluster_ips) > 1:
                yield Diagnostic(
                    "SCHEMA009", "None in clusterIPs must be the only entry", (*path, "clusterIPs", index)
                )
            elif ip != "None":
                yield from validate_ip_address(ip or "(empty)", (*path, "clusterIPs", index))
    for index, ip in get_texts(spec, "externalIPs"):
        yield from validate_ip_address(ip or "(empty)", (*path, "externalIPs", index))
    for index, block in get_texts(spec, "loadBalancerSourceRanges"):
        yield from _validate_cidr(block, (*path, "loadBalancerSourceRanges", index))


def _validate_cidr(block: str, path: Path) -> Iterator[Diagnostic]:
    from ipaddress import ip_network

    try:
        ip_network(block.strip(), strict=False)
    except ValueError:
        yield Diagnostic(
            "SCHEMA006", f"{names.format_value(block)} is not a CIDR block such as 10.0.0.0/8", path
        )


def _validate_policies(spec: dict[str, Any], service_type: str, path: Path) -> Iterator[Diagnostic]:
    is_external = service_type in ("NodePort", "LoadBalancer") or bool(get_size(spec, "externalIPs"))
    if get_text(spec, "externalTrafficPolicy") and not is_external:
        message = f"externalTrafficPolicy needs type NodePort or LoadBalancer, not {service_type}"
        yield Diagnostic("SCHEMA009", message, (*path, "externalTrafficPolicy"))
    if service_type != "LoadBalancer":
        for field in ("loadBalancerSourceRanges", "loadBalancerClass", "allocateLoadBalancerNodePorts"):
            if field in spec and spec[field] not in ("", []):
                yield Diagnostic(
                    "SCHEMA009", f"{field} needs type LoadBalancer, not {service_type}", (*path, field)
                )
    if get_text(spec, "sessionAffinity") in ("", "None") and get_mapping(spec, "sessionAffinityConfig"):
        message = "sessionAffinityConfig needs sessionAffinity: ClientIP"
        yield Diagnostic("SCHEMA009", message, (*path, "sessionAffinityConfig"))
    families = [family for _, family in get_texts(spec, "ipFamilies")]
    if len(families) != len(set(families)):
        yield Diagnostic("SCHEMA007", f"ipFamilies contains {families[0]} twice", (*path, "ipFamilies"))


def _validate_external_name(spec: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    name, name_path = get_text(spec, "externalName"), (*path, "externalName")
    if not name:
        yield Diagnostic("SCHEMA003", "a Service of type ExternalName needs an externalName", name_path)
        return
    mismatch = names.explain_mismatch("dns-name", name)
    if mismatch:
        yield Diagnostic("SCHEMA006", f"externalName {names.format_value(name)} {mismatch}", name_path)
