"""Resources of the Pod as a whole, beside those of its containers.

Source: https://kubernetes.io/docs/tasks/configure-pod-container/assign-pod-level-resources/ and the defaults
and validation of the API server, pkg/apis/core/v1/defaults.go and pkg/apis/core/validation/validation.go of
Kubernetes 1.32 to 1.35. In 1.32 and 1.33 the feature is alpha and off, so the server drops the field.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Path, Problem
from podplan.core.typing import Any
from podplan.kubernetes import names, quantities, resources
from podplan.kubernetes.accessors import entries, mapping, text

ENABLED_SINCE = 34
_SUPPORTED = ("cpu", "memory")
_HELP = "write it in the resources of the container that uses it"

Amounts = dict[str, int]


def is_supported(resource: str) -> bool:
    """Whether the resources of a Pod may have ``resource``."""
    return resource in _SUPPORTED or resources.is_huge_page(resource)


def check(spec: dict[str, Any], path: Path, minor: int) -> Iterator[Problem]:
    """The problems of ``resources`` of a PodSpec, by itself and against its containers."""
    written = mapping(spec, "resources")
    if "resources" not in spec or minor < ENABLED_SINCE:
        return
    at = (*path, "resources")
    if text(mapping(spec, "os"), "name") == "windows":
        yield Problem("SCHEMA009", "a Windows Pod takes no resources for the Pod as a whole", at)
        return
    if isinstance(written.get("claims"), list):
        message = "resource claims belong to containers, not to the Pod as a whole"
        yield Problem("SCHEMA009", message, (*at, "claims"), help=_HELP)
    rest: dict[str, Any] = {}
    for section in ("limits", "requests"):
        amounts = mapping(written, section)
        rest[section] = {name: amount for name, amount in amounts.items() if not _is_of_containers(name)}
        for name in amounts.keys() - rest[section].keys():
            message = f"a Pod as a whole has only cpu, memory and huge pages, no {names.shown(name)}"
            yield Problem("SCHEMA004", message, (*at, section, name), on_key=True, help=_HELP)
    yield from resources.check_amounts(rest, at)
    yield from _against_containers(spec, rest, at)


def _is_of_containers(name: object) -> bool:
    """Whether only containers can have a resource, such as nvidia.com/gpu."""
    return isinstance(name, str) and ("/" in name or name == "ephemeral-storage")


def _against_containers(spec: dict[str, Any], written: dict[str, Any], path: Path) -> Iterator[Problem]:
    limits, requests = _amounts(written, "limits"), _amounts(written, "requests")
    together = aggregate(spec, "requests")
    used = {*limits, *requests, *(together if limits else ())}
    if any(map(resources.is_huge_page, used)) and not used & set(_SUPPORTED):
        yield Problem("SCHEMA009", resources.HUGE_PAGES_ALONE, path)
    for name, needed in together.items():
        if not is_supported(name):
            continue
        if name in requests:
            if needed > requests[name]:
                yield _too_little(spec, written, name, "requests", path)
        elif name in limits and not resources.is_huge_page(name) and needed > limits[name]:
            # The server takes the sum of the containers for the request of the Pod.
            yield _too_little(spec, written, name, "limits", path)
    for name, needed in aggregate(spec, "limits").items():
        if resources.is_huge_page(name) and name in limits and needed > limits[name]:
            yield _too_little(spec, written, name, "limits", path, of="limits")
    yield from _container_limits(spec, written, limits, path)


def _too_little(
    spec: dict[str, Any], written: dict[str, Any], name: str, section: str, path: Path, of: str = "requests"
) -> Problem:
    amount = written[section][name]
    verb = "request" if of == "requests" else "are limited to"
    total = quantities.exact(aggregate(spec, of)[name], name)
    message = f"{name} {amount} of the Pod is less than the {total} that its containers {verb} together"
    related = tuple(
        ((*path[:-1], listed, index, "resources", key, name), "a container")
        for listed in ("initContainers", "containers")
        for index, container in entries(spec, listed)
        for key in (of, "limits")
        if name in mapping(mapping(container, "resources"), key)
    )
    return Problem("SCHEMA009", message, (*path, section, name), related=related[:4])


def _container_limits(
    spec: dict[str, Any], written: dict[str, Any], limits: Amounts, path: Path
) -> Iterator[Problem]:
    for index, container in entries(spec, "containers"):
        for name, amount in _amounts(mapping(container, "resources"), "limits").items():
            if name in limits and amount > limits[name]:
                at = (*path[:-1], "containers", index, "resources", "limits", name)
                whole = written["limits"][name]
                message = f"limit of {name} is more than the {whole} of the Pod as a whole"
                related = (((*path, "limits", name), "the limit of the Pod"),)
                yield Problem("SCHEMA009", message, at, related=related)


def requested(spec: dict[str, Any]) -> Amounts:
    """What the scheduler counts for a Pod, by resource, in 10⁻⁹: for the Pod as a whole, else aggregated."""
    written = mapping(spec, "resources")
    of_pod = {
        name: units
        for section in ("limits", "requests")
        for name, units in _amounts(written, section).items()
        if is_supported(name)
    }
    together = aggregate(spec, "requests")
    requests = _amounts(written, "requests")
    return {**of_pod, **together, **{name: of_pod[name] for name in of_pod if name in requests}}


def aggregate(spec: dict[str, Any], section: str) -> Amounts:
    """What the containers of a Pod have together, by resource, in 10⁻⁹; a request defaults to its limit.

    Containers and sidecars run side by side. Init containers run one by one before them, each beside the
    sidecars that precede it; the larger one counts
    (https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/#resource-sharing-within-containers).
    """
    total: Amounts = {}
    sidecars: Amounts = {}
    starting: Amounts = {}
    for _, container in entries(spec, "containers"):
        _add(total, _effective(container, section))
    for _, container in entries(spec, "initContainers"):
        now = _effective(container, section)
        if container.get("restartPolicy") == "Always":
            _add(total, now)
            _add(sidecars, now)
            now = sidecars
        else:
            _add(now, sidecars)
        for name, amount in now.items():
            starting[name] = max(amount, starting.get(name, 0))
    for name, amount in starting.items():
        total[name] = max(amount, total.get(name, 0))
    return total


def _effective(container: dict[str, Any], section: str) -> Amounts:
    written = mapping(container, "resources")
    limits = _amounts(written, "limits")
    return limits if section == "limits" else {**limits, **_amounts(written, "requests")}


def _add(total: Amounts, amounts: Amounts) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount


def _amounts(written: dict[str, Any], section: str) -> Amounts:
    parsed = {name: quantities.parse(amount) for name, amount in mapping(written, section).items()}
    return {name: units for name, units in parsed.items() if units is not None and isinstance(name, str)}
