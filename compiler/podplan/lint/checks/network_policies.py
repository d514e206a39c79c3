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
_SIDES = (("Ingress", "ingress", "from"), ("Egress", "egress", "to"))


class Connection(NamedTuple):
    """A connection between two Pods of a job: the labels of both, the port, and what it is for."""

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
    path: Path


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
    """A connection between Pods of a job that no policy allows. Values: ``purpose``, ``port``, ``policy``."""
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
            values = {"purpose": connection.purpose, "port": connection.port, "policy": denial.name}
            related = [(denial.doc, denial.path, "what it allows")]
            yield number, _place(job, connection)._replace(values=values, related=related)
            break


def _place(job: LoweredJob, connection: Connection) -> Violation:
    """A violation at the labels of the Pods that cannot be reached."""
    group = next((one for one in job.pods if read_labels(one.doc.data) == connection.target), job.pods[0])
    return Violation(("metadata", "labels"), doc=group.doc, group=group)


def _iter_connections(job: LoweredJob) -> Iterator[Connection]:
    if is_mode_enabled(job, "debug") or is_mode_enabled(job, "pause"):
        return
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


def _find_denial(policies: list[TracedDocument], connection: Connection) -> Denial | None:
    """Return the policy for the Pods of the job that drops a connection; None if one allows it.

    A policy for all Pods of the namespace says nothing: others that allow the connection may be elsewhere.
    """
    source, target = dict(connection.source), dict(connection.target)
    for side, field, peers in _SIDES:
        pod, other = (target, source) if side == "Ingress" else (source, target)
        selecting = [one for one in policies if _isolates(one.data, side, pod)]
        specific = [one for one in selecting if get_mapping(get_mapping(one.data, "spec"), "podSelector")]
        if not specific:
            continue
        rules = [rule for one in selecting for _, rule in get_entries(get_mapping(one.data, "spec"), field)]
        if not any(_allows(rule, peers, other, connection.port) for rule in rules):
            policy = specific[0]
            path = _find_rules(get_mapping(policy.data, "spec"), field, peers, other)
            return Denial(get_text(get_mapping(policy.data, "metadata"), "name"), policy, path)
    return None


def _find_rules(spec: Mapping[str, Any], field: str, peers: str, labels: Mapping[str, str]) -> Path:
    """Where a policy states what it allows: the peers or the ports of its only rule, or all rules."""
    rules = get_entries(spec, field)
    if len(rules) == 1:
        number, rule = rules[0]
        listed = [peer for _, peer in get_entries(rule, peers)]
        if listed and not any(_is_peer(peer, labels) for peer in listed):
            return ("spec", field, number, peers)
        if "ports" in rule:
            return ("spec", field, number, "ports")
    return ("spec", field) if field in spec else ("spec",)


def _isolates(policy: Mapping[str, Any], side: str, labels: Mapping[str, str]) -> bool:
    """Whether a policy selects a Pod and restricts this side of its connections."""
    spec = get_mapping(policy, "spec")
    types = [value for _, value in get_texts(spec, "policyTypes")]
    default = ["Ingress", "Egress"] if get_entries(spec, "egress") else ["Ingress"]
    return side in (types or default) and matches_selector(get_mapping(spec, "podSelector"), labels)


def _allows(rule: Mapping[str, Any], peers: str, labels: Mapping[str, str], port: int) -> bool:
    listed = [peer for _, peer in get_entries(rule, peers)]
    ports = [one for _, one in get_entries(rule, "ports")]
    is_peer = not listed or any(_is_peer(peer, labels) for peer in listed)
    return is_peer and (not ports or any(_has_port(one, port) for one in ports))


def _is_peer(peer: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    if "podSelector" not in peer:
        return True  # a namespace, or a block of addresses
    return matches_selector(get_mapping(peer, "podSelector"), labels)


def _has_port(one: Mapping[str, Any], port: int) -> bool:
    if get_text(one, "protocol") not in ("", "TCP"):
        return False
    first, last = one.get("port"), one.get("endPort")
    if not isinstance(first, int):
        return True  # all ports, or one by its name
    return first <= port <= (last if isinstance(last, int) else first)
