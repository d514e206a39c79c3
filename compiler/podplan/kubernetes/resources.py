"""Requests and limits: known resources, whole numbers, requests within limits.

Source: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/ (extended
resources are integers, not overcommitted, and equal in requests and limits).
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Diagnostic, DocumentFix, Path
from podplan.core.typing import Any
from podplan.kubernetes import names, quantities
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text

_STANDARD_RESOURCES = ("cpu", "memory", "ephemeral-storage")
_HUGE_PAGES_PREFIX = "hugepages-"
HUGE_PAGES_ALONE_MESSAGE = "huge pages also need a request or limit of cpu or memory"


def validate_resources(resources: dict[str, Any], path: Path, claims: set[str]) -> Iterator[Diagnostic]:
    """Yield the diagnostics of ResourceRequirements; ``claims`` are the resource claims of the Pod."""
    yield from validate_amounts(resources, path)
    limits, requests = get_mapping(resources, "limits"), get_mapping(resources, "requests")
    resource_names = [name for name in (*limits, *requests) if isinstance(name, str)]
    if any(map(is_huge_page, resource_names)) and not any(
        name in _STANDARD_RESOURCES[:2] for name in resource_names
    ):
        yield Diagnostic("SCHEMA009", HUGE_PAGES_ALONE_MESSAGE, path)
    if "claims" in resources:
        yield from _validate_claims(resources, path, claims)


def validate_amounts(resources: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    """Yield the diagnostics of the limits and requests, individually and each request against its limit."""
    limits, requests = get_mapping(resources, "limits"), get_mapping(resources, "requests")
    for field, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            yield from _validate_amount(name, amount, (*path, field, name))
    for name, amount in requests.items():
        if name not in limits or amount != limits[name]:
            yield from _validate_within_limit(name, amount, limits, path)


def is_huge_page(name: str) -> bool:
    """Whether a resource is huge pages of some size, such as hugepages-2Mi."""
    return name.startswith(_HUGE_PAGES_PREFIX)


def is_extended(name: str) -> bool:
    """Whether a resource is an extended one, such as nvidia.com/gpu."""
    return "/" in name and "kubernetes.io/" not in name


def _validate_amount(name: str, amount: object, path: Path) -> Iterator[Diagnostic]:
    if not isinstance(name, str):
        return
    if not names.matches_form("qualified-name", name):
        mismatch = names.explain_mismatch("qualified-name", name)
        yield Diagnostic(
            "SCHEMA006", f"resource name {names.format_value(name)} {mismatch}", path, on_key=True
        )
    elif "/" not in name and name not in _STANDARD_RESOURCES and not is_huge_page(name):
        help = "the resources of Kubernetes are cpu, memory, ephemeral-storage and hugepages-SIZE"
        message = f"unknown resource {names.format_value(name)}; others have a domain, such as nvidia.com/gpu"
        yield Diagnostic("SCHEMA004", message, path, on_key=True, help=help)
    elif is_extended(name) and name.startswith("requests."):
        yield Diagnostic(
            "SCHEMA006", f'resource name "{name}" may not begin with "requests."', path, on_key=True
        )
    units = quantities.parse_quantity(amount)
    if units is None:
        return
    if units < 0:
        yield Diagnostic("SCHEMA005", f"{name} must be at least 0, not {names.format_value(amount)}", path)
    elif is_extended(name) and not quantities.is_whole(units):
        yield Diagnostic("SCHEMA005", f"{name} must be an integer, not {names.format_value(amount)}", path)
    elif is_huge_page(name):
        yield from _validate_huge_pages(name, amount, units, path)


def _validate_huge_pages(name: str, amount: object, units: int, path: Path) -> Iterator[Diagnostic]:
    page_size = quantities.parse_quantity(name.removeprefix(_HUGE_PAGES_PREFIX))
    if page_size is None or page_size <= 0 or not quantities.is_whole(page_size):
        message = f"{names.format_value(name)} has no page size; write hugepages-2Mi or hugepages-1Gi"
        yield Diagnostic("SCHEMA004", message, path, on_key=True)
    elif -(-units // quantities.UNITS_PER_ONE) * quantities.UNITS_PER_ONE % page_size:
        message = (
            f"{name} must be a multiple of {name.removeprefix(_HUGE_PAGES_PREFIX)}, not"
            f" {names.format_value(amount)}"
        )
        yield Diagnostic("SCHEMA005", message, path)


def _validate_within_limit(
    name: str, amount: object, limits: dict[str, Any], path: Path
) -> Iterator[Diagnostic]:
    if not isinstance(name, str):
        return
    must_be_equal = is_extended(name) or is_huge_page(name)
    request, limit = quantities.parse_quantity(amount), quantities.parse_quantity(limits.get(name))
    request_path = (*path, "requests", name)
    if name not in limits:
        if must_be_equal:
            message = f"{name} is requested ({names.format_value(amount)}) without an equal limit"
            help_text = f"write it as a limit, too: limits: {{{name}: {names.format_value(amount)}}}"
            yield Diagnostic("SCHEMA003", message, request_path, help=help_text)
    elif (
        request is not None and limit is not None and (request != limit if must_be_equal else request > limit)
    ):
        requirement = "be equal to" if must_be_equal else "be at most"
        message = f"request of {name} must {requirement} its limit {limits[name]}, not {amount}"
        # Unsafe: the limit may be the amount that is wrong, and the Pod then starts with too little.
        fix = DocumentFix("set it to the limit", "set", request_path, limits[name])
        related_limit = ((*path, "limits", name), "the limit")
        yield Diagnostic("SCHEMA009", message, request_path, related=(related_limit,), fix=fix)


def _validate_claims(resources: dict[str, Any], path: Path, claims: set[str]) -> Iterator[Diagnostic]:
    seen_claims: set[tuple[str, str]] = set()
    for index, claim in get_entries(resources, "claims"):
        name, claim_path = get_text(claim, "name"), (*path, "claims", index)
        key = (name, get_text(claim, "request"))
        if key in seen_claims:
            yield Diagnostic("SCHEMA007", f'resource claim "{name}" is listed twice', claim_path)
        elif name and name not in claims:
            yield Diagnostic(
                "SCHEMA008", f'no resource claim "{name}" in resourceClaims', (*claim_path, "name")
            )
        seen_claims.add(key)
