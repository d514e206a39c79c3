"""The template of the JobSet of a TrainJob while it is filled: replicated jobs, containers, variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from podplan.core.provenance import Cause, Cursor, Traced, attribute_to
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.common.field_order import order_container_fields
from podplan.kinds.common.merge import list_entries, merge_tree, rewrap_tree, to_plain_data, unwrap_tree

ANCESTOR_LABEL = "trainer.kubeflow.org/trainjob-ancestor-step"
TRAINER_STEP = "trainer"
NODE = "node"  # the container that trains, and the job of nodes of MPI
LAUNCHER = "launcher"
PORT = 29500
TracedMap = dict[str, Any]


class NodeCount(NamedTuple):
    """How many Pods a Job has, and what says so."""

    value: int
    causes: tuple[Cause, ...]


class TemplateJob(NamedTuple):
    """A replicated job of the template as written, and the parts of it that the controller changes.

    ``containers``, ``init_containers`` and ``volumes`` are marked trees.
    """

    entry: Cursor
    nodes: NodeCount
    containers: tuple[Any, ...]
    init_containers: tuple[Any, ...]
    volumes: tuple[Any, ...]
    labels: Mapping[str, Any] = MappingProxyType({})
    annotations: Mapping[str, Any] = MappingProxyType({})

    @property
    def name(self) -> str:
        return str(self.entry.get("name").value)

    @property
    def ancestor(self) -> str:
        return str(self.entry.get("template", "metadata", "labels", ANCESTOR_LABEL).value_or(""))

    def map_containers(self, name: str, change: Callable[[TracedMap], TracedMap]) -> TemplateJob:
        """The job with the fields of the container ``name`` changed."""

        def apply(tree: Any) -> Any:
            fields = unwrap_tree(tree)
            if to_plain_data(fields.get("name")) != name:
                return tree
            return rewrap_tree(tree, order_container_fields(change(fields)))

        return self._replace(
            containers=tuple(apply(one) for one in self.containers),
            init_containers=tuple(apply(one) for one in self.init_containers),
        )

    def find_container(self, name: str) -> TracedMap | None:
        """The fields of the container ``name``."""
        for tree in self.containers:
            fields: TracedMap = unwrap_tree(tree)
            if to_plain_data(fields.get("name")) == name:
                return fields
        return None


def parse_jobs(template: Cursor) -> list[TemplateJob]:
    """The replicated jobs of a template, each with the Pods that it states."""
    jobs = []
    for entry in template.get("spec", "replicatedJobs").entries():
        spec = entry.get("template", "spec")
        parallelism, pod = spec.get("parallelism"), spec.get("template", "spec")
        count = NodeCount(int(parallelism.value_or(1)), (parallelism if parallelism.exists else entry,))
        jobs.append(
            TemplateJob(
                entry,
                count,
                tuple(pod.get("containers").entries()),
                tuple(pod.get("initContainers").entries()),
                tuple(pod.get("volumes").entries()),
            )
        )
    return jobs


def set_variables(fields: TracedMap, variables: list[Any]) -> TracedMap:
    """A container with variables: those of a name that it has are replaced where they stand."""
    if not variables:
        return fields
    return {**fields, "env": upsert(list_entries(fields.get("env")), variables, "name")}


def upsert(entries: list[Any], added: list[Any], key: str) -> list[Any]:
    """``entries`` with those of ``added`` in the places of the same key, else at the end."""
    result = list(entries)
    for one in added:
        wanted = _read_key(one, key)
        index = next((i for i, entry in enumerate(result) if _read_key(entry, key) == wanted), None)
        if index is None:
            result.append(one)
        else:
            result[index] = one
    return result


def set_port(ports: list[Any], port: Any) -> list[Any]:
    """``ports`` with ``port`` in the place of the first one of its number, or without a name as it has none.

    All are set once more in the same way, so of several without a name the last one takes the first place.
    """
    result = list(ports)
    _replace_port(result, port)
    for index in range(len(result)):
        _replace_port(result, result[index])
    return result


def _replace_port(ports: list[Any], port: Any) -> None:
    for index, one in enumerate(ports):
        if any(_read_key(one, field) == _read_key(port, field) for field in ("containerPort", "name")):
            ports[index] = port
            return
    ports.append(port)


def _read_key(entry: Any, key: str) -> Any:
    """The plain value under ``key`` of an entry; None where the entry is no mapping."""
    fields = unwrap_tree(entry)
    return to_plain_data(fields.get(key)) if isinstance(fields, dict) else None


def merge_resources(fields: TracedMap, resources: Cursor) -> TracedMap:
    """A container with resources laid over its own."""
    base = fields.get("resources", attribute_to(resources, {}))
    return {**fields, "resources": merge_tree(base, resources)}


def replace_resources(fields: TracedMap, resources: Cursor) -> TracedMap:
    """A container with other requests and limits; those without any change nothing."""
    amounts = {name: resources.get(name) for name in ("limits", "requests") if resources.get(name).exists}
    return {**fields, "resources": attribute_to(resources, amounts)} if amounts else fields


def build_field_variable(name: str, field: str, *causes: Cause) -> Traced:
    return attribute_to(causes, {"name": name, "valueFrom": {"fieldRef": {"fieldPath": field}}})


def iter_amounts(resources: Any) -> Iterator[tuple[str, str, Any]]:
    """The resources of plain data: section, name and amount, requests first."""
    for section in ("requests", "limits"):
        amounts = resources.get(section) if isinstance(resources, dict) else None
        for name, amount in amounts.items() if isinstance(amounts, dict) else ():
            yield section, str(name), amount
