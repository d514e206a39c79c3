"""Validation of documents against schemas: custom resources, and podplan's own kinds of files.

There is one schema per kind and dialect in schemas/. Source of the fields: the T9k API reference and
docs/evidence/t9k-common.md, docs/evidence/t9k-genericjob.md#fields,
docs/evidence/t9k-pytorchtrainingjob.md#fields, docs/evidence/t9k-deepspeedjob.md#fields,
docs/evidence/t9k-colossalaijob.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from podplan import kubernetes
from podplan.core.findings import Diagnostic, Path, relocate_diagnostic
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple
from podplan.kinds.registry import GroupVersionKind, load_spec, name_of
from podplan.kinds.spec import UNKNOWN_FIELD_RULE, KindSpec
from podplan.schema.bundling import (
    KUBERNETES_KEYWORD,
    PARTIAL_TEMPLATE,
    STRUCTURAL_TEMPLATE,
    build_list_schema,
    bundle_schema,
    load_schema_file,
    load_version_schema,
    schema_name_of,
)
from podplan.schema.identity import (
    LIST_KINDS,
    find_intended_kind,
    identify_dialect,
    identify_kind,
    validate_api_version,
)

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

    from podplan.schema.errors import SchemaError

_MAX_WALKS = 12
_walk_counts: dict[str, int] = {}
_CHANGED_BY = (
    "+"  # in names of schemas for a version of an operator: the schema, and the file with the changes
)


class CrValidation(NamedTuple):
    """The result of validating a CR; diagnostics about its kind come first.

    ``is_lowerable``: the values that lowering reads are valid; there may be unknown fields. ``kind`` and
    ``dialect`` are those of the schema that was used, "" if they cannot be determined.
    """

    diagnostics: list[Diagnostic]
    is_lowerable: bool
    kind: str = ""
    dialect: str = ""


def validate_cr(data: Any, k8s_version: str, operator_versions: Mapping[str, str] = {}) -> CrValidation:
    """Validate a CR of one of the kinds: its own fields, its status, its metadata and templates.

    ``operator_versions`` are those that the configuration states, by API group. ``data`` is plain data as
    read from the file. Of a List only the envelope is validated; its items are separate CRs. Of a kind
    without a schema only apiVersion and kind are validated.
    """
    if not isinstance(data, dict):
        return CrValidation([Diagnostic("SCHEMA002", "a custom resource must be a mapping")], False)
    kind, identity_diagnostics = identify_kind(data)
    identity_diagnostics = validate_api_version(data) + identity_diagnostics
    known = find_intended_kind(data, kind)
    # An alpha version that no controller serves any more had other fields.
    is_former_version = "SCHEMA010" in {one.rule for one in identity_diagnostics} and "alpha" in str(
        data.get("apiVersion")
    )
    if known is None or is_former_version:
        return CrValidation(identity_diagnostics, False, kind)
    is_list = kind != known.kind
    dialect, dialect_diagnostics = ("", []) if is_list else identify_dialect(known, data.get("spec"))
    if dialect_diagnostics:
        metadata_diagnostics, _ = _validate_part(
            "ObjectMeta", data.get("metadata"), ("metadata",), k8s_version
        )
        return CrValidation([*identity_diagnostics, *dialect_diagnostics, *metadata_diagnostics], False, kind)
    spec = load_spec(known)
    version = operator_versions.get(known.group, "")
    name = f"{name_of(known)}List" if is_list else ".".join(filter(None, (schema_name_of(known), dialect)))
    if version in spec.version_schemas and not is_list:
        dialect, name = version, f"{name}{_CHANGED_BY}{spec.version_schemas[version]}"
    named = {**data, "apiVersion": known.api_version, "kind": kind}
    field_diagnostics, schema_errors = _validate(name, kind, named, drop_nulls=True)
    if field_diagnostics and spec.version_schemas and not version and not is_list:
        field_diagnostics = _name_versions(field_diagnostics, name, known, named)
    part_diagnostics, has_pods = _validate_parts(name, kind, data, k8s_version)
    if spec.validate_cr is not None and not is_list:
        field_diagnostics += spec.validate_cr(dialect, data)
    is_lowerable = (
        has_pods
        and not identity_diagnostics
        and not is_list
        and not any(map(_blocks_lowering, schema_errors))
    )
    if field_diagnostics or part_diagnostics:
        from podplan.schema.placeholders import explain_placeholders

        field_diagnostics, part_diagnostics = (
            explain_placeholders(field_diagnostics, data),
            explain_placeholders(part_diagnostics, data),
        )
    if spec.unknown_field_rule != UNKNOWN_FIELD_RULE:
        field_diagnostics, part_diagnostics = (
            [_rename_unknown_field(one, spec) for one in diagnostics]
            for diagnostics in (field_diagnostics, part_diagnostics)
        )
    return CrValidation(
        [*identity_diagnostics, *field_diagnostics, *part_diagnostics], is_lowerable, kind, dialect
    )


def _name_versions(
    diagnostics: list[Diagnostic], name: str, kind: GroupVersionKind, data: Any
) -> list[Diagnostic]:
    """Say in the help which version of the operator takes a field that the default version does not."""
    spec = load_spec(kind)
    refused = {
        version: {one.path for one in _validate(f"{name}{_CHANGED_BY}{changes}", kind.kind, data, True)[0]}
        for version, changes in reversed([*spec.version_schemas.items()])
    }
    command = f"podplan migrate --to {kind.kind}"
    migration = f", or run {command}" if spec.load_conversion_target is not None else ""
    changed = []
    for one in diagnostics:
        ways = {one.path[: end + 1] for end in range(len(one.path))}
        version = next((version for version, paths in refused.items() if not ways & paths), "")
        setting = f'[lowering."{kind.group}"] version = "{version}"'
        help_text = f"version {version} of the operator takes it: set {setting}{migration}"
        changed.append(one._replace(help=help_text) if version else one)
    return changed


def _rename_unknown_field(diagnostic: Diagnostic, spec: KindSpec) -> Diagnostic:
    """The diagnostic of an unknown field under another rule, unless it stands for a field that is missing."""
    replaces_required = diagnostic.fix is not None and diagnostic.fix.safe
    if diagnostic.rule != UNKNOWN_FIELD_RULE or replaces_required:
        return diagnostic
    from podplan.schema.messages import DROPPED_FIELD_HELP

    explained = spec.explain_dropped_field(diagnostic.path) if spec.explain_dropped_field is not None else ""
    help_text = explained or "; ".join(filter(None, (diagnostic.help, DROPPED_FIELD_HELP)))
    return diagnostic._replace(rule=spec.unknown_field_rule, help=help_text)


def validate_against(
    name: str, data: Any, codes: Mapping[str, str] | None = None, drop_nulls: bool = False
) -> list[Diagnostic]:
    """Validate ``data`` against schemas/``name``.json.

    ``codes`` maps SCHEMA codes to the codes that are reported instead. With ``drop_nulls`` a null counts as
    missing, as for the API server. Raises FileNotFoundError: for an unknown name.
    """
    diagnostics, _ = _validate(name, name, data, drop_nulls)
    return [problem._replace(rule=(codes or {}).get(problem.rule, problem.rule)) for problem in diagnostics]


# --- validation of its own fields


def _validate(
    name: str, kind: str, data: Any, drop_nulls: bool
) -> tuple[list[Diagnostic], list[SchemaError]]:
    """Return the diagnostics under a schema, and the errors behind them; ``kind`` selects the old
    spellings."""
    if _is_valid(name, data):
        return [], []

    from podplan.kubernetes.nulls import remove_null_fields
    from podplan.schema.errors import collect_errors, is_unknown_field
    from podplan.schema.messages import build_diagnostics

    schema, validator = _load_schema(name), _build_validator(name)
    schema_errors = collect_errors(validator, schema, data)
    if drop_nulls:
        other_errors = collect_errors(validator, schema, remove_null_fields(data))
        unknown_fields = [fault for fault in schema_errors if is_unknown_field(fault)]
        schema_errors = unknown_fields + [fault for fault in other_errors if not is_unknown_field(fault)]
    return build_diagnostics(schema_errors, schema, kind), schema_errors


def _blocks_lowering(schema_error: SchemaError) -> bool:
    """Whether an error prevents lowering: an unknown field does not, nor does an error in the status."""
    from podplan.schema.errors import is_unknown_field

    return not is_unknown_field(schema_error) and schema_error.path[:1] != ("status",)


def _is_valid(name: str, data: Any) -> bool:
    """Whether ``data`` fits a schema. The first documents are walked, which saves loading a validator."""
    walk_count = _walk_counts[name] = _walk_counts.get(name, 0) + 1
    if walk_count <= _MAX_WALKS:
        from podplan.schema.walker import decide_validity

        if decide_validity(_load_schema(name), data):
            return True
    try:
        return _build_validator(name).is_valid(data)
    except ValueError:
        return False  # it is no JSON, which collect_errors() reports


@cache
def _load_schema(name: str) -> dict[str, Any]:
    if _CHANGED_BY in name:
        return load_version_schema(*name.split(_CHANGED_BY))
    return bundle_schema(
        build_list_schema(LIST_KINDS[name]) if name in LIST_KINDS else load_schema_file(name)
    )


@cache
def _build_validator(name: str) -> Draft202012Validator:
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator(_load_schema(name))


# --- Kubernetes objects inside the CR


def _validate_parts(
    name: str, kind: str, data: dict[str, Any], k8s_version: str
) -> tuple[list[Diagnostic], bool]:
    """Return the diagnostics of metadata, templates and so on, and whether Pods can still be derived from
    them."""
    diagnostics: list[Diagnostic] = []
    has_pods = True
    for steps, definition in _find_kubernetes_objects(name):
        for path, value, holder in _iter_values_at(data, steps):
            partial = definition == PARTIAL_TEMPLATE and holder.get("type") != "worker"
            part_diagnostics, is_usable = _validate_part(definition, value, path, k8s_version, partial)
            diagnostics += part_diagnostics
            has_pods = has_pods and is_usable
    if any(problem.rule == "SCHEMA001" for problem in diagnostics):
        from podplan.schema.messages import explain_old_spellings

        diagnostics = explain_old_spellings(diagnostics, kind)
    return diagnostics, has_pods


def _validate_part(
    definition: str, value: Any, path: Path, k8s_version: str, partial: bool = False
) -> tuple[list[Diagnostic], bool]:
    """Return the diagnostics of one Kubernetes object at ``path``; one that is no mapping is already
    reported."""
    if not isinstance(value, dict):
        return [], True
    if definition in ("PodTemplateSpec", PARTIAL_TEMPLATE):
        part_diagnostics = kubernetes.validate_pod_template(value, k8s_version, partial=partial)
    elif definition == STRUCTURAL_TEMPLATE:
        part_diagnostics = kubernetes.validate_pod_template(value, k8s_version, only_structure=True)
    elif definition == "ObjectMeta":
        part_diagnostics = kubernetes.validate_metadata(value, k8s_version)
    else:
        part_diagnostics = kubernetes.validate_definition(definition, value, k8s_version)
    # Without these there is no Pod, or no name for it; other missing fields do not prevent lowering.
    is_usable = not any(
        problem.rule == "SCHEMA002" or (problem.rule == "SCHEMA003" and problem.path in ((), ("spec",)))
        for problem in part_diagnostics
    )
    if definition in ("PodTemplateSpec", STRUCTURAL_TEMPLATE) or (
        definition == PARTIAL_TEMPLATE and not partial
    ):
        is_usable = is_usable and _has_containers(value)
    return [_relocate_below(path, problem) for problem in part_diagnostics], is_usable


def _has_containers(template: dict[str, Any]) -> bool:
    spec = template.get("spec")
    return isinstance(spec, dict) and spec.get("containers") is not None


def _relocate_below(path: Path, diagnostic: Diagnostic) -> Diagnostic:
    return relocate_diagnostic(diagnostic, lambda at: (*path, *at))


@cache
def _find_kubernetes_objects(name: str) -> tuple[tuple[tuple[str, ...], str], ...]:
    """Return where a document contains Kubernetes objects (the steps, "*" for any), and their definitions."""
    schema = _load_schema(name)

    def iter_objects(node: Any, steps: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
        if not isinstance(node, dict):
            return
        if KUBERNETES_KEYWORD in node:
            yield steps, node[KUBERNETES_KEYWORD]
        if "$ref" in node:
            yield from iter_objects(schema["$defs"][node["$ref"].rpartition("/")[2]], steps)
        for field, below in node.get("properties", {}).items():
            yield from iter_objects(below, (*steps, field))
        for keyword in ("items", "additionalProperties"):
            yield from iter_objects(node.get(keyword), (*steps, "*"))

    return tuple(iter_objects(schema, ()))


def _iter_values_at(
    value: Any, steps: tuple[str, ...], path: Path = (), holder: Any = None
) -> Iterator[tuple[Path, Any, dict[str, Any]]]:
    """Yield the values at ``steps``, each with its path and the mapping that contains it."""
    if not steps:
        yield path, value, holder if isinstance(holder, dict) else {}
        return
    step, *rest = steps
    children: Iterator[tuple[str | int, Any]] = iter(())
    if isinstance(value, list) and step == "*":
        children = iter(enumerate(value))
    elif isinstance(value, dict):
        children = iter(value.items()) if step == "*" else iter([(step, value.get(step))])
    for key, entry in children:
        yield from _iter_values_at(entry, tuple(rest), (*path, key), value)
