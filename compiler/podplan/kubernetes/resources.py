"""Requests and limits: known resources, whole numbers, requests within limits.

Source: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/ (extended
resources are integers, not overcommitted, and equal in requests and limits).
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Change, Path, Problem
from podplan.core.typing import Any
from podplan.kubernetes import names, quantities
from podplan.kubernetes.accessors import entries, mapping, text

_STANDARD = ("cpu", "memory", "ephemeral-storage")
_HUGE = "hugepages-"
HUGE_PAGES_ALONE = "huge pages need a request or limit of cpu or memory beside them"


def check(resources: dict[str, Any], path: Path, claims: set[str]) -> Iterator[Problem]:
    """The problems of ResourceRequirements; ``claims`` are the resource claims of the Pod."""
    yield from check_amounts(resources, path)
    limits, requests = mapping(resources, "limits"), mapping(resources, "requests")
    used = [name for name in (*limits, *requests) if isinstance(name, str)]
    if any(map(is_huge_page, used)) and not any(name in _STANDARD[:2] for name in used):
        yield Problem("SCHEMA009", HUGE_PAGES_ALONE, path)
    if "claims" in resources:
        yield from _claims(resources, path, claims)


def check_amounts(resources: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of the limits and requests, each by itself and each request against its limit."""
    limits, requests = mapping(resources, "limits"), mapping(resources, "requests")
    for field, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            yield from _amount(name, amount, (*path, field, name))
    for name, amount in requests.items():
        if name not in limits or amount != limits[name]:
            yield from _within_limit(name, amount, limits, path)


def is_huge_page(name: str) -> bool:
    """Whether a resource is huge pages of some size, such as hugepages-2Mi."""
    return name.startswith(_HUGE)


def is_extended(name: str) -> bool:
    """Whether a resource is an extended one, such as nvidia.com/gpu."""
    return "/" in name and "kubernetes.io/" not in name


def _amount(name: str, amount: object, path: Path) -> Iterator[Problem]:
    if not isinstance(name, str):
        return
    if not names.fits("qualified-name", name):
        fault = names.fault("qualified-name", name)
        yield Problem("SCHEMA006", f"resource name {names.shown(name)} {fault}", path, on_key=True)
    elif "/" not in name and name not in _STANDARD and not is_huge_page(name):
        help = "the resources of Kubernetes are cpu, memory, ephemeral-storage and hugepages-SIZE"
        message = f"unknown resource {names.shown(name)}; others have a domain, such as nvidia.com/gpu"
        yield Problem("SCHEMA004", message, path, on_key=True, help=help)
    elif is_extended(name) and name.startswith("requests."):
        yield Problem(
            "SCHEMA006", f'resource name "{name}" may not begin with "requests."', path, on_key=True
        )
    units = quantities.parse(amount)
    if units is None:
        return
    if units < 0:
        yield Problem("SCHEMA005", f"{name} must be at least 0, not {names.shown(amount)}", path)
    elif is_extended(name) and not quantities.is_whole(units):
        yield Problem("SCHEMA005", f"{name} must be an integer, not {names.shown(amount)}", path)
    elif is_huge_page(name):
        yield from _whole_pages(name, amount, units, path)


def _whole_pages(name: str, amount: object, units: int, path: Path) -> Iterator[Problem]:
    size = quantities.parse(name.removeprefix(_HUGE))
    if size is None or size <= 0 or not quantities.is_whole(size):
        message = f"{names.shown(name)} names no page size; write hugepages-2Mi or hugepages-1Gi"
        yield Problem("SCHEMA004", message, path, on_key=True)
    elif -(-units // quantities.ONE) * quantities.ONE % size:
        message = f"{name} must be a multiple of {name.removeprefix(_HUGE)}, not {names.shown(amount)}"
        yield Problem("SCHEMA005", message, path)


def _within_limit(name: str, amount: object, limits: dict[str, Any], path: Path) -> Iterator[Problem]:
    if not isinstance(name, str):
        return
    exact = is_extended(name) or is_huge_page(name)
    request, limit = quantities.parse(amount), quantities.parse(limits.get(name))
    at = (*path, "requests", name)
    if name not in limits:
        if exact:
            message = f"{name} is requested ({names.shown(amount)}) without a limit; it needs an equal one"
            yield Problem("SCHEMA003", message, (*path, "limits"), related=((at, "the request"),))
    elif request is not None and limit is not None and (request != limit if exact else request > limit):
        wanted = "be equal to" if exact else "be at most"
        message = f"request of {name} must {wanted} its limit {limits[name]}, not {amount}"
        # The API server refuses such a Pod.
        equal = Change("make it equal to the limit", "set", at, limits[name], safe=True)
        there = ((*path, "limits", name), "the limit")
        yield Problem("SCHEMA009", message, at, related=(there,), change=equal)


def _claims(resources: dict[str, Any], path: Path, claims: set[str]) -> Iterator[Problem]:
    seen: set[tuple[str, str]] = set()
    for index, claim in entries(resources, "claims"):
        name, at = text(claim, "name"), (*path, "claims", index)
        key = (name, text(claim, "request"))
        if key in seen:
            yield Problem("SCHEMA007", f'resource claim "{name}" is named twice', at)
        elif name and name not in claims:
            yield Problem("SCHEMA008", f'no resource claim "{name}" in resourceClaims', (*at, "name"))
        seen.add(key)
