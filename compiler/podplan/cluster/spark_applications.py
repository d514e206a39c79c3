"""SparkApplications as Kueue queues them: the requests that it reads, which are not all of Spark's.

Source: docs/evidence/kueue.md#sparkapplication.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Path
from podplan.core.provenance import Cursor, attribute_to, build_traced_document, root_cursor
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.spec import PodSet
from podplan.kubernetes.accessors import get_mapping
from podplan.kubernetes.quantities import parse_quantity

FRAMEWORK = "sparkoperator.k8s.io/sparkapplication"
ELASTIC_ANNOTATION = "kueue.x-k8s.io/elastic-job"
_DEFAULT_MEMORY = "1g"
# Of the units of Java, by powers of 1024; a second letter "b" may follow.
_UNITS = "kmgtp"
_TRUE = ("1", "t", "T", "true", "TRUE", "True")


class _Role(NamedTuple):
    """A section of a SparkApplication; a container ``counted`` gets the requests, else the first."""

    name: str
    container: str
    counted: str


_DRIVER = _Role("driver", "spark-kubernetes-driver", "spark-kubernetes-driver")
_EXECUTOR = _Role("executor", "spark-kubernetes-executor", "executor")
_ROLES = (_DRIVER, _EXECUTOR)


def list_pod_sets(application: Cursor) -> list[PodSet]:
    """The pod sets: the driver, and as many executors as there are at the start."""
    executor = application.get("spec", "executor")
    return [
        PodSet("driver", 1, _build_template(application, _DRIVER), application.get("spec", "driver")),
        PodSet(
            "executor",
            _count_executors(application),
            _build_template(application, _EXECUTOR),
            executor.get("instances") if executor.get("instances").exists else executor,
        ),
    ]


def iter_refusals(application: Cursor) -> Iterator[tuple[Path, str]]:
    """Yield what the webhook of Kueue refuses in a SparkApplication."""
    spec = application.get("spec")
    mode, dynamic = spec.get("mode"), spec.get("dynamicAllocation", "enabled")
    elastic = application.get("metadata", "annotations", ELASTIC_ANNOTATION)
    if elastic.value == "true":
        yield elastic.path, "Forbidden: elastic job is not supported for a SparkApplication"
    if mode.exists and mode.value not in ("", "cluster"):
        message = "only Cluster mode is supported for a kueue managed job"
        yield mode.path, f'Invalid value: "{mode.value}": {message}'
    if dynamic.value is True and elastic.value != "true":
        message = "a kueue managed job can use dynamicAllocation only when it is an elastic job"
        yield dynamic.path, f"Invalid value: true: {message}"
    for role in _ROLES:
        for field in ("coreRequest", "coreLimit"):
            written = spec.get(role.name, field)
            if written.exists and parse_quantity(written.value) is None:
                yield written.path, f"failed to parse {field} {written.value}"
        for field in ("memory", "memoryLimit"):
            written = spec.get(role.name, field)
            if written.exists and parse_quantity(_convert_memory(written.value)) is None:
                yield written.path, f"failed to parse {field} {written.value}"


def labels_its_pods(application: Cursor, label: str) -> bool:
    """Whether the Pods of a SparkApplication get a label."""
    return any(application.get("spec", role.name, "labels", label).exists for role in _ROLES)


def _count_executors(application: Cursor) -> int:
    """Return the number that is written, else the default of the operator."""
    spec = application.get("spec")
    written, conf = spec.get("executor", "instances").value, get_mapping(spec.value, "sparkConf")
    if written is not None:
        return int(written)
    allocation = spec.get("dynamicAllocation")
    is_dynamic = str(conf.get("spark.dynamicallocation.enabled", "")) in _TRUE
    if allocation.exists:
        is_dynamic = allocation.get("enabled").value is True
    return 0 if is_dynamic or conf.get("spark.executor.instances") else 1


def _build_template(application: Cursor, role: _Role) -> Cursor:
    """Return the Pod template that Kueue computes; of ``template`` it reads the metadata only."""
    section = application.get("spec", role.name)
    conf = get_mapping(application.get("spec").value, "sparkConf")
    sidecars = [one for one in section.get("sidecars").entries() if isinstance(one.value, dict)]
    names = [one.get("name").value for one in sidecars]
    tree = _build_container(section, f"spark.{role.name}.memory" not in conf)
    containers: list[Any] = [attribute_to(section, {"name": role.container}), *sidecars]
    if role.counted != role.container and role.counted in names:
        # The container of Spark is looked for by its name, which a sidecar may have.
        index = names.index(role.counted)
        resources = get_mapping(sidecars[index].value, "resources")
        written = {name: dict(get_mapping(resources, name)) for name in ("requests", "limits")}
        merged = {name: {**written[name], **tree["resources"][name]} for name in written}
        containers[index + 1] = attribute_to(
            sidecars[index], {**sidecars[index].fields(), "resources": merged}
        )
    else:
        containers[0] = attribute_to(section, {"name": role.container, **tree})
    priority = section.get("priorityClassName")
    spec = {
        "initContainers": section.get("initContainers"),
        "containers": containers,
        "nodeSelector": section.get("nodeSelector"),
        "affinity": section.get("affinity"),
        "tolerations": section.get("tolerations"),
        **({"priorityClassName": priority} if priority.value else {}),
    }
    metadata = {
        field: {**section.get("template", "metadata", field).fields(), **section.get(field).fields()}
        for field in ("labels", "annotations")
    }
    template = attribute_to(section if section.exists else application, {"metadata": metadata, "spec": spec})
    return root_cursor(build_traced_document(template, application.doc.name))


def _build_container(section: Cursor, has_default_memory: bool) -> dict[str, Any]:
    """Return the resources of the container of Spark: neither "cores" nor overhead of memory count."""
    requests: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    memory = section.get("memory")
    if section.get("coreRequest").exists:
        requests["cpu"] = section.get("coreRequest")
    if memory.exists:
        requests["memory"] = attribute_to(memory, _convert_memory(memory.value))
    elif has_default_memory:
        requests["memory"] = attribute_to(section, _convert_memory(_DEFAULT_MEMORY))
    if section.get("coreLimit").exists:
        limits["cpu"] = section.get("coreLimit")
    if section.get("memoryLimit").exists:
        limit = section.get("memoryLimit")
        limits["memory"] = attribute_to(limit, _convert_memory(limit.value))
    name, quantity = section.get("gpu", "name"), section.get("gpu", "quantity")
    if name.value and isinstance(quantity.value, int) and quantity.value > 0:
        limits[str(name.value)] = attribute_to(quantity, str(quantity.value))
    return {"resources": {"requests": requests, "limits": limits}}


def _convert_memory(value: object) -> str:
    """Return an amount of memory of Java as a quantity: "512m" is 512Mi."""
    text = str(value).strip()
    lower = text.lower().removesuffix("b")
    if lower[-1:] and lower[-1] in _UNITS:
        return f"{lower[:-1]}{lower[-1].upper()}i"
    return text
