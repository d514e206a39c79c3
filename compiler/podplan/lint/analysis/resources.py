"""The resources of containers as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes import pod_resources, quantities
from podplan.lint.target import cache_latest

# Whole devices as device plugins name them, MIG slices and shared GPUs among them
# (https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/).
ACCELERATOR = compile_lazily(
    r"(?:nvidia\.com/(?:gpu(?:\.shared)?|mig-.+)|amd\.com/gpu|gpu\.intel\.com/(?:i915|xe)|habana\.ai/gaudi"
    r"|hygon\.com/dcu|huawei\.com/Ascend\w+|cambricon\.com/mlu\w*|google\.com/tpu|aws\.amazon\.com/neuron\w*)"
)


class ResourceAmount(NamedTuple):
    """An amount, and the path below the container that states it (None if nothing does)."""

    number: int
    path: Path | None
    resource: str = ""


def count_accelerators(container: Mapping[str, Any]) -> ResourceAmount:
    """Count the GPUs or other devices of a container, by its limits or else its requests."""
    for section in ("limits", "requests"):
        for name, value in get_resource_entries(container, section).items():
            if _is_accelerator(name) and (units := quantities.parse_quantity(value)) is not None:
                return ResourceAmount(units // quantities.UNITS_PER_ONE, ("resources", section, name), name)
    return ResourceAmount(0, None)


def has_own_software(resource: str) -> bool:
    """Whether devices are not GPUs: they have their own library instead of NCCL."""
    return resource.startswith(("google.com/", "aws.amazon.com/"))


@lru_cache(maxsize=256)
def _is_accelerator(name: str) -> bool:
    return ACCELERATOR.fullmatch(name) is not None


def get_resource_entries(container: Mapping[str, Any], section: str) -> Mapping[str, Any]:
    """Return ``resources.limits`` or ``resources.requests`` of a container; empty if there are none."""
    resources = container.get("resources")
    section_entries = resources.get(section) if isinstance(resources, dict) else None
    return section_entries if isinstance(section_entries, dict) else {}


def get_units(container: Mapping[str, Any], resource: str) -> int | None:
    """Return the amount of a resource of a container, in 10⁻⁹: the request, or else the limit, or None."""
    for section in ("requests", "limits"):
        amount = quantities.parse_quantity(get_resource_entries(container, section).get(resource))
        if amount is not None:
            return amount
    return None


def list_containers(group: ReplicaGroup) -> list[tuple[Path, Mapping[str, Any]]]:
    """Return the containers of a Pod with their paths, without init containers."""
    spec = group.doc.data.get("spec")
    raw_list = spec.get("containers") if isinstance(spec, dict) else None
    container_list = raw_list if isinstance(raw_list, list) else []
    return [(("spec", "containers", i), c) for i, c in enumerate(container_list) if isinstance(c, dict)]


def find_training_container(group: ReplicaGroup) -> tuple[Path, Mapping[str, Any]] | None:
    """Return the training container of a Pod with its path."""
    pod_containers = list_containers(group)
    index = group.training_container_index or 0
    return pod_containers[index] if index < len(pod_containers) else None


def format_amount(units_: int, resource: str) -> str:
    """Format an amount for messages: devices as integers, memory in Gi, cpu in cores."""
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        gibi = units_ / quantities.UNITS_PER_ONE / 2**30
        if 0 < gibi < 0.1:
            return f"{gibi * 2**10:.1f}Mi" if gibi * 2**10 >= 0.1 else f"{gibi * 2**30:.0f} bytes"
        return f"{gibi:.0f}Gi" if gibi >= 10 or gibi == int(gibi) else f"{gibi:.1f}Gi"
    number = units_ / quantities.UNITS_PER_ONE
    return f"{number:.0f}" if number == int(number) else f"{number:.2f}".rstrip("0")


def list_init_containers(group: ReplicaGroup) -> list[tuple[Path, Mapping[str, Any]]]:
    """Return the init containers of a Pod with their paths."""
    spec = group.doc.data.get("spec")
    raw_list = spec.get("initContainers") if isinstance(spec, dict) else None
    container_list = raw_list if isinstance(raw_list, list) else []
    return [(("spec", "initContainers", i), c) for i, c in enumerate(container_list) if isinstance(c, dict)]


def list_resources(group: ReplicaGroup) -> list[str]:
    """Return the names of all resources that a Pod and its containers request, in their order."""
    holders = (_get_pod_spec(group), *(c for _, c in (*list_containers(group), *list_init_containers(group))))
    names = (
        name
        for c in holders
        for section in ("requests", "limits")
        for name in get_resource_entries(c, section)
    )
    return list(dict.fromkeys(names))


def get_effective_request(group: ReplicaGroup, resource: str) -> int:
    """Return the request that the scheduler counts for one Pod of a group, in 10⁻⁹."""
    return _compute_requests(group).get(resource, 0)


@cache_latest
def _compute_requests(group: ReplicaGroup) -> pod_resources.Amounts:
    return pod_resources.compute_requests(_get_pod_spec(group))


def _get_pod_spec(group: ReplicaGroup) -> dict[str, Any]:
    spec = group.doc.data.get("spec")
    return spec if isinstance(spec, dict) else {}


def find_resource_path(group: ReplicaGroup, resource: str) -> Path | None:
    """Return where a Pod requests a resource: as a whole, or in the container that requests most of it."""
    for section in ("requests", "limits"):
        if pod_resources.is_supported(resource) and resource in get_resource_entries(
            _get_pod_spec(group), section
        ):
            return ("spec", "resources", section, resource)
    best: tuple[int, Path] | None = None
    for path, container in (*list_containers(group), *list_init_containers(group)):
        for section in ("requests", "limits"):
            amount = quantities.parse_quantity(get_resource_entries(container, section).get(resource))
            if amount is not None:
                if best is None or amount > best[0]:
                    best = amount, (*path, "resources", section, resource)
                break
    return best[1] if best else None
