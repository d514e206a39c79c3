"""NetworkPolicies that keep the Pods of a job from each other.

A policy that selects a Pod drops what no policy for that Pod allows. What is not known offline counts as
allowed: labels of namespaces, blocks of addresses, and ports by name.
Source: https://kubernetes.io/docs/concepts/services-networking/network-policies/.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.kubernetes.label_selectors import Labels, matches_selector, read_labels
from podplan.lint.analysis.cross_job import RebuildJob, find_common_place
from podplan.lint.analysis.jobs import has_trait, is_mode_enabled, namespace_of
from podplan.lint.analysis.launches import find_launches
from podplan.lint.analysis.pod_hosts import find_pod
from podplan.lint.checks.registration import check
from podplan.lint.checks.sshd_port import DEFAULT_PORT, iter_sshd_ports
from podplan.lint.target import LoweredJob, Violation

_API = "networking.k8s.io/"
_KIND = "NetworkPolicy"
ANY_PORT, DNS_PORT = 0, 53
_ASSIGNED = (32768, 60999)  # net.ipv4.ip_local_port_range
_NAMESPACE_LABEL = "kubernetes.io/metadata.name"
_SIDES = (("Ingress", "ingress", "from"), ("Egress", "egress", "to"))


class Connection(NamedTuple):
    """A connection between two Pods of a job: the labels of both, the port, and what it is for.

    The port is ``ANY_PORT`` if the kernel assigns it, and ``DNS_PORT`` if a Pod looks up the other.
    """

    source: Labels
    target: Labels
    port: int
    purpose: str


class PolicySummary(NamedTuple):
    """The connections that a job needs in its namespace, or a NetworkPolicy of it."""

    place: tuple[str, str]
    connections: tuple[Connection, ...] = ()

    @property
    def keys(self) -> list[Hashable]:
        return [self.place]

    @property
    def owner(self) -> Hashable:
        return "job" if self.connections else "policy"


class Denial(NamedTuple):
    """A policy that selects one of two Pods and does not allow their connection: where its rules are."""

    name: str
    doc: TracedDocument
    paths: tuple[Path, ...]


def summarize_connections(job: LoweredJob) -> PolicySummary | None:
    """Summarize a job by the connections between its Pods, a NetworkPolicy by its namespace."""
    if job.cr is not None:
        connections = tuple(dict.fromkeys(_iter_connections(job)))
        return (
            PolicySummary(find_common_place(job.cr, namespace_of(job)), connections) if connections else None
        )
    doc = job.groups[0].doc
    data = doc.data
    if get_text(data, "kind") != _KIND or not get_text(data, "apiVersion").startswith(_API):
        return None
    namespace = get_text(get_mapping(data, "metadata"), "namespace")
    return PolicySummary(find_common_place(doc, namespace))


@check(summarize=summarize_connections)
def connection_denied(
    summaries: Mapping[int, PolicySummary], rebuild_job: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A connection between Pods of a job that no policy allows. Values: ``purpose``, ``need``, ``policy``."""
    policies: dict[tuple[str, str], list[TracedDocument]] = {}
    for number, one in summaries.items():
        if not one.connections:
            policies.setdefault(one.place, []).append(rebuild_job(number).groups[0].doc)
    for number, one in summaries.items():
        for connection in one.connections:
            denial = _find_denial(policies.get(one.place, []), connection)
            if denial is None:
                continue
            job = rebuild_job(number)
            values = {
                "purpose": connection.purpose,
                "need": _describe_need(connection.port),
                "policy": denial.name,
            }
            related = [(denial.doc, path, "what it allows") for path in denial.paths]
            yield number, _place(job, connection)._replace(values=values, related=related)
            break


def _describe_need(port: int) -> str:
    if port == DNS_PORT:
        return "port 53 of the DNS server, for the names of the Pods"
    if port == ANY_PORT:
        return f"ports that the kernel assigns ({_ASSIGNED[0]} to {_ASSIGNED[1]}) of these Pods"
    return f"port {port} of these Pods"


def _place(job: LoweredJob, connection: Connection) -> Violation:
    """A violation at the labels of the Pods that cannot be reached."""
    group = next((one for one in job.pods if read_labels(one.doc.data) == connection.target), job.pods[0])
    return Violation(("metadata", "labels"), doc=group.doc, group=group)


