"""Pods that the API server rejects because of LimitRanges and ResourceQuotas of their namespace.

Source: docs/evidence/kueue.md#namespaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from podplan.cluster.amounts import add_amounts, keep_larger, parse_quantities
from podplan.cluster.model import LimitRange, NamespaceQuota
from podplan.core.provenance import Cursor, Path
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.kubernetes.quantities import UNITS_PER_ONE

_CONTAINER_LISTS = ("initContainers", "containers")
# A quota of these must find them in each container; anything else that is missing counts as none.
_REQUIRED_RESOURCES = ("cpu", "memory")
_WITHOUT_PREFIX = (*_REQUIRED_RESOURCES, "ephemeral-storage")
_REQUESTS, _LIMITS = "requests.", "limits."


class ContainerAmounts(NamedTuple):
    """The requests and limits of a container in a Pod after all defaults, in units of 10⁻⁹."""

    name: str
    path: Path
    requests: Mapping[str, int]
    limits: Mapping[str, int]
    is_init: bool
    is_sidecar: bool


class Excess(NamedTuple):
    """An amount that a LimitRange or ResourceQuota does not allow; ``limit`` is where that is written.

    ``subject`` is a container, or "" for the Pod. ``amount`` is None if the Pod states none.
    """

    what: str
    resource: str
    subject: str
    path: Path
    amount: int | None
    allowed: int
    limit: Cursor


def list_containers(pod_spec: Mapping[str, Any], ranges: Sequence[LimitRange]) -> list[ContainerAmounts]:
    """Return the containers of a Pod with the defaults of the API server and then those of LimitRanges."""
    containers = []
    for field in _CONTAINER_LISTS:
        for number, entry in get_entries(pod_spec, field):
            written = get_mapping(entry, "resources")
            requests, limits = (parse_quantities(written.get(one)) for one in ("requests", "limits"))
            requests = {**limits, **requests}
            for one in ranges:
                if one.type == "Container":
                    limits = {**one.default, **limits}
                    requests = {**one.default_request, **requests}
            is_init = field == "initContainers"
            is_sidecar = is_init and entry.get("restartPolicy") == "Always"
            path = ("spec", field, number)
            containers.append(
                ContainerAmounts(get_text(entry, "name"), path, requests, limits, is_init, is_sidecar)
            )
    return containers


def sum_pod(containers: Sequence[ContainerAmounts], field: str) -> dict[str, int]:
    """Return the maximum that a Pod uses at one time, by ``field`` of its containers, requests or limits."""
    running: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    starting: dict[str, int] = {}
    for one in containers:
        amounts = getattr(one, field)
        if one.is_sidecar:
            running, sidecars = add_amounts(running, amounts), add_amounts(sidecars, amounts)
            starting = keep_larger(starting, sidecars)
        elif one.is_init:
            starting = keep_larger(starting, add_amounts(sidecars, amounts))
        else:
            running = add_amounts(running, amounts)
    return keep_larger(running, starting)


def iter_range_excesses(pod_spec: Mapping[str, Any], ranges: Sequence[LimitRange]) -> Iterator[Excess]:
    """Yield the amounts of a Pod that LimitRanges do not allow."""
    containers = list_containers(pod_spec, ranges)
    pod_sums = sum_pod(containers, "requests"), sum_pod(containers, "limits")
    for one in ranges:
        if one.type == "Pod":
            yield from _compare(one, *pod_sums, "", ("spec",))
        elif one.type == "Container":
            for container in containers:
                yield from _compare(one, container.requests, container.limits, container.name, container.path)


def _compare(
    range_: LimitRange, requests: Mapping[str, int], limits: Mapping[str, int], subject: str, path: Path
) -> Iterator[Excess]:
    for resource, allowed in range_.maximum.items():
        amount = max(limits.get(resource, allowed + 1), requests.get(resource, 0))
        if amount > allowed:
            stated = amount if resource in limits else None
            at = range_.place.get("max", resource)
            yield Excess("max", resource, subject, path, stated, allowed, at)
    for resource, allowed in range_.minimum.items():
        amount = min(requests.get(resource, allowed - 1), limits.get(resource, allowed))
        if amount < allowed:
            stated = amount if resource in requests else None
            at = range_.place.get("min", resource)
            yield Excess("min", resource, subject, path, stated, allowed, at)
    for resource, allowed in range_.max_ratio.items():
        request, limit = requests.get(resource, 0), limits.get(resource, 0)
        ratio = limit * UNITS_PER_ONE // request if request and limit else None
        if ratio is None or ratio > allowed:
            at = range_.place.get("maxLimitRequestRatio", resource)
            yield Excess("ratio", resource, subject, path, ratio, allowed, at)
    for resource, request in requests.items():
        limit = limits.get(resource, request)
        is_above_maximum = request > range_.maximum.get(resource, request)
        if request > limit and resource in range_.default and not is_above_maximum:
            yield Excess("default", resource, subject, path, request, limit, range_.place.get("default"))


def iter_quota_excesses(
    pods: Iterable[tuple[Mapping[str, Any], int]], quota: NamespaceQuota, ranges: Sequence[LimitRange]
) -> Iterator[Excess]:
    """Yield the amounts of Pods, each with its number, that exceed a ResourceQuota in an empty namespace."""
    groups = [(list_containers(spec, ranges), number) for spec, number in pods]
    for key, allowed in quota.hard.items():
        limit = quota.place.get("spec", "hard", key)
        field, resource = _parse_key(key)
        if not field:
            if key in ("pods", "count/pods"):
                total = sum(number for _, number in groups) * UNITS_PER_ONE
                if total > allowed:
                    yield Excess("quota", "Pods", "", (), total, allowed, limit)
            continue
        if resource in _REQUIRED_RESOURCES:
            lacking = [
                Excess(field, resource, one.name, one.path, None, allowed, limit)
                for containers, number in groups
                if number
                for one in containers
                if resource not in getattr(one, field)
            ]
            if lacking:
                yield lacking[0]
                continue
        total = sum(sum_pod(containers, field).get(resource, 0) * number for containers, number in groups)
        if total > allowed:
            yield Excess("quota", f"{field} of {resource}", "", (), total, allowed, limit)


def is_counted(key: str) -> bool:
    """Whether a key of a ResourceQuota counts anything: extended resources need the prefix requests."""
    return "/" not in key or key.startswith((_REQUESTS, "count/")) or ".storageclass." in key


def _parse_key(key: str) -> tuple[str, str]:
    """Return requests or limits and the resource that a key of a quota is about; "" for any other."""
    if key.startswith(_REQUESTS):
        return "requests", key.removeprefix(_REQUESTS)
    if key.startswith(_LIMITS):
        return "limits", key.removeprefix(_LIMITS)
    return ("requests", key) if key in _WITHOUT_PREFIX else ("", "")
