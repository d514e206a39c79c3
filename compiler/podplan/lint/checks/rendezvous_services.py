"""Services of the repository at which the processes of a job meet: what their connections reach.

Sources: https://kubernetes.io/docs/concepts/services-networking/service/ (a Service with an address of its
own spreads connections over the Pods that it selects, at its targetPort),
https://docs.pytorch.org/docs/stable/elastic/run.html (with c10d the node of the endpoint opens the store).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.kubernetes.label_selectors import read_labels
from podplan.lint.analysis.cross_job import RebuildJob
from podplan.lint.analysis.jobs import format_list, namespace_of
from podplan.lint.checks.probe_targets import list_numbers
from podplan.lint.checks.registration import check
from podplan.lint.checks.service_ports import Endpoint, is_forwarding, iter_endpoints, name_service
from podplan.lint.target import LoweredJob, Violation

_WORKLOADS = ("Deployment", "StatefulSet")


class ServiceUse(NamedTuple):
    """A Service by its name and the port that a job asks for."""

    name: str
    port: int


class RepositorySummary(NamedTuple):
    """The Services that a job uses in a namespace, or a Service or server of that namespace."""

    namespace: str
    uses: tuple[ServiceUse, ...] = ()
    kind: str = ""
    name: str = ""

    @property
    def keys(self) -> list[Hashable]:
        return [self.namespace]

    @property
    def owner(self) -> Hashable:
        return "jobs" if self.uses else "servers"


def summarize_repository(job: LoweredJob) -> RepositorySummary | None:
    """Summarize a job by the Services at which it meets, and a Service or server by its name."""
    if job.cr is not None:
        uses = tuple(dict.fromkeys(use for use, _ in _iter_uses(job)))
        return RepositorySummary(namespace_of(job), uses) if uses else None
    data = job.groups[0].doc.data
    kind, metadata = get_text(data, "kind"), get_mapping(data, "metadata")
    is_service = kind == "Service" and data.get("apiVersion") == "v1" and is_forwarding(data)
    is_server = kind in _WORKLOADS and data.get("apiVersion") == "apps/v1"
    name = get_text(metadata, "name")
    if not name or not (is_service or is_server):
        return None
    return RepositorySummary(get_text(metadata, "namespace"), (), kind, name)


def _iter_uses(job: LoweredJob) -> Iterator[tuple[ServiceUse, Endpoint]]:
    for endpoint in iter_endpoints(job):
        service = name_service(job, endpoint.host)
        if service.namespace == namespace_of(job):
            yield ServiceUse(service.name, endpoint.port), endpoint


class UsedService(NamedTuple):
    """A job that meets at a Service: its number, the endpoint, and the only Service of that name."""

    number: int
    job: LoweredJob
    endpoint: Endpoint
    service: TracedDocument


@check(summarize=summarize_repository)
def nobody_listens_at_target_port(
    summaries: Mapping[int, RepositorySummary], rebuild_job: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A targetPort at which no selected Pod listens. Values: ``service``, ``target``, ``server``,
    ``ports``."""
    for used in _iter_used_services(summaries, rebuild_job):
        servers = [
            rebuild_job(number).groups[0].doc
            for number, one in summaries.items()
            if one.kind in _WORKLOADS and one.namespace == namespace_of(used.job)
        ]
        selected = [server for server in servers if _selects(used.service, _get_template(server))]
        at, port = next(
            (
                (at, one)
                for at, one in get_entries(get_mapping(used.service.data, "spec"), "ports")
                if one.get("port") == used.endpoint.port
            ),
            (0, {}),
        )
        target = port.get("targetPort", port.get("port"))
        if not port or not selected or any(_may_listen(server, port, target) for server in selected):
            continue
        declared = [str(one.get("containerPort")) for one in _list_ports(selected[0])]
        values = {
            "service": get_text(get_mapping(used.service.data, "metadata"), "name"),
            "target": target,
            "server": get_text(get_mapping(selected[0].data, "metadata"), "name"),
            "ports": format_list(declared),
        }
        related: list[tuple[TracedDocument, Path, str]] = [
            (used.service, ("spec", "ports", at, "targetPort"), "the targetPort")
        ]
        group = used.endpoint.group
        yield used.number, Violation(used.endpoint.path, values, related, doc=group.doc, group=group)


def _may_listen(server: TracedDocument, port: Mapping[str, Any], target: Any) -> bool:
    """Whether a Pod may listen at a targetPort: its server does not state the port of the Service instead."""
    declared = _list_ports(server)
    if isinstance(target, str):
        return not declared or any(one.get("name") == target for one in declared)
    numbers = list_numbers(get_mapping(_get_template(server), "spec"))
    return str(target) in numbers or not any(one.get("containerPort") == port["port"] for one in declared)


def _list_ports(server: TracedDocument) -> list[Mapping[str, Any]]:
    containers = get_entries(get_mapping(_get_template(server), "spec"), "containers")
    return [port for _, container in containers for _, port in get_entries(container, "ports")]


def _get_template(server: TracedDocument) -> Mapping[str, Any]:
    return get_mapping(get_mapping(server.data, "spec"), "template")


@check(summarize=summarize_repository)
def rendezvous_behind_service(
    summaries: Mapping[int, RepositorySummary], rebuild_job: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A c10d endpoint that is the address of several Pods. Values: ``service``, ``pods``."""
    for used in _iter_used_services(summaries, rebuild_job):
        if used.endpoint.backend != "c10d":
            continue
        groups = [group for group in used.job.pods if _selects(used.service, group.doc.data)]
        pods = sum(_count_selected(used.service, group) for group in groups)
        if pods < 2:
            continue
        values = {
            "service": get_text(get_mapping(used.service.data, "metadata"), "name"),
            "pods": pods,
        }
        related: list[tuple[TracedDocument, Path, str]] = [
            (used.service, ("spec", "selector"), "what it selects"),
            (used.service, ("metadata", "name"), "the Service"),
        ]
        group = used.endpoint.group
        yield used.number, Violation(used.endpoint.path, values, related, doc=group.doc, group=group)


def _count_selected(service: TracedDocument, group: ReplicaGroup) -> int:
    """Return the replicas of a group that have the labels of a Service; 1 if a label differs between them."""
    selector = get_mapping(get_mapping(service.data, "spec"), "selector")
    paths = (("metadata", "labels", key) for key in selector)
    return 1 if any(path in group.doc.replica_texts for path in paths) else group.replicas


def _selects(service: TracedDocument, pod: Mapping[str, Any]) -> bool:
    selector = get_mapping(get_mapping(service.data, "spec"), "selector")
    labels = dict(read_labels(pod))
    return bool(selector) and all(labels.get(str(key)) == str(value) for key, value in selector.items())


def _iter_used_services(
    summaries: Mapping[int, RepositorySummary], rebuild_job: RebuildJob
) -> Iterator[UsedService]:
    """Yield the jobs that meet at a Service of which the repository has one definition."""
    services: dict[tuple[str, str], list[int]] = {}
    for number, one in summaries.items():
        if one.kind == "Service":
            services.setdefault((one.namespace, one.name), []).append(number)
    for number, one in summaries.items():
        if not any(len(services.get((one.namespace, use.name), ())) == 1 for use in one.uses):
            continue
        job = rebuild_job(number)
        reported: set[ServiceUse] = set()
        for use, endpoint in _iter_uses(job):
            offered = services.get((one.namespace, use.name), ())
            if len(offered) == 1 and use not in reported:
                reported.add(use)
                yield UsedService(number, job, endpoint, rebuild_job(offered[0]).groups[0].doc)
