"""What a container asks for, as numbers that policies compare."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from podplan.core.findings import Path
from podplan.core.lazy_regex import pattern
from podplan.core.replica_groups import Group
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes import pod_resources, quantities
from podplan.lint.target import for_one

# Whole devices as device plugins name them, MIG slices and shared GPUs among them
# (https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/).
ACCELERATOR = pattern(
    r"(?:nvidia\.com/(?:gpu(?:\.shared)?|mig-.+)|amd\.com/gpu|gpu\.intel\.com/(?:i915|xe)|habana\.ai/gaudi"
    r"|hygon\.com/dcu|huawei\.com/Ascend\w+|cambricon\.com/mlu\w*|google\.com/tpu|aws\.amazon\.com/neuron\w*)"
)


class Amount(NamedTuple):
    """A number of something, and the path below the container that says so (None where nothing does)."""

    number: int
    path: Path | None
    resource: str = ""


def accelerators(container: Mapping[str, Any]) -> Amount:
    """How many GPUs or the like a container has: by its limits, else its requests."""
    for section in ("limits", "requests"):
        for name, value in entries(container, section).items():
            if _is_accelerator(name) and (units := quantities.parse(value)) is not None:
                return Amount(units // quantities.ONE, ("resources", section, name), name)
    return Amount(0, None)


@lru_cache(maxsize=256)
def _is_accelerator(name: str) -> bool:
    return ACCELERATOR.fullmatch(name) is not None


def entries(container: Mapping[str, Any], section: str) -> Mapping[str, Any]:
    """``resources.limits`` or ``resources.requests`` of a container; empty where there is none."""
    resources = container.get("resources")
    found = resources.get(section) if isinstance(resources, dict) else None
    return found if isinstance(found, dict) else {}


def units(container: Mapping[str, Any], resource: str) -> int | None:
    """What a container is given of a resource, in 10⁻⁹: the request, else the limit; None for neither."""
    for section in ("requests", "limits"):
        found = quantities.parse(entries(container, section).get(resource))
        if found is not None:
            return found
    return None


def containers(group: Group) -> list[tuple[Path, Mapping[str, Any]]]:
    """The containers of a Pod with their paths, without init containers."""
    spec = group.doc.data.get("spec")
    listed = spec.get("containers") if isinstance(spec, dict) else None
    found = listed if isinstance(listed, list) else []
    return [(("spec", "containers", i), c) for i, c in enumerate(found) if isinstance(c, dict)]


def training(group: Group) -> tuple[Path, Mapping[str, Any]] | None:
    """The training container of a Pod with its path."""
    listed = containers(group)
    index = group.training or 0
    return listed[index] if index < len(listed) else None


def shown(units_: int, resource: str) -> str:
    """An amount as people write it: GPUs and the like as whole numbers, memory in Gi, cpu in cores."""
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        gibi = units_ / quantities.ONE / 2**30
        if 0 < gibi < 0.1:
            return f"{gibi * 2**10:.1f}Mi" if gibi * 2**10 >= 0.1 else f"{gibi * 2**30:.0f} bytes"
        return f"{gibi:.0f}Gi" if gibi >= 10 or gibi == int(gibi) else f"{gibi:.1f}Gi"
    number = units_ / quantities.ONE
    return f"{number:.0f}" if number == int(number) else f"{number:.2f}".rstrip("0")


def init_containers(group: Group) -> list[tuple[Path, Mapping[str, Any]]]:
    """The init containers of a Pod with their paths."""
    spec = group.doc.data.get("spec")
    listed = spec.get("initContainers") if isinstance(spec, dict) else None
    found = listed if isinstance(listed, list) else []
    return [(("spec", "initContainers", i), c) for i, c in enumerate(found) if isinstance(c, dict)]


def resources(group: Group) -> list[str]:
    """The names of all that a Pod and its containers ask for, in the order written."""
    every = (_spec(group), *(c for _, c in (*containers(group), *init_containers(group))))
    names = (name for c in every for section in ("requests", "limits") for name in entries(c, section))
    return list(dict.fromkeys(names))


def effective(group: Group, resource: str) -> int:
    """What the scheduler counts for one Pod of a group, in 10⁻⁹."""
    return _requested(group).get(resource, 0)


@for_one
def _requested(group: Group) -> pod_resources.Amounts:
    return pod_resources.requested(_spec(group))


def _spec(group: Group) -> dict[str, Any]:
    spec = group.doc.data.get("spec")
    return spec if isinstance(spec, dict) else {}


def place(group: Group, resource: str) -> Path | None:
    """Where a Pod asks for a resource: as a whole, or in the container that asks for most of it."""
    for section in ("requests", "limits"):
        if pod_resources.is_supported(resource) and resource in entries(_spec(group), section):
            return ("spec", "resources", section, resource)
    best: tuple[int, Path] | None = None
    for path, container in (*containers(group), *init_containers(group)):
        for section in ("requests", "limits"):
            amount = quantities.parse(entries(container, section).get(resource))
            if amount is not None:
                if best is None or amount > best[0]:
                    best = amount, (*path, "resources", section, resource)
                break
    return best[1] if best else None
