"""Containers that declare the named rendezvous port with another number.

Source: https://github.com/kubeflow/training-operator/blob/v1.9.0/pkg/controller.v1/pytorch/envvar.go, which
takes the number of the port by its name; whether T9k's controller does is not documented.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.provenance import trace_to_source
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.analysis.training import iter_env
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation


@check(aliases=("rendezvous-port",))
def rendezvous_port_differs(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A port with the name of the rendezvous port and another number.

    Values: ``name``, ``number``, ``other``.
    """
    rendezvous = _find_service_port(target.job)
    if rendezvous is None:
        return
    name, number = rendezvous
    ports = [place for group in target.job.pods for place in _iter_written_ports(group, name)]
    agreeing = [place for place in ports if place.number == number][:1]
    related = [(place.group.doc, place.path, "the port of the rendezvous") for place in agreeing]
    for group, path, declared_port in ports:
        if declared_port != number:
            values = {"name": name, "number": declared_port, "other": number}
            yield Violation(path, values, related, doc=group.doc, group=group)


class _WrittenPort(NamedTuple):
    group: ReplicaGroup
    path: Path
    number: Any


def _iter_written_ports(group: ReplicaGroup, name: str) -> Iterator[_WrittenPort]:
    """Yield the ports of a name from files; others are defaults."""
    for index, container in get_entries(get_mapping(group.doc.data, "spec"), "containers"):
        for port_index, port in get_entries(container, "ports"):
            path: Path = ("spec", "containers", index, "ports", port_index, "containerPort")
            if get_text(port, "name") == name and "ports" in trace_to_source(group.doc, path)[-1].path:
                yield _WrittenPort(group, path, port.get("containerPort"))


def _find_service_port(job: LoweredJob) -> tuple[str, int] | None:
    """Return name and number of the rendezvous port: MASTER_PORT, if Pods have it."""
    numbers = {
        get_text(entry, "value")
        for group in job.pods
        for _, container in get_entries(get_mapping(group.doc.data, "spec"), "containers")
        for _, _, entry in iter_env(container)
        if entry.get("name") == "MASTER_PORT"
    }
    for group in job.groups:
        if group.doc.data["kind"] == "Service":
            for _, port in get_entries(get_mapping(group.doc.data, "spec"), "ports"):
                if "port" in port and (not numbers or str(port["port"]) in numbers):
                    return get_text(port, "name"), port["port"]
    return None
