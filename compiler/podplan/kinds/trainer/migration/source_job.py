"""A PyTorchJob whose nodes have one template, as the conversion reads it."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.findings import Path, value_at
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.conversion import ConversionInput
from podplan.kinds.kubeflow.pytorch_job.constants import KIND
from podplan.kinds.trainer.job_set_template import NODE

SPECS_PATH: Path = ("spec", "pytorchReplicaSpecs")
NAME_VARIABLE = "JOBSET_NAME"
CONTAINER = str(KIND.container)


class SourceJob(NamedTuple):
    """A PyTorchJob whose nodes have one template, with what the conversion needs of it."""

    cr: Mapping[str, Any]
    source: ConversionInput
    path: Path  # of the replica type whose template counts
    container_index: int
    nodes: int

    @property
    def spec(self) -> Mapping[str, Any]:
        spec: Mapping[str, Any] = self.cr["spec"]
        return spec

    @property
    def name(self) -> str:
        return str((self.cr.get("metadata") or {}).get("name") or "")

    @property
    def namespace(self) -> str:
        return str((self.cr.get("metadata") or {}).get("namespace") or "")

    @property
    def types(self) -> Mapping[str, Any]:
        return list_types(self.cr)

    @property
    def template_path(self) -> Path:
        return (*self.path, "template")

    @property
    def pod_path(self) -> Path:
        return (*self.template_path, "spec")

    @property
    def container_path(self) -> Path:
        return (*self.pod_path, "containers", self.container_index)

    @property
    def container(self) -> Mapping[str, Any]:
        container: Mapping[str, Any] = value_at(self.cr, self.container_path)
        return container

    @property
    def policy(self) -> Mapping[str, Any]:
        return self.spec.get("runPolicy") or {}

    @property
    def elastic(self) -> Mapping[str, Any] | None:
        return self.spec.get("elasticPolicy")

    @property
    def coordinator(self) -> str:
        """The host of the first node; with generateName, by a variable."""
        name = self.name or f"$({NAME_VARIABLE})"
        return f"{name}-{NODE}-0-0.{name}"

    @property
    def restart_policy(self) -> str:
        return str(value_at(self.cr, self.path).get("restartPolicy") or KIND.restart_policy)


def list_types(cr: Mapping[str, Any]) -> dict[str, Any]:
    """The replica types of a PyTorchJob, without those that are null."""
    return {name: one for name, one in value_at(cr, SPECS_PATH).items() if one is not None}


def list_own_ports(container: Mapping[str, Any]) -> list[int]:
    """The indexes of the ports of a container that are not that of the operator."""
    return [at for at, one in enumerate(container.get("ports") or ()) if one.get("name") != KIND.port_name]