def _iter_connections(job: LoweredJob) -> Iterator[Connection]:
    if is_mode_enabled(job, "debug") or is_mode_enabled(job, "pause"):
        return
    if any(get_mapping(one.doc.data, "spec").get("hostNetwork") is True for one in job.pods):
        return  # the policies do not hold for the network of a node
    found = list(_iter_named_connections(job))
    yield from found
    for one in found[:1]:
        yield one._replace(port=DNS_PORT, purpose=one.purpose)
    yield from _iter_group_connections(job)


def _iter_named_connections(job: LoweredJob) -> Iterator[Connection]:
    """Yield the connections to a host and port that the job states."""
    if has_trait(job, "ssh") and set(iter_sshd_ports(job)) == {DEFAULT_PORT}:
        sources = [one for one in job.pods if one.replica_type.lower() == "launcher"] or job.pods[:1]
        for target in job.pods:
            is_reached = target not in sources or (target.replicas > 1 and len(job.pods) == 1)
            if is_reached:
                labels = read_labels(sources[0].doc.data), read_labels(target.doc.data)
                yield Connection(*labels, DEFAULT_PORT, "ssh")
    for launch in find_launches(job):
        torchrun = launch.torchrun
        if torchrun is None or torchrun.standalone or not torchrun.host or torchrun.port is None:
            continue
        found = find_pod(job, torchrun.host)
        if found is not None and (found[0] is not launch.group or launch.group.replicas > 1):
            labels = read_labels(launch.group.doc.data), read_labels(found[0].doc.data)
            yield Connection(*labels, torchrun.port, "the rendezvous")


def _iter_group_connections(job: LoweredJob) -> Iterator[Connection]:
    """Yield the connections between the processes of one training, which listen on any port.

    Source: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html (NCCL opens TCP
    ports from ip_local_port_range).
    """
    for launch in find_launches(job):
        interface = launch.resolve_environment().get("NCCL_SOCKET_IFNAME") or "eth0"
        if not interface.lstrip("^=").startswith("eth") and not interface.startswith("^"):
            continue  # a second network, for which the policies do not hold
        torchrun, launcher = launch.torchrun, launch.invocation.launcher
        nodes = torchrun.node_range if torchrun is not None else None
        is_group = nodes is not None and nodes[1] > 1 and torchrun is not None and not torchrun.standalone
        workers = [one for one in job.pods if one.replica_type.lower() != "launcher"]
        if launcher in ("deepspeed", "colossalai"):
            is_group = sum(one.replicas for one in workers) > 1
        elif launch.group not in workers:
            continue
        for source in workers if is_group else ():
            for target in workers:
                if source is not target or target.replicas > 1:
                    labels = read_labels(source.doc.data), read_labels(target.doc.data)
                    yield Connection(*labels, ANY_PORT, "the process group")


def _find_denial(policies: list[TracedDocument], connection: Connection) -> Denial | None:
    """Return the policy for the Pods of the job that drops a connection; None if one allows it.

    A policy for all Pods of the namespace says nothing: others that allow the connection may be elsewhere.
    Only one that lets them connect to each other seems to be what they have, and forgets their names.
    """
    source, target = dict(connection.source), dict(connection.target)
    for side, field, peers in _SIDES:
        pod, other = (target, source) if side == "Ingress" else (source, target)
        selecting = [one for one in policies if _isolates(one.data, side, pod)]
        specific = [one for one in selecting if get_mapping(get_mapping(one.data, "spec"), "podSelector")]
        if connection.port == DNS_PORT and side == "Egress":
            specific = specific or [one for one in selecting if _allows_own_pods(one.data)]
        if not specific:
            continue
        rules = [rule for one in selecting for _, rule in get_entries(get_mapping(one.data, "spec"), field)]
        if connection.port == DNS_PORT:
            if side == "Ingress" or any(_allows_lookup(rule) for rule in rules):
                continue
        elif connection.port == ANY_PORT and not any(_has_only_ports(rule) for rule in rules):
            continue
        where = get_text(get_mapping(specific[0].data, "metadata"), "namespace")
        if connection.port == DNS_PORT or not any(
            _allows(rule, peers, other, connection.port, where) for rule in rules
        ):
            policy = specific[0]
            has_peer = any(
                not get_entries(rule, peers)
                or any(_is_peer(peer, other, where) for _, peer in get_entries(rule, peers))
                for rule in rules
            )
            paths = _find_rules(get_mapping(policy.data, "spec"), field, peers, has_peer=has_peer)
            if connection.port == DNS_PORT:  # each rule lacks it, whatever its peers are
                paths = (("spec", field), *(path for path in paths if path != ("spec", field)))
            return Denial(get_text(get_mapping(policy.data, "metadata"), "name"), policy, paths)
    return None


