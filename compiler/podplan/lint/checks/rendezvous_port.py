"""The port of the rendezvous where containers declare it under its name, and with other numbers.

Source: https://github.com/kubeflow/training-operator/blob/v1.9.0/pkg/controller.v1/pytorch/envvar.go, which
takes the number of the port by its name; whether T9k's controller does is not documented.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.analysis.training import iter_env
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation


@check(aliases=("rendezvous-port",))
def rendezvous_port_differs(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A port of the name of the rendezvous with another number; values ``name``, ``number``, ``other``."""
    rendezvous = _find_service_port(target.job)
    if rendezvous is None:
        return
    name, number = rendezvous
    for group in target.job.pods:
        for index, container in get_entries(get_mapping(group.doc.data, "spec"), "containers"):
            for port_index, port in get_entries(container, "ports"):
                declared_port = port.get("containerPort")
                if get_text(port, "name") == name and declared_port != number:
                    path = ("spec", "containers", index, "ports", port_index, "containerPort")
                    values = {"name": name, "number": declared_port, "other": number}
                    yield Violation(path, values, doc=group.doc, group=group)


def _find_service_port(job: LoweredJob) -> tuple[str, int] | None:
    """The name and the number of the port at which the replicas meet: MASTER_PORT, where Pods have it."""
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
                if not numbers or str(port["port"]) in numbers:
                    return get_text(port, "name"), port["port"]
    return None
