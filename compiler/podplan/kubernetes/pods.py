"""What the API server asks of a PodSpec as a whole; its parts have modules of their own."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Path, Problem
from podplan.core.typing import Any
from podplan.kubernetes import containers, names, scheduling, security, volumes
from podplan.kubernetes.accessors import entries, mapping, size, text, texts

MAX_SEARCH_DOMAINS = 32
MAX_SEARCH_CHARACTERS = 2048


def check(spec: dict[str, Any], path: Path, minor: int) -> Iterator[Problem]:
    """The problems of a PodSpec that its schema cannot tell; ``minor`` is that of the Kubernetes version."""
    yield from volumes.check(spec, path)
    yield from containers.check(spec, path, minor)
    if "resources" in spec:
        from podplan.kubernetes import pod_resources

        yield from pod_resources.check(spec, path, minor)
    yield from security.of_pod(spec, path)
    yield from scheduling.check(spec, path)
    if "dnsConfig" in spec or "dnsPolicy" in spec:
        yield from _dns(spec, path)
    yield from _host(spec, path)
    yield from _lists(spec, path)
    if size(spec, "ephemeralContainers"):
        message = "ephemeralContainers may not be set when a Pod is created"
        yield Problem("SCHEMA009", message, (*path, "ephemeralContainers"))


def _dns(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    config, at = mapping(spec, "dnsConfig"), (*path, "dnsConfig")
    if spec.get("dnsPolicy") == "None" and not size(config, "nameservers"):
        related = (((*path, "dnsPolicy"), "the policy"),)
        if "dnsConfig" in spec:
            message = "dnsPolicy None needs at least one nameserver"
            yield Problem("SCHEMA003", message, (*at, "nameservers"), related=related)
        else:
            message = "dnsPolicy None needs a dnsConfig with at least one nameserver"
            yield Problem("SCHEMA003", message, at, related=related)
    for index, server in texts(config, "nameservers"):
        yield from containers.address(server or "(empty)", (*at, "nameservers", index))
    searches = [search for _, search in texts(config, "searches")]
    total = len(" ".join(searches))
    if len(searches) > MAX_SEARCH_DOMAINS:
        message = f"searches has {len(searches)} domains; at most {MAX_SEARCH_DOMAINS} are allowed"
        yield Problem("SCHEMA005", message, (*at, "searches"))
    elif total > MAX_SEARCH_CHARACTERS:
        message = f"searches has {total} characters; at most {MAX_SEARCH_CHARACTERS} are allowed"
        yield Problem("SCHEMA005", message, (*at, "searches"))


def _host(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    for index, alias in entries(spec, "hostAliases"):
        yield from containers.address(text(alias, "ip") or "(empty)", (*path, "hostAliases", index, "ip"))
    if spec.get("hostPID") is True and spec.get("shareProcessNamespace") is True:
        message = "shareProcessNamespace and hostPID may not both be true"
        yield Problem("SCHEMA009", message, (*path, "shareProcessNamespace"))
    if spec.get("hostUsers") is False:
        for field in ("hostNetwork", "hostPID", "hostIPC"):
            if spec.get(field) is True:
                message = f"{field}: true needs the user namespace of the host; hostUsers is false"
                yield Problem("SCHEMA009", message, (*path, field))


def _lists(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    gates: dict[str, Path] = {}
    for index, gate in entries(spec, "schedulingGates"):
        yield from containers.unique(text(gate, "name"), (*path, "schedulingGates", index), gates, "gate")
    if gates and text(spec, "nodeName"):
        message = f"nodeName {names.shown(spec['nodeName'])} may not be set while there are schedulingGates"
        yield Problem("SCHEMA009", message, (*path, "nodeName"))
    claims: dict[str, Path] = {}
    for index, claim in entries(spec, "resourceClaims"):
        at = (*path, "resourceClaims", index)
        yield from containers.unique(text(claim, "name"), (*at, "name"), claims, "claim")
        given = [field for field in ("resourceClaimName", "resourceClaimTemplateName") if field in claim]
        if len(given) == 2:
            yield Problem("SCHEMA009", f"a resource claim takes one of {' and '.join(given)}", at)
        elif not given and "source" not in claim:
            yield Problem("SCHEMA003", "a resource claim needs a name or the name of a template", at)
