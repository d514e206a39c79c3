"""Constraints on a PodSpec as a whole; its parts have separate modules."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Diagnostic, Path
from podplan.core.typing import Any
from podplan.kubernetes import containers, names, scheduling, security, volumes
from podplan.kubernetes.accessors import get_entries, get_mapping, get_size, get_text, get_texts

MAX_SEARCH_DOMAINS = 32
MAX_SEARCH_CHARACTERS = 2048


def validate_pod_spec(spec: dict[str, Any], path: Path, minor_version: int) -> Iterator[Diagnostic]:
    """Yield the diagnostics of a PodSpec beyond its schema, for Kubernetes 1.``minor_version``."""
    yield from volumes.validate_volumes(spec, path)
    yield from containers.validate_containers(spec, path, minor_version)
    if "resources" in spec:
        from podplan.kubernetes import pod_resources

        yield from pod_resources.validate_pod_resources(spec, path, minor_version)
    yield from security.validate_pod_security(spec, path)
    yield from scheduling.validate_scheduling(spec, path)
    if "dnsConfig" in spec or "dnsPolicy" in spec:
        yield from _validate_dns(spec, path)
    yield from _validate_host_settings(spec, path)
    yield from _validate_lists(spec, path)
    if get_size(spec, "ephemeralContainers"):
        message = "ephemeralContainers must not be set when a Pod is created"
        yield Diagnostic("SCHEMA009", message, (*path, "ephemeralContainers"))


def _validate_dns(spec: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    config, config_path = get_mapping(spec, "dnsConfig"), (*path, "dnsConfig")
    if spec.get("dnsPolicy") == "None" and not get_size(config, "nameservers"):
        related = (((*path, "dnsPolicy"), "the policy"),)
        if "dnsConfig" in spec:
            message = "dnsPolicy None needs at least one nameserver"
            yield Diagnostic("SCHEMA003", message, (*config_path, "nameservers"), related=related)
        else:
            message = "dnsPolicy None needs a dnsConfig with at least one nameserver"
            yield Diagnostic("SCHEMA003", message, config_path, related=related)
    for index, server in get_texts(config, "nameservers"):
        yield from containers.validate_ip_address(server or "(empty)", (*config_path, "nameservers", index))
    searches = [search for _, search in get_texts(config, "searches")]
    total_length = len(" ".join(searches))
    if len(searches) > MAX_SEARCH_DOMAINS:
        message = f"searches has {len(searches)} domains; at most {MAX_SEARCH_DOMAINS} are allowed"
        yield Diagnostic("SCHEMA005", message, (*config_path, "searches"))
    elif total_length > MAX_SEARCH_CHARACTERS:
        message = f"searches has {total_length} characters; at most {MAX_SEARCH_CHARACTERS} are allowed"
        yield Diagnostic("SCHEMA005", message, (*config_path, "searches"))


def _validate_host_settings(spec: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    for index, alias in get_entries(spec, "hostAliases"):
        yield from containers.validate_ip_address(
            get_text(alias, "ip") or "(empty)", (*path, "hostAliases", index, "ip")
        )
    if spec.get("hostPID") is True and spec.get("shareProcessNamespace") is True:
        message = "shareProcessNamespace and hostPID must not both be true"
        yield Diagnostic("SCHEMA009", message, (*path, "shareProcessNamespace"))
    if spec.get("hostUsers") is False:
        for field in ("hostNetwork", "hostPID", "hostIPC"):
            if spec.get(field) is True:
                message = f"{field}: true needs the user namespace of the host; hostUsers is false"
                yield Diagnostic("SCHEMA009", message, (*path, field))


def _validate_lists(spec: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    gate_paths: dict[str, Path] = {}
    for index, gate in get_entries(spec, "schedulingGates"):
        yield from containers.validate_unique_name(
            get_text(gate, "name"), (*path, "schedulingGates", index), gate_paths, "gate"
        )
    if gate_paths and get_text(spec, "nodeName"):
        message = (
            f"nodeName {names.format_value(spec['nodeName'])} must not be set together with schedulingGates"
        )
        yield Diagnostic("SCHEMA009", message, (*path, "nodeName"))
    claim_paths: dict[str, Path] = {}
    for index, claim in get_entries(spec, "resourceClaims"):
        claim_path = (*path, "resourceClaims", index)
        yield from containers.validate_unique_name(
            get_text(claim, "name"), (*claim_path, "name"), claim_paths, "claim"
        )
        given_sources = [
            field for field in ("resourceClaimName", "resourceClaimTemplateName") if field in claim
        ]
        if len(given_sources) == 2:
            yield Diagnostic(
                "SCHEMA009", f"a resource claim must have one of {' and '.join(given_sources)}", claim_path
            )
        elif not given_sources and "source" not in claim:
            yield Diagnostic(
                "SCHEMA003", "a resource claim needs a name or the name of a template", claim_path
            )
