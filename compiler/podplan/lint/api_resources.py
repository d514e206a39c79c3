"""The API resources that podplan checks, by the names that admission policies use.

Source: https://kubernetes.io/docs/reference/kubernetes-api/ for the groups and plurals of built-in objects;
the specs of kinds have those of training jobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from podplan.core.typing import Any, NamedTuple
from podplan.kinds.registry import PACKAGES, load_spec


class ApiResource(NamedTuple):
    """A kind with its group, version and plural, and the level at which podplan looks at it."""

    kind: str
    group: str
    version: str
    plural: str
    level: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified_kind(self) -> str:
        """The kind after its apiVersion."""
        return f"{self.api_version}/{self.kind}"


API_RESOURCES = (
    *(ApiResource(kind.kind, kind.group, kind.version, load_spec(kind).plural, "cr") for kind in PACKAGES),
    ApiResource("Pod", "", "v1", "pods", "lowered"),
    ApiResource("Service", "", "v1", "services", "lowered"),
    ApiResource("ConfigMap", "", "v1", "configmaps", "lowered"),
    ApiResource("Secret", "", "v1", "secrets", "lowered"),
    ApiResource("PodGroup", "scheduler.tensorstack.dev", "v1beta1", "podgroups", "lowered"),
    ApiResource("TensorBoard", "tensorstack.dev", "v1beta1", "tensorboards", "lowered"),
)


def match_resources(rules: Iterable[Mapping[str, Any]]) -> dict[ApiResource, tuple[str, ...]]:
    """The resources that resourceRules are about when something is created, each with the names it must have.

    No names means any name. A rule about a subresource is not about its resource.
    """
    matched: dict[ApiResource, tuple[str, ...]] = {}
    for rule in rules:
        names = tuple(rule.get("resourceNames") or ())
        for resource in API_RESOURCES:
            if _rule_matches(rule, resource):
                known_names = matched.get(resource)
                matched[resource] = () if not names or known_names == () else (*(known_names or ()), *names)
    return matched


def _rule_matches(rule: Mapping[str, Any], resource: ApiResource) -> bool:
    return (
        _includes(rule.get("operations"), "CREATE")
        and _includes(rule.get("apiGroups"), resource.group)
        and _includes(rule.get("apiVersions"), resource.version)
        and (_includes(rule.get("resources"), resource.plural) or "*/*" in (rule.get("resources") or ()))
        and rule.get("scope", "*") in ("*", "Namespaced")
    )


def _includes(values: Any, value: str) -> bool:
    return "*" in (values or ()) or value in (values or ())
