"""Ports at which a replica looks for a server of another replica that listens elsewhere.

Source: https://kubernetes.io/docs/concepts/services-networking/service/#headless-services (the name of a
headless Service is the address of the Pod, and no port is changed on the way).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.analysis.jobs import is_mode_enabled, spec_of
from podplan.lint.analysis.pod_hosts import find_pod
from podplan.lint.analysis.processes import find_endless_process
from podplan.lint.analysis.resources import list_containers, list_init_containers
from podplan.lint.checks.probe_targets import iter_served_ports, list_numbers
from podplan.lint.checks.registration import check
from podplan.lint.checks.unmounted_volumes import list_texts
from podplan.lint.target import LoweredJob, Target, Violation

_ADDRESS = compile_lazily(
    r"(?P<host>\$\(service\.[a-z0-9-]+\[\d{1,6}\]\.host\)|[a-z0-9][a-z0-9.-]{0,200})(?::|\s+)"
    r"(?P<port>\d{2,5}|\$\(service\.port\[[a-z0-9-]+\]\))(?![\w.])"
)
_HOST = compile_lazily(r"\$\(service\.(?P<type>[a-z0-9-]+)\[\d{1,6}\]\.host\)")
_PORT = compile_lazily(r"\$\(service\.port\[(?P<name>[a-z0-9-]+)\]\)")


@check(requires=("Service",))
def server_on_other_port(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A client with another port than that of the server.

    Values: ``host``, ``port``, ``option``, ``served``.
    """
    job = target.job
    servers = {group.replica_type: port for group in job.pods if (port := _find_port(group)) is not None}
    if not servers or is_mode_enabled(job, "debug"):
        return
    for group in job.pods:
        for base, container in (*list_init_containers(group), *list_containers(group)):
            for place, text in list_texts(container):
                for found in _ADDRESS.finditer(text):
                    type_, asked = _find_type(job, found["host"]), _find_number(job, found["port"])
                    if type_ not in servers or type_ == group.replica_type or not asked:
                        continue
                    server, option, served, at = servers[type_]
                    named = list_numbers(get_mapping(server.doc.data, "spec"))
                    if asked != served and asked not in named:
                        values = {"host": found["host"], "port": asked, "option": option, "served": served}
                        related = [(server.doc, at, "the port of the server")]
                        related += _list_service_ports(job, found["port"])
                        yield Violation((*base, *place), values, related, doc=group.doc, group=group)
                        return


def _find_port(group: ReplicaGroup) -> tuple[ReplicaGroup, str, str, Path] | None:
    """Return the only port that the server of a replica type states, and where."""
    containers = list_containers(group)
    if len(containers) != 1 or find_endless_process(containers[0][1]) is None:
        return None
    base, container = containers[0]
    served = list(iter_served_ports(container))
    if len(served) != 1:
        return None
    return group, served[0].name, served[0].port, (*base, *served[0].place)


def _find_type(job: LoweredJob, host: str) -> str:
    token = _HOST.fullmatch(host)
    if token is not None:
        return str(token["type"])
    found = find_pod(job, host)
    return found[0].replica_type if found is not None else ""


def _list_service_ports(job: LoweredJob, port: str) -> list[tuple[TracedDocument, Path, str]]:
    """Return the port of the service that a variable names, as a related location."""
    token = _PORT.fullmatch(port)
    ports = get_entries(get_mapping(spec_of(job), "service"), "ports")
    return [
        (job.cr, ("spec", "service", "ports", at, "port"), "the port of the service")
        for at, one in ports
        if token is not None and job.cr is not None and get_text(one, "name") == token["name"]
    ]


def _find_number(job: LoweredJob, port: str) -> str:
    token = _PORT.fullmatch(port)
    if token is None:
        return port
    ports = get_entries(get_mapping(spec_of(job), "service"), "ports")
    return next((str(one.get("port")) for _, one in ports if get_text(one, "name") == token["name"]), "")
