"""Offline validation of built-in Kubernetes objects, as the API server validates them.

A schema decides about the structure; an object that fails it is explained field by field. Rules across fields
follow in plain Python. Supported are Pod, Service, ConfigMap and Secret of 1.24 to 1.37, any of their
definitions by name, and the two platform kinds that lowering also creates.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Diagnostic, relocate_diagnostic
from podplan.core.suggestions import suggest_phrase
from podplan.core.typing import Any
from podplan.core.wording import add_article
from podplan.kubernetes import schemas
from podplan.kubernetes.schemas import DEFAULT_VERSION

__all__ = [
    "DEFAULT_VERSION",
    "has_schema",
    "supported_kinds",
    "supported_versions",
    "validate_definition",
    "validate_metadata",
    "validate_object",
    "validate_pod_template",
]

_PLATFORM_GROUPS = {
    "PodGroup": "scheduler.tensorstack.dev/v1beta1",
    "TensorBoard": "tensorstack.dev/v1beta1",
}
_CORE_KINDS = ("ConfigMap", "Pod", "Secret", "Service")
_MAX_WALKS = 12
_walk_counts: dict[tuple[str, str], int] = {}
_RELAXED_SERVICE_NAMES_SINCE = 36  # KEP-5311: from 1.36 on a Service name may begin with a digit


def supported_versions() -> tuple[str, ...]:
    """Return the Kubernetes versions that have schemas, oldest first."""
    return schemas.SUPPORTED_VERSIONS


def supported_kinds() -> list[tuple[str, str]]:
    """Return the (apiVersion, kind) pairs that ``validate_object`` supports."""
    return [
        *(("v1", kind) for kind in _CORE_KINDS),
        *((group, kind) for kind, group in _PLATFORM_GROUPS.items()),
    ]


def has_schema(api_version: object, kind: object) -> bool:
    """Whether podplan knows what an object of a kind may have besides metadata."""
    return (api_version, kind) in supported_kinds()


def validate_object(obj: object, version: str = DEFAULT_VERSION) -> list[Diagnostic]:
    """Return the diagnostics for which an API server of ``version`` rejects ``obj``; empty if it accepts it.

    ``obj`` is plain data of any shape. Raises ValueError: for a version without schemas.
    """
    minor_version = schemas.parse_minor_version(version)
    if not isinstance(obj, dict):
        return validate_definition("Pod", obj, version)
    group, kind = obj.get("apiVersion"), obj.get("kind")
    if group == "v1" and isinstance(kind, str) and kind in _CORE_KINDS:
        return _validate(kind, obj, version, lambda data: _validate_core_object(kind, data, minor_version))
    if isinstance(kind, str) and kind in _PLATFORM_GROUPS and _PLATFORM_GROUPS[kind] == group:
        from podplan.kubernetes import t9k_objects

        return _validate(kind, obj, version, t9k_objects.validate_t9k_object)
    return [_diagnose_unknown_kind(obj)]


def validate_pod_template(
    template: object, version: str = DEFAULT_VERSION, *, partial: bool = False, only_structure: bool = False
) -> list[Diagnostic]:
    """Return the diagnostics of a PodTemplateSpec inside another object; paths begin at the template.

    ``partial`` allows a template without containers, for one that a controller completes. With
    ``only_structure`` the rules that span fields are left to its Pods.
    """
    minor_version = schemas.parse_minor_version(version)
    diagnostics = _validate(
        "PodTemplateSpec",
        template,
        version,
        lambda data: () if only_structure else _validate_template(data, minor_version),
    )
    if partial:
        return [problem for problem in diagnostics if not _lacks_containers(problem)]
    return diagnostics


def validate_definition(name: str, value: object, version: str = DEFAULT_VERSION) -> list[Diagnostic]:
    """Return the diagnostics of a value under one definition, such as "EnvVar", "ServicePort" or
    "ObjectMeta".

    Raises ValueError: for an unknown version. Raises KeyError: for a definition that it does not have.
    """
    minor_version = schemas.parse_minor_version(version)
    return _validate(name, value, version, lambda data: _validate_definition_rules(name, data, minor_version))


def validate_metadata(metadata: object, version: str = DEFAULT_VERSION) -> list[Diagnostic]:
    """Return the diagnostics of the metadata of a custom resource, which needs a name; paths begin at the
    metadata."""
    from podplan.kubernetes.metadata import validate_object_meta

    return _validate(
        "ObjectMeta",
        metadata,
        version,
        lambda data: validate_object_meta(data, (), "dns-subdomain", required=True),
    )


def _validate(name: str, value: object, version: str, check_rules: Any) -> list[Diagnostic]:
    """Validate the structure, then call ``check_rules`` on the data without nulls; each diagnostic once."""
    diagnostics: list[Diagnostic] = []
    if not _is_valid(name, value, version):
        from podplan.kubernetes import nulls, structure

        schema = schemas.load_definition(name, version)
        value = nulls.remove_nulls(schema, value, version)
        diagnostics += structure.validate_structure(schema, value, version)
    if isinstance(value, dict):
        diagnostics += check_rules(value)
    return list(dict.fromkeys(diagnostics)) if len(diagnostics) > 1 else diagnostics


def _is_valid(name: str, value: object, version: str) -> bool:
    """Whether the structure is valid.

    Walker and validator agree. The first documents are walked, because building the validator costs as much
    as a dozen walks, and loading its library as fifty.
    """
    walk_count = _walk_counts[name, version] = _walk_counts.get((name, version), 0) + 1
    if walk_count > _MAX_WALKS:
        return schemas.is_valid(name, value, version)
    from podplan.kubernetes import structure

    diagnostic = next(
        structure.validate_structure(schemas.load_definition(name, version), value, version), None
    )
    return diagnostic is None


def _validate_core_object(kind: str, obj: dict[str, Any], minor_version: int) -> Iterator[Diagnostic]:
    from podplan.kubernetes import metadata

    name_form = "dns-subdomain"
    if kind == "Service":
        name_form = "dns-label" if minor_version >= _RELAXED_SERVICE_NAMES_SINCE else "dns-1035-label"
    if isinstance(obj.get("metadata"), dict):
        yield from metadata.validate_object_meta(obj["metadata"], ("metadata",), name_form, required=True)
    spec = obj.get("spec")
    if kind == "Pod" and isinstance(spec, dict):
        from podplan.kubernetes import pods

        yield from pods.validate_pod_spec(spec, ("spec",), minor_version)
    elif kind == "Service" and isinstance(spec, dict):
        from podplan.kubernetes import services

        yield from services.validate_service_spec(spec, ("spec",))
    elif kind in ("ConfigMap", "Secret"):
        from podplan.kubernetes import config_maps

        yield from (
            config_maps.validate_config_map(obj) if kind == "ConfigMap" else config_maps.validate_secret(obj)
        )


def _validate_template(template: dict[str, Any], minor_version: int) -> Iterator[Diagnostic]:
    from podplan.kubernetes import metadata, pods

    if isinstance(template.get("metadata"), dict):
        yield from metadata.validate_object_meta(template["metadata"], ("metadata",))
    if isinstance(template.get("spec"), dict):
        yield from pods.validate_pod_spec(template["spec"], ("spec",), minor_version)


def _validate_definition_rules(name: str, value: dict[str, Any], minor_version: int) -> Iterator[Diagnostic]:
    """Yield the diagnostics of the rules across fields of a single definition."""
    from podplan.kubernetes import containers, environment, metadata, pods, resources, services

    if name == "ObjectMeta":
        yield from metadata.validate_object_meta(value, ())
    elif name == "EnvVar":
        for diagnostic in environment.validate_environment({"env": [value]}, ()):
            yield relocate_diagnostic(diagnostic, lambda at: at[2:])
    elif name == "ResourceRequirements":
        yield from resources.validate_resources(value, (), _collect_claims(value))
    elif name == "PodSpec":
        yield from pods.validate_pod_spec(value, (), minor_version)
    elif name == "PodTemplateSpec":
        yield from _validate_template(value, minor_version)
    elif name == "ServiceSpec":
        yield from services.validate_service_spec(value, ())
    elif name == "ContainerPort":
        yield from containers.validate_ip_address(str(value.get("hostIP") or ""), ("hostIP",))


def _collect_claims(value: dict[str, Any]) -> set[str]:
    """Return the claims that ResourceRequirements name: without the Pod they cannot be checked."""
    from podplan.kubernetes.accessors import get_entries, get_text

    return {get_text(claim, "name") for _, claim in get_entries(value, "claims")}


def _lacks_containers(diagnostic: Diagnostic) -> bool:
    if diagnostic.path == ("spec", "containers"):
        return diagnostic.rule == "SCHEMA005"
    return diagnostic.rule == "SCHEMA003" and (
        (diagnostic.path == ("spec",) and '"containers"' in diagnostic.message)
        or (diagnostic.path == () and '"spec"' in diagnostic.message)
    )


def _diagnose_unknown_kind(obj: dict[str, Any]) -> Diagnostic:
    from podplan.kubernetes import messages, names

    version, kind = obj.get("apiVersion"), obj.get("kind")
    if kind is None:
        return messages.diagnose_missing_field("kind", ())
    if version is None:
        return messages.diagnose_missing_field("apiVersion", ())
    expected_versions = [known for known, name in supported_kinds() if name == kind]
    if expected_versions:
        message = (
            f"apiVersion of {add_article(kind)} is {expected_versions[0]}, not {names.format_value(version)}"
        )
        return Diagnostic("SCHEMA010", message, ("apiVersion",))
    hint = suggest_phrase(str(kind), (name for _, name in supported_kinds()))
    return Diagnostic(
        "SCHEMA010",
        f"unknown kind {names.format_value(kind)} of {names.format_value(version)}{hint}",
        ("kind",),
    )
