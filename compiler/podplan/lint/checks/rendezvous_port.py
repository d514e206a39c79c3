"""The port of the rendezvous where containers declare it under its name, and with other numbers.

Source: https://github.com/kubeflow/training-operator/blob/v1.9.0/pkg/controller.v1/pytorch/envvar.go, which
takes the number of the port by its name; whether T9k's controller does is not documented.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.kubernetes.accessors import entries, mapping, text
from podplan.lint.target import Hit, Job, Subject


def rendezvous_port(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A port of the name of the rendezvous with another number; values ``name``, ``number``, ``other``."""
    rendezvous = _of_services(subject.job)
    if rendezvous is None:
        return
    name, number = rendezvous
    for group in subject.job.pods:
        for index, container in entries(mapping(group.doc.data, "spec"), "containers"):
            for at, port in entries(container, "ports"):
                declared = port.get("containerPort")
                if text(port, "name") == name and declared != number:
                    path = ("spec", "containers", index, "ports", at, "containerPort")
                    values = {"name": name, "number": declared, "other": number}
                    yield Hit(path, values, doc=group.doc, group=group)


def _of_services(job: Job) -> tuple[str, int] | None:
    """The name and the number of the port at which the replicas meet."""
    for group in job.groups:
        if group.doc.data["kind"] == "Service":
            for _, port in entries(mapping(group.doc.data, "spec"), "ports"):
                return text(port, "name"), port["port"]
    return None
