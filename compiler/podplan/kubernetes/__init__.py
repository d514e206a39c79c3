"""Kubernetes' own objects, checked as the API server checks them, without one.

A schema gives the verdict on structure; what fails it is explained field by field. Rules that span fields
follow in plain Python. Supported are Pod, Service, ConfigMap and Secret of 1.24 to 1.37, any
definition of theirs by name, and the two platform kinds that lowering makes besides.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Problem, moved
from podplan.core.suggestions import did_you_mean
from podplan.core.typing import Any
from podplan.kubernetes import schemas
from podplan.kubernetes.schemas import DEFAULT_VERSION

__all__ = [
    "DEFAULT_VERSION",
    "check",
    "check_definition",
    "check_metadata",
    "check_pod_template",
    "kinds",
    "versions",
]

_PLATFORM = {
    "PodGroup": "scheduler.tensorstack.dev/v1beta1",
    "TensorBoard": "tensorstack.dev/v1beta1",
}
_CORE = ("ConfigMap", "Pod", "Secret", "Service")
_WALKED_FIRST = 12
_walks: dict[tuple[str, str], int] = {}
_RELAXED_SERVICE_NAMES = 36  # KEP-5311: from 1.36 on a Service name may begin with a digit


def versions() -> tuple[str, ...]:
    """The Kubernetes versions that have schemas, oldest first."""
    return schemas.VERSIONS


def kinds() -> list[tuple[str, str]]:
    """The (apiVersion, kind) pairs that ``check`` knows."""
    return [*(("v1", kind) for kind in _CORE), *((group, kind) for kind, group in _PLATFORM.items())]


def check(obj: object, version: str = DEFAULT_VERSION) -> list[Problem]:
    """The problems for which an API server of ``version`` refuses ``obj``; empty when it is accepted.

    ``obj`` is plain data of any shape. Raises ValueError for a version that has no schemas.
    """
    minor = schemas.minor(version)
    if not isinstance(obj, dict):
        return check_definition("Pod", obj, version)
    group, kind = obj.get("apiVersion"), obj.get("kind")
    if group == "v1" and isinstance(kind, str) and kind in _CORE:
        return _checked(kind, obj, version, lambda data: _core(kind, data, minor))
    if isinstance(kind, str) and kind in _PLATFORM and _PLATFORM[kind] == group:
        from podplan.kubernetes import t9k_objects

        return _checked(kind, obj, version, t9k_objects.check)
    return [_unknown_kind(obj)]


def check_pod_template(
    template: object, version: str = DEFAULT_VERSION, *, partial: bool = False
) -> list[Problem]:
    """The problems of a PodTemplateSpec inside another object; paths begin at the template.

    ``partial`` allows a template without containers, for one that a controller completes.
    """
    minor = schemas.minor(version)
    found = _checked("PodTemplateSpec", template, version, lambda data: _template(data, minor))
    if partial:
        return [problem for problem in found if not _lacks_containers(problem)]
    return found


def check_definition(name: str, value: object, version: str = DEFAULT_VERSION) -> list[Problem]:
    """The problems of a value under one definition, such as "EnvVar", "ServicePort" or "ObjectMeta".

    Raises ValueError for an unknown version and KeyError for a definition that it does not have.
    """
    minor = schemas.minor(version)
    return _checked(name, value, version, lambda data: _definition(name, data, minor))


def check_metadata(metadata: object, version: str = DEFAULT_VERSION) -> list[Problem]:
    """The problems of the metadata of a custom resource, which has a name; paths begin at the metadata."""
    from podplan.kubernetes.metadata import check

    return _checked(
        "ObjectMeta", metadata, version, lambda data: check(data, (), "dns-subdomain", required=True)
    )


def _checked(name: str, value: object, version: str, rules: Any) -> list[Problem]:
    """Structure first, then ``rules`` on the data without nulls; each problem once."""
    found: list[Problem] = []
    if not _is_valid(name, value, version):
        from podplan.kubernetes import nulls, structure

        schema = schemas.definition(name, version)
        value = nulls.without_nulls(schema, value, version)
        found += structure.explain(schema, value, version)
    if isinstance(value, dict):
        found += rules(value)
    return list(dict.fromkeys(found)) if len(found) > 1 else found


def _is_valid(name: str, value: object, version: str) -> bool:
    """Whether the structure is right. Walk and validator agree; the first documents are walked, since
    building the validator costs as much as a dozen walks, and loading its library as fifty."""
    walks = _walks[name, version] = _walks.get((name, version), 0) + 1
    if walks > _WALKED_FIRST:
        return schemas.is_valid(name, value, version)
    from podplan.kubernetes import structure

    problem = next(structure.explain(schemas.definition(name, version), value, version), None)
    return problem is None


def _core(kind: str, obj: dict[str, Any], minor: int) -> Iterator[Problem]:
    from podplan.kubernetes import metadata

    form = "dns-subdomain"
    if kind == "Service":
        form = "dns-label" if minor >= _RELAXED_SERVICE_NAMES else "dns-1035-label"
    if isinstance(obj.get("metadata"), dict):
        yield from metadata.check(obj["metadata"], ("metadata",), form, required=True)
    spec = obj.get("spec")
    if kind == "Pod" and isinstance(spec, dict):
        from podplan.kubernetes import pods

        yield from pods.check(spec, ("spec",), minor)
    elif kind == "Service" and isinstance(spec, dict):
        from podplan.kubernetes import services

        yield from services.check(spec, ("spec",))
    elif kind in ("ConfigMap", "Secret"):
        from podplan.kubernetes import config_maps

        yield from config_maps.config_map(obj) if kind == "ConfigMap" else config_maps.secret(obj)


def _template(template: dict[str, Any], minor: int) -> Iterator[Problem]:
    from podplan.kubernetes import metadata, pods

    if isinstance(template.get("metadata"), dict):
        yield from metadata.check(template["metadata"], ("metadata",))
    if isinstance(template.get("spec"), dict):
        yield from pods.check(template["spec"], ("spec",), minor)


def _definition(name: str, value: dict[str, Any], minor: int) -> Iterator[Problem]:
    """The rules across fields that belong to a definition by itself."""
    from podplan.kubernetes import containers, environment, metadata, pods, resources, services

    if name == "ObjectMeta":
        yield from metadata.check(value, ())
    elif name == "EnvVar":
        for problem in environment.check({"env": [value]}, ()):
            yield moved(problem, lambda at: at[2:])
    elif name == "ResourceRequirements":
        yield from resources.check(value, (), _claims(value))
    elif name == "PodSpec":
        yield from pods.check(value, (), minor)
    elif name == "PodTemplateSpec":
        yield from _template(value, minor)
    elif name == "ServiceSpec":
        yield from services.check(value, ())
    elif name == "ContainerPort":
        yield from containers.address(str(value.get("hostIP") or ""), ("hostIP",))


def _claims(value: dict[str, Any]) -> set[str]:
    """The claims that ResourceRequirements name: by themselves they cannot be wrong."""
    from podplan.kubernetes.accessors import entries, text

    return {text(claim, "name") for _, claim in entries(value, "claims")}


def _lacks_containers(problem: Problem) -> bool:
    if problem.path == ("spec", "containers"):
        return problem.rule == "SCHEMA005"
    return problem.rule == "SCHEMA003" and (
        (problem.path == ("spec",) and '"containers"' in problem.message)
        or (problem.path == () and '"spec"' in problem.message)
    )


def _unknown_kind(obj: dict[str, Any]) -> Problem:
    from podplan.kubernetes import messages, names

    version, kind = obj.get("apiVersion"), obj.get("kind")
    if kind is None:
        return messages.missing("kind", ())
    if version is None:
        return messages.missing("apiVersion", ())
    right = [known for known, name in kinds() if name == kind]
    if right:
        message = f"apiVersion of a {kind} is {right[0]}, not {names.shown(version)}"
        return Problem("SCHEMA010", message, ("apiVersion",))
    hint = did_you_mean(str(kind), (name for _, name in kinds()))
    return Problem(
        "SCHEMA010", f"unknown kind {names.shown(kind)} of {names.shown(version)}{hint}", ("kind",)
    )
