"""Resources of the Pod as a whole, besides those of its containers.

Source: https://kubernetes.io/docs/tasks/configure-pod-container/assign-pod-level-resources/ and the defaults
and validation of the API server, pkg/apis/core/v1/defaults.go and pkg/apis/core/validation/validation.go of
Kubernetes 1.32 to 1.35. In 1.32 and 1.33 the feature is alpha and off, so the server drops the field.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Diagnostic, Path
from podplan.core.typing import Any
from podplan.kubernetes import names, quantities, resources
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text

ENABLED_SINCE = 34
_POD_RESOURCES = ("cpu", "memory")
_HELP = "write it in the resources of the container that uses it"

Amounts = dict[str, int]


def is_supported(resource: str) -> bool:
    """Whether the resources of a Pod may contain ``resource``."""
    return resource in _POD_RESOURCES or resources.is_huge_page(resource)


def validate_pod_resources(spec: dict[str, Any], path: Path, minor_version: int) -> Iterator[Diagnostic]:
    """Yield the diagnostics of ``resources`` of a PodSpec, individually and against its containers."""
    pod_resources = get_mapping(spec, "resources")
    if "resources" not in spec or minor_version < ENABLED_SINCE:
        return
    resources_path = (*path, "resources")
    if get_text(get_mapping(spec, "os"), "name") == "windows":
        yield Diagnostic("SCHEMA009", "a Windows Pod cannot have resources at the Pod level", resources_path)
        return
    if isinstance(pod_resources.get("claims"), list):
        message = "resource claims belong to containers, not to the Pod"
        yield Diagnostic("SCHEMA009", message, (*resources_path, "claims"), help=_HELP)
    supported_amounts: dict[str, Any] = {}
    for section in ("limits", "requests"):
        amounts = get_mapping(pod_resources, section)
        supported_amounts[section] = {
            name: amount for name, amount in amounts.items() if not _is_container_only(name)
        }
        for name in amounts.keys() - supported_amounts[section].keys():
            message = (
                f"resources of a Pod can only be cpu, memory and huge pages, not {names.format_value(name)}"
            )
            yield Diagnostic("SCHEMA004", message, (*resources_path, section, name), on_key=True, help=_HELP)
    yield from resources.validate_amounts(supported_amounts, resources_path)
    yield from _validate_against_containers(spec, supported_amounts, resources_path)


def _is_container_only(name: object) -> bool:
    """Whether only containers may have a resource, such as nvidia.com/gpu."""
    return isinstance(name, str) and ("/" in name or name == "ephemeral-storage")


def _validate_against_containers(
    spec: dict[str, Any], pod_resources: dict[str, Any], path: Path
) -> Iterator[Diagnostic]:
    limits, requests = _parse_amounts(pod_resources, "limits"), _parse_amounts(pod_resources, "requests")
    container_requests = aggregate_containers(spec, "requests")
    used = {*limits, *requests, *(container_requests if limits else ())}
    if any(map(resources.is_huge_page, used)) and not used & set(_POD_RESOURCES):
        yield Diagnostic("SCHEMA009", resources.HUGE_PAGES_ALONE_MESSAGE, path)
    for name, needed_amount in container_requests.items():
        if not is_supported(name):
            continue
        if name in requests:
            if needed_amount > requests[name]:
                yield _diagnose_insufficient(spec, pod_resources, name, "requests", path)
        elif name in limits and not resources.is_huge_page(name) and needed_amount > limits[name]:
            # The server defaults the request of the Pod to the sum of its containers.
            yield _diagnose_insufficient(spec, pod_resources, name, "limits", path)
    for name, needed_amount in aggregate_containers(spec, "limits").items():
        if resources.is_huge_page(name) and name in limits and needed_amount > limits[name]:
            yield _diagnose_insufficient(
                spec, pod_resources, name, "limits", path, container_section="limits"
            )
    yield from _validate_container_limits(spec, pod_resources, limits, path)


def _diagnose_insufficient(
    spec: dict[str, Any],
    pod_resources: dict[str, Any],
    name: str,
    section: str,
    path: Path,
    container_section: str = "requests",
) -> Diagnostic:
    amount = pod_resources[section][name]
    verb = "request" if container_section == "requests" else "are limited to"
    total = quantities.format_quantity(aggregate_containers(spec, container_section)[name], name)
    message = f"{name} {amount} of the Pod is less than the {total} that its containers {verb} together"
    related = tuple(
        ((*path[:-1], listed, index, "resources", key, name), "a container")
        for listed in ("initContainers", "containers")
        for index, container in get_entries(spec, listed)
        for key in (container_section, "limits")
        if name in get_mapping(get_mapping(container, "resources"), key)
    )
    return Diagnostic("SCHEMA009", message, (*path, section, name), related=related[:4])


def _validate_container_limits(
    spec: dict[str, Any], pod_resources: dict[str, Any], limits: Amounts, path: Path
) -> Iterator[Diagnostic]:
    for index, container in get_entries(spec, "containers"):
        for name, amount in _parse_amounts(get_mapping(container, "resources"), "limits").items():
            if name in limits and amount > limits[name]:
                limit_path = (*path[:-1], "containers", index, "resources", "limits", name)
                pod_limit = pod_resources["limits"][name]
                message = f"limit of {name} is more than the {pod_limit} of the Pod"
                related = (((*path, "limits", name), "the limit of the Pod"),)
                yield Diagnostic("SCHEMA009", message, limit_path, related=related)


def compute_requests(spec: dict[str, Any]) -> Amounts:
    """Compute what the scheduler counts for a Pod, by resource, in 10⁻⁹: for the Pod as a whole, else
    aggregated."""
    pod_resources = get_mapping(spec, "resources")
    pod_amounts = {
        name: units
        for section in ("limits", "requests")
        for name, units in _parse_amounts(pod_resources, section).items()
        if is_supported(name)
    }
    container_requests = aggregate_containers(spec, "requests")
    requests = _parse_amounts(pod_resources, "requests")
    return {
        **pod_amounts,
        **container_requests,
        **{name: pod_amounts[name] for name in pod_amounts if name in requests},
    }


def aggregate_containers(spec: dict[str, Any], section: str) -> Amounts:
    """Aggregate what the containers of a Pod use, by resource, in 10⁻⁹; a request defaults to its limit.

    Containers and sidecars run at the same time. Init containers run one by one before them, each with the
    sidecars that precede it; the larger sum counts
    (https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/#resource-sharing-within-containers).
    """
    total: Amounts = {}
    sidecars: Amounts = {}
    init_amounts: Amounts = {}
    for _, container in get_entries(spec, "containers"):
        _add_amounts(total, _effective_amounts(container, section))
    for _, container in get_entries(spec, "initContainers"):
        current = _effective_amounts(container, section)
        if container.get("restartPolicy") == "Always":
            _add_amounts(total, current)
            _add_amounts(sidecars, current)
            current = sidecars
        else:
            _add_amounts(current, sidecars)
        for name, amount in current.items():
            init_amounts[name] = max(amount, init_amounts.get(name, 0))
    for name, amount in init_amounts.items():
        total[name] = max(amount, total.get(name, 0))
    return total


def _effective_amounts(container: dict[str, Any], section: str) -> Amounts:
    container_resources = get_mapping(container, "resources")
    limits = _parse_amounts(container_resources, "limits")
    return limits if section == "limits" else {**limits, **_parse_amounts(container_resources, "requests")}


def _add_amounts(total: Amounts, amounts: Amounts) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount


def _parse_amounts(resource_section: dict[str, Any], section: str) -> Amounts:
    parsed = {
        name: quantities.parse_quantity(amount)
        for name, amount in get_mapping(resource_section, section).items()
    }
    return {name: units for name, units in parsed.items() if units is not None and isinstance(name, str)}
