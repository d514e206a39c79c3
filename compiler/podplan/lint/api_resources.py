"""The resources of the API that podplan looks at, by the names that admission policies call them.

Source: https://kubernetes.io/docs/reference/kubernetes-api/ for the groups and plurals; the training jobs are
the CustomResourceDefinitions of batch.tensorstack.dev (api-reference/).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from podplan.core.typing import Any, NamedTuple
from podplan.kinds.registry import PACKAGES, load_spec


class Resource(NamedTuple):
    """A kind with its group, version and plural, and the level at which podplan looks at it."""

    kind: str
    group: str
    version: str
    plural: str
    level: str


RESOURCES = (
    *(Resource(kind.kind, kind.group, kind.version, load_spec(kind).plural, "cr") for kind in PACKAGES),
    Resource("Pod", "", "v1", "pods", "lowered"),
    Resource("Service", "", "v1", "services", "lowered"),
    Resource("ConfigMap", "", "v1", "configmaps", "lowered"),
    Resource("Secret", "", "v1", "secrets", "lowered"),
    Resource("PodGroup", "scheduler.tensorstack.dev", "v1beta1", "podgroups", "lowered"),
    Resource("TensorBoard", "tensorstack.dev", "v1beta1", "tensorboards", "lowered"),
)


def meant(rules: Iterable[Mapping[str, Any]]) -> dict[Resource, tuple[str, ...]]:
    """The resources that resourceRules are about when something is created, each with the names it must have.

    No names means any name. A rule about a subresource is not about its resource.
    """
    found: dict[Resource, tuple[str, ...]] = {}
    for rule in rules:
        names = tuple(rule.get("resourceNames") or ())
        for resource in RESOURCES:
            if _is_about(rule, resource):
                known = found.get(resource)
                found[resource] = () if not names or known == () else (*(known or ()), *names)
    return found


def _is_about(rule: Mapping[str, Any], resource: Resource) -> bool:
    return (
        _has(rule.get("operations"), "CREATE")
        and _has(rule.get("apiGroups"), resource.group)
        and _has(rule.get("apiVersions"), resource.version)
        and (_has(rule.get("resources"), resource.plural) or "*/*" in (rule.get("resources") or ()))
        and rule.get("scope", "*") in ("*", "Namespaced")
    )


def _has(listed: Any, wanted: str) -> bool:
    return "*" in (listed or ()) or wanted in (listed or ())
