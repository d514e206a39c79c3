"""What a Pod of a pod set requests, as Kueue counts it. Source: docs/evidence/kueue.md#requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from podplan.cluster.amounts import add_amounts, keep_larger, parse_quantities, round_amounts
from podplan.cluster.model import Cluster, LimitRange, Transformation
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.kubernetes.quantities import UNITS_PER_ONE

Quantities = Mapping[str, int]


class ContainerResources(NamedTuple):
    """The resources of a container after all defaults; ``is_sidecar`` if it is a sidecar."""

    requests: Quantities
    limits: Quantities
    is_init: bool
    is_sidecar: bool


class PodResources(NamedTuple):
    """The resources of a Pod after all defaults, in units of 10⁻⁹, and its sum."""

    containers: tuple[ContainerResources, ...]
    total: Quantities


def compute_pod_resources(pod_spec: Mapping[str, Any], namespace: str, cluster: Cluster) -> PodResources:
    """Compute the requests of a Pod with the LimitRanges of its namespace and the overhead of its
    RuntimeClass."""
    ranges = [one for one in cluster.limit_ranges.get(namespace, ()) if one.type == "Container"]
    containers = tuple(
        _apply_defaults(entry, ranges, field == "initContainers")
        for field in ("initContainers", "containers")
        for _, entry in get_entries(pod_spec, field)
    )
    total = _sum_containers(containers)
    pod_level = get_mapping(pod_spec, "resources")
    requests, limits = (parse_quantities(pod_level.get(field)) for field in ("requests", "limits"))
    total = {**total, **limits, **requests}
    overhead = parse_quantities(pod_spec.get("overhead"))
    if not overhead:
        overhead = dict(cluster.overheads.get(get_text(pod_spec, "runtimeClassName"), {}))
    return PodResources(containers, add_amounts(total, overhead) if overhead else total)


def count_requests(resources: PodResources, cluster: Cluster) -> dict[str, int]:
    """Return the requests of a Pod in the amounts of Kueue, with the transformations of its
    configuration."""
    configuration = cluster.configuration
    kept = {
        name: units
        for name, units in resources.total.items()
        if not name.startswith(configuration.excluded_prefixes or ("\0",))
    }
    return round_amounts(_transform(kept, configuration.transformations))


def explain_refusal(resources: PodResources, ranges: Sequence[LimitRange], index: int) -> str:
    """Return Kueue's message if it rejects the resources of a Pod, by itself or by LimitRanges; else ""."""
    path = f"spec.podSets[{index}].template.spec"
    counters = {True: 0, False: 0}
    messages: list[str] = []
    for one in resources.containers:
        number = counters[one.is_init]
        counters[one.is_init] += 1
        over = sorted(name for name, units in one.requests.items() if units > one.limits.get(name, units))
        if over:
            place = f"{path}.{'initContainers' if one.is_init else 'containers'}[{number}]"
            messages.append(f"{place}: Invalid value: {_quote(over)}: requests must not exceed its limits")
    if messages:
        return f"resources validation failed: {', '.join(messages)}"
    for one in resources.containers:
        smallest = {
            name: min(one.requests.get(name, units), units)
            for name, units in {**one.requests, **one.limits}.items()
        }
        messages += _compare_with_ranges(
            f"{path}.containers", keep_larger(one.requests, one.limits), smallest, ranges, "Container"
        )
    messages += _compare_with_ranges(path, resources.total, resources.total, ranges, "Pod")
    return f"resources didn't satisfy LimitRange constraints: {', '.join(messages)}" if messages else ""


def _compare_with_ranges(
    path: str, largest: Quantities, smallest: Quantities, ranges: Sequence[LimitRange], type_: str
) -> list[str]:
    fitting = [one for one in ranges if one.type == type_]
    above = {name for one in fitting for name, units in one.maximum.items() if largest.get(name, 0) > units}
    below = {
        name for one in fitting for name, units in one.minimum.items() if smallest.get(name, units) < units
    }
    return [
        f"{path}: Invalid value: {_quote(sorted(names))}: requests must not be {side}"
        for names, side in ((above, "above the limitRange max"), (below, "below the limitRange min"))
        if names
    ]


def _quote(names: Iterable[str]) -> str:
    return "[" + " ".join(f'"{name}"' for name in names) + "]"


def _apply_defaults(
    container: Mapping[str, Any], ranges: Sequence[LimitRange], is_init: bool
) -> ContainerResources:
    written = get_mapping(container, "resources")
    requests, limits = (parse_quantities(written.get(field)) for field in ("requests", "limits"))
    for one in ranges:
        limits = {**one.default, **limits}
        requests = {**one.default_request, **requests}
    requests = {**limits, **requests}
    return ContainerResources(
        requests, limits, is_init, is_init and container.get("restartPolicy") == "Always"
    )


def _sum_containers(containers: Sequence[ContainerResources]) -> dict[str, int]:
    """The most that the containers request at one time: init containers run one after the other."""
    running: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    starting: dict[str, int] = {}
    for one in containers:
        if not one.is_init:
            running = add_amounts(running, one.requests)
        elif one.is_sidecar:
            running = add_amounts(running, one.requests)
            sidecars = add_amounts(sidecars, one.requests)
            starting = keep_larger(starting, sidecars)
        else:
            starting = keep_larger(starting, add_amounts(sidecars, one.requests))
    return keep_larger(running, starting)


def _transform(requests: Quantities, transformations: Mapping[str, Transformation]) -> dict[str, int]:
    counted: dict[str, int] = {}
    for name, units in requests.items():
        transformation = transformations.get(name)
        if transformation is None or transformation.keeps_input:
            counted = add_amounts(counted, {name: units})
        if transformation is not None:
            factor = requests.get(transformation.multiplied_by, UNITS_PER_ONE)
            amount = units * factor // UNITS_PER_ONE
            outputs = {
                output: amount * each // UNITS_PER_ONE for output, each in transformation.outputs.items()
            }
            counted = add_amounts(counted, outputs)
    return counted