def _find_rules(spec: Mapping[str, Any], field: str, peers: str, *, has_peer: bool) -> tuple[Path, ...]:
    """Where a policy states what it allows: the ports or peers of its only rule, or all rules."""
    rules = get_entries(spec, field)
    if len(rules) != 1:
        return (("spec", field),) if field in spec else (("spec", "policyTypes"), ("spec",))
    at, rule = rules[0]
    selectors = [
        ("spec", field, at, peers, number, *_find_selector(peer))
        for number, peer in get_entries(rule, peers)[:2]
    ]
    ports = [("spec", field, at, "ports")] if "ports" in rule else []
    return tuple((has_peer and ports) or selectors or ports) or (("spec", field),)


def _find_selector(peer: Mapping[str, Any]) -> Path:
    """Return the path of the labels of a peer below it."""
    key = next(iter(peer), "")
    selector = get_mapping(peer, key)
    labels = get_mapping(selector, "matchLabels")
    if labels:
        return key, "matchLabels", next(iter(labels))
    return (key,) if key else ()


def _isolates(policy: Mapping[str, Any], side: str, labels: Mapping[str, str]) -> bool:
    """Whether a policy selects a Pod and restricts this side of its connections."""
    spec = get_mapping(policy, "spec")
    types = [value for _, value in get_texts(spec, "policyTypes")]
    default = ["Ingress", "Egress"] if get_entries(spec, "egress") else ["Ingress"]
    return side in (types or default) and matches_selector(get_mapping(spec, "podSelector"), labels)


def _has_only_ports(rule: Mapping[str, Any]) -> bool:
    """Whether a rule lists TCP ports by number."""
    return any(isinstance(one.get("port"), int) for _, one in get_entries(rule, "ports"))


def _allows_own_pods(policy: Mapping[str, Any]) -> bool:
    """Whether a policy for all Pods of a namespace lets them connect to Pods of the namespace only."""
    rules = [rule for _, rule in get_entries(get_mapping(policy, "spec"), "egress")]
    peers = [peer for rule in rules for _, peer in get_entries(rule, "to")]
    return bool(peers) and all("podSelector" in peer and "namespaceSelector" not in peer for peer in peers)


def _allows_lookup(rule: Mapping[str, Any]) -> bool:
    """Whether a rule allows the DNS server, which is in another namespace."""
    listed = [peer for _, peer in get_entries(rule, "to")]
    ports = [one.get("port") for _, one in get_entries(rule, "ports")]
    has_port = not ports or any(not isinstance(one, int) or one == DNS_PORT for one in ports)
    return has_port and (
        not listed or any("namespaceSelector" in peer or "ipBlock" in peer for peer in listed)
    )


def _allows(
    rule: Mapping[str, Any], peers: str, labels: Mapping[str, str], port: int, namespace: str
) -> bool:
    listed = [peer for _, peer in get_entries(rule, peers)]
    ports = [one for _, one in get_entries(rule, "ports")]
    is_peer = not listed or any(_is_peer(peer, labels, namespace) for peer in listed)
    return is_peer and (not ports or any(_has_port(one, port) for one in ports))


def _is_peer(peer: Mapping[str, Any], labels: Mapping[str, str], namespace: str) -> bool:
    selected = get_text(get_mapping(get_mapping(peer, "namespaceSelector"), "matchLabels"), _NAMESPACE_LABEL)
    if selected and namespace and selected != namespace:
        return False
    if "podSelector" not in peer:
        return True  # a namespace, or a block of addresses
    return matches_selector(get_mapping(peer, "podSelector"), labels)


def _has_port(one: Mapping[str, Any], port: int) -> bool:
    if get_text(one, "protocol") not in ("", "TCP"):
        return False
    first, last = one.get("port"), one.get("endPort")
    if not isinstance(first, int):
        return True  # all ports, or one by its name
    until = last if isinstance(last, int) else first
    return first <= port <= until or (port == ANY_PORT and first <= _ASSIGNED[0] and until >= _ASSIGNED[1])
