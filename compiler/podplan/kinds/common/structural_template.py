"""What the API server checks of a Pod template inside a custom resource, more strictly than in a Pod.

A CRD states which lists have unique keys, and refuses a quantity that is a fraction without quotes.
Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy and
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Diagnostic, DocumentFix, Path
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries

# Lists of maps whose key must be unique in a custom resource, and need not be in a Pod.
_UNIQUE_IN_CONTAINER = {"env": "name"}
_UNIQUE_IN_SPEC = {"imagePullSecrets": "name", "hostAliases": "ip"}
_CONTAINER_LISTS = ("containers", "initContainers")


def validate_template(template: Any, path: Path) -> Iterator[Diagnostic]:
    """The problems of a PodTemplateSpec at ``path`` of a custom resource that a Pod would not have."""
    spec = template.get("spec") if isinstance(template, dict) else None
    if not isinstance(spec, dict):
        return
    yield from _iter_repeated(spec, _UNIQUE_IN_SPEC, (*path, "spec"))
    for field in _CONTAINER_LISTS:
        for index, container in get_entries(spec, field):
            container_path = (*path, "spec", field, index)
            yield from _iter_repeated(container, _UNIQUE_IN_CONTAINER, container_path)
            yield from _iter_fractions(container.get("resources"), (*container_path, "resources"))


def _iter_repeated(owner: Mapping[str, Any], keys: Mapping[str, str], path: Path) -> Iterator[Diagnostic]:
    for field, key in keys.items():
        first_paths: dict[Any, Path] = {}
        for index, entry in get_entries(owner, field):
            name, entry_path = entry.get(key), (*path, field, index, key)
            if not isinstance(name, str):
                continue
            if name in first_paths:
                message = (
                    f'{field} has "{name}" twice, which the API server refuses in a custom resource; keep one'
                )
                yield Diagnostic(
                    "SCHEMA007", message, entry_path, related=((first_paths[name], "the first"),)
                )
            first_paths.setdefault(name, entry_path)


def _iter_fractions(resources: Any, path: Path) -> Iterator[Diagnostic]:
    for section in ("limits", "requests"):
        amounts = resources.get(section) if isinstance(resources, dict) else None
        for name, amount in amounts.items() if isinstance(amounts, dict) else ():
            if isinstance(amount, float):
                amount_path = (*path, section, name)
                message = (
                    f"{name} is a number with a fraction, which the API server refuses in a custom resource; "
                    f'write "{amount}", in quotes'
                )
                fix = DocumentFix("put the value in quotes", "quote", amount_path)
                yield Diagnostic("SCHEMA002", message, amount_path, fix=fix)
