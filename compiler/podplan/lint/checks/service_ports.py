"""Ports of Services in the repository that jobs use and that the Services do not forward.

A Service with its own address forwards only the ports that it declares. A headless one is a
name for the addresses of its Pods, whose ports are all open.
Source: https://kubernetes.io/docs/concepts/services-networking/service/.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.launchers.kubelet import resolve_environment
from podplan.lint.analysis.cross_job import RebuildJob
from podplan.lint.analysis.jobs import format_list, is_mode_enabled, namespace_of
from podplan.lint.analysis.launches import find_launches, find_option_path, find_variable_path
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Violation

_FORWARDING_TYPES = ("", "ClusterIP", "NodePort", "LoadBalancer")


class ServiceName(NamedTuple):
    """A Service by its namespace and name."""

    namespace: str
    name: str


class Endpoint(NamedTuple):
    """A host and port of a rendezvous, the path in a Pod that states them, and the backend of torchrun."""

    host: str
    port: int
    group: ReplicaGroup
    path: Path
    backend: str = ""


class ServiceSummary(NamedTuple):
    """The Services that a job may use with their ports, or a Service with the ports that it forwards.

    ``ports`` is empty if a Service forwards all ports, or if its file is only a part of it.
    """

    uses: tuple[tuple[ServiceName, int], ...] = ()
    service: ServiceName | None = None
    ports: tuple[int, ...] = ()

    @property
    def keys(self) -> list[Hashable]:
        return [name for name, _ in self.uses] if self.service is None else [self.service]

    @property
    def owner(self) -> Hashable:
        return "jobs" if self.service is None else "services"


def summarize_services(job: LoweredJob) -> ServiceSummary | None:
    """Summarize a job by its rendezvous hosts, a Service by its ports."""
    if job.cr is not None:
        uses = [(name_service(job, each.host), each.port) for each in iter_endpoints(job)]
        return ServiceSummary(tuple(dict.fromkeys(uses))) if uses else None
    data = job.groups[0].doc.data
    if (data.get("apiVersion"), data.get("kind")) != ("v1", "Service"):
        return None
    metadata, spec = get_mapping(data, "metadata"), get_mapping(data, "spec")
    name = ServiceName(get_text(metadata, "namespace"), get_text(metadata, "name"))
    ports = tuple(port["port"] for _, port in get_entries(spec, "ports") if isinstance(port.get("port"), int))
    return ServiceSummary(service=name, ports=ports if is_forwarding(data) else ()) if name.name else None


def is_forwarding(service: Mapping[str, Any]) -> bool:
    """Whether a Service has an address of its own that forwards to the Pods that it selects."""
    spec = get_mapping(service, "spec")
    is_headless = spec.get("clusterIP") == "None"
    return (
        get_text(spec, "type") in _FORWARDING_TYPES
        and not is_headless
        and bool(get_mapping(spec, "selector"))
    )


@check(summarize=summarize_services)
def port_not_forwarded(
    summaries: Mapping[int, ServiceSummary], rebuild_job: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A port that a Service does not forward. Values: ``service``, ``port``, ``ports``."""
    services: dict[ServiceName, list[int]] = {}
    for number, summary in summaries.items():
        if summary.service is not None:
            services.setdefault(summary.service, []).append(number)
    forwarded = {
        name: {port for number in numbers for port in summaries[number].ports}
        for name, numbers in services.items()
        if all(summaries[number].ports for number in numbers)
    }
    for number, summary in summaries.items():
        if not any(name in forwarded and port not in forwarded[name] for name, port in summary.uses):
            continue
        job = rebuild_job(number)
        for endpoint in iter_endpoints(job):
            name = name_service(job, endpoint.host)
            if name not in forwarded or endpoint.port in forwarded[name]:
                continue
            values = {
                "service": name.name,
                "port": endpoint.port,
                "ports": format_list([str(port) for port in sorted(forwarded[name])]),
            }
            related = [(rebuild_job(services[name][0]).groups[0].doc, ("spec", "ports"), "its ports")]
            group = endpoint.group
            yield number, Violation(endpoint.path, values, related, doc=group.doc, group=group)


def name_service(job: LoweredJob, host: str) -> ServiceName:
    """Return the Service that a host names, if it is a name of the cluster."""
    name, _, domain = host.partition(".")
    return ServiceName(domain.partition(".")[0] or namespace_of(job), name)


def iter_endpoints(job: LoweredJob) -> Iterator[Endpoint]:
    """Yield the rendezvous hosts and ports of a job, except its own Services and Pods."""
    if is_mode_enabled(job, "debug"):
        return
    own_names = {
        get_text(get_mapping(group.doc.data, "metadata"), "name")
        for group in job.groups
        if group.doc.data["kind"] == "Service"
    }
    for endpoint in _iter_all_endpoints(job):
        labels = endpoint.host.split(".")
        is_service = len(labels) < 3 or labels[2] == "svc"
        if is_service and labels[0] not in own_names and "$" not in endpoint.host:
            yield endpoint


def _iter_all_endpoints(job: LoweredJob) -> Iterator[Endpoint]:
    for launch in find_launches(job):
        torchrun, group = launch.torchrun, launch.group
        if torchrun is not None:
            is_given = bool({"rdzv_endpoint", "master_addr"} & torchrun.value_origins.keys())
            if is_given and torchrun.host and torchrun.port is not None and not torchrun.standalone:
                name = "rdzv_endpoint" if "rdzv_endpoint" in torchrun.value_origins else "master_addr"
                path = find_option_path(launch, torchrun, name)
                yield Endpoint(torchrun.host, torchrun.port, group, path, torchrun.backend or "")
        elif launch.invocation.launcher == "python":
            variables = resolve_environment(launch.container)
            host, port = variables.get("MASTER_ADDR") or "", variables.get("MASTER_PORT") or ""
            path_of_host = find_variable_path(launch, "MASTER_ADDR")
            if host and path_of_host is not None and port.isdecimal() and len(port) < 6:
                yield Endpoint(host, int(port), group, path_of_host)
