"""A WorkloadMapping as a KindSpec, and the replica types that it finds in a CR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.builtin_rules import MISMATCH_RULE
from podplan.core.findings import Diagnostic, Path
from podplan.core.limits import MAX_POD_TEMPLATES, LimitExceeded, limit_exceeded
from podplan.core.path_syntax import FieldNotFound, find_step, split_steps
from podplan.core.provenance import Cursor, TracedDocument, root_cursor
from podplan.core.suggestions import suggest_phrase
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.common.merge import TracedTree, merge_tree, unwrap_tree
from podplan.kinds.registry import FAMILIES, GroupVersionKind
from podplan.kinds.spec import KindSpec, Reference, References
from podplan.kinds.workload_mapping.known_controllers import load_known_controller
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts

MAPPING_KIND = "WorkloadMapping"

WILDCARD = "*"
# Path steps that are too general for the name of a replica type.
_GENERIC_STEPS = ("spec", "template", "podTemplate", "podTemplateSpec", "replicaSpecs", "tasks")
_DEFAULT_NAME = "replica"
_ENTRY_NAMES = ("name", "type")


class DeclaredReplicaType(NamedTuple):
    """A replica type of a CR; ``entry`` is its entry in the mapping.

    ``template`` is the Pod template: in the CR, or in the document that the CR refers to; ``tree`` is the
    template with the overrides of the CR merged. ``replicas`` is the path of their number in the CR, and
    ``pods_per_replica`` that of the Pods of each; both may be missing.
    """

    name: str
    entry: Cursor
    template: Cursor
    tree: TracedTree
    replicas: Cursor
    pods_per_replica: Cursor


class MappingMismatch(NamedTuple):
    """A path of a mapping that does not fit a CR: the path in the mapping, and the place where it was
    applied."""

    diagnostic: Diagnostic
    place: Cursor
    label: str


def build_kind_spec(mapping: TracedDocument) -> KindSpec:
    """Return the kind that a WorkloadMapping declares; its form is validated before a CR is lowered by it."""
    spec = get_mapping(mapping.data, "spec")
    controller = load_known_controller(get_text(spec, "group"), get_text(spec, "kind"))
    integration = controller.queue_integration if controller is not None else None
    traits = {text for _, text in get_texts(spec, "traits")}
    traits |= controller.traits if controller is not None else set()
    return KindSpec(
        plural=get_text(spec, "plural") or f"{get_text(spec, 'kind').lower()}s",
        option_prefix="",
        list_references=lambda cr: tuple(_iter_references(cr, spec)),
        traits=frozenset(traits),
        declaration=mapping,
        validate_cr=None if controller is None else lambda _dialect, cr: controller.validate_cr(cr),
        load_queue_integration=None if integration is None else lambda: integration,
    )


def declares(mapping: TracedDocument, kind: GroupVersionKind) -> bool:
    """Whether a WorkloadMapping declares a kind."""
    spec = get_mapping(mapping.data, "spec")
    versions = spec.get("versions")
    return (get_text(spec, "group"), get_text(spec, "kind")) == (kind.group, kind.kind) and (
        not isinstance(versions, list) or kind.version in versions
    )


def list_declared_kinds(mapping: TracedDocument) -> list[GroupVersionKind]:
    """Return the kinds that a valid WorkloadMapping declares: one for each version, with "" for any."""
    spec = mapping.data["spec"]
    return [GroupVersionKind(spec["group"], version, spec["kind"]) for version in spec.get("versions", [""])]


def find_referring_kinds(documents: list[TracedDocument], specs: list[KindSpec]) -> Iterator[str]:
    """Yield the names of the kinds that some documents declare, or whose CRs may refer to them."""
    own = {get_text(doc.data, "kind") for doc in documents if isinstance(doc.data, dict)}
    for spec in specs:
        declares_here = any(doc.source is not None and doc.data == _data_of(spec) for doc in documents)
        if declares_here or own.intersection(kind for _, kind in list_template_kinds(spec)):
            yield get_text(get_mapping(_data_of(spec), "spec"), "kind")


def list_template_kinds(spec: KindSpec) -> list[tuple[str, str]]:
    """Return group and kind of the documents with templates of a declared kind."""
    declared = get_mapping(_data_of(spec), "spec")
    sources = (get_mapping(entry, "templateFrom") for _, entry in get_entries(declared, "replicaTypes"))
    return [(get_text(source, "group"), get_text(source, "kind")) for source in sources if source]


def _data_of(spec: KindSpec) -> Any:
    """Return the WorkloadMapping of a declared kind, as data."""
    return spec.declaration.data if spec.declaration is not None else {}


def diagnose_mapping(mapping: Mapping[str, Any]) -> list[Diagnostic]:
    """Return the diagnostics of a mapping that fits its schema, independent of any CR."""
    diagnostics: list[Diagnostic] = []
    spec = mapping["spec"]
    family = next((one for one in FAMILIES if one.group == spec["group"]), None)
    if family is not None:
        message = f"podplan lowers or reports the kinds of {family.group} itself; this mapping is not used"
        diagnostics.append(Diagnostic(MISMATCH_RULE, message, ("spec", "group"), help="remove the mapping"))
    from podplan.kinds.traits import TRAITS

    for number, trait in get_texts(spec, "traits"):
        if trait not in TRAITS:
            message = f'there is no trait "{trait}"{suggest_phrase(trait, TRAITS)}'
            diagnostics.append(Diagnostic(MISMATCH_RULE, message, ("spec", "traits", number)))
    for number, entry in enumerate(spec["replicaTypes"]):
        bound = len([step for step in _steps_of(entry, "template") if step == WILDCARD])
        if "templateFrom" in entry and "template" not in entry:
            bound = len([step for step in _steps_of(entry["templateFrom"], "name") if step == WILDCARD])
        for path, text in _iter_paths(entry):
            at = ("spec", "replicaTypes", number, *path)
            try:
                wildcards = split_steps(text).count(WILDCARD)
            except FieldNotFound as error:
                diagnostics.append(Diagnostic(MISMATCH_RULE, str(error), at))
                continue
            if wildcards > bound:
                message = f'"{text}" has {wildcards} × [*] and the path of the template has {bound}'
                help_text = "each [*] stands for the same entry as in the path of the template"
                diagnostics.append(Diagnostic(MISMATCH_RULE, message, at, help=help_text))
    return diagnostics


def find_replica_types(
    cr: Cursor, references: References, mapping: Cursor
) -> tuple[list[DeclaredReplicaType], list[MappingMismatch]]:
    """Return the replica types of a CR, and the paths that do not fit.

    Raises LimitExceeded: if there are too many templates.
    """
    replica_types: list[DeclaredReplicaType] = []
    mismatches: list[MappingMismatch] = []
    for entry in mapping.get("spec", "replicaTypes").entries():
        found = list(_iter_matches(cr, references, entry, mismatches, MAX_POD_TEMPLATES - len(replica_types)))
        replica_types += found
    # A CR without templates is a matter of the controller where podplan knows that.
    if not replica_types and not mismatches and mapping.doc.source is not None:
        message = "no path of this WorkloadMapping finds anything in this CR"
        diagnostic = Diagnostic(MISMATCH_RULE, message, (*mapping.path, "spec", "replicaTypes"))
        mismatches.append(MappingMismatch(diagnostic, cr, "in this CR"))
    return replica_types, mismatches


def _iter_matches(
    cr: Cursor, references: References, entry: Cursor, mismatches: list[MappingMismatch], most: int
) -> Iterator[DeclaredReplicaType]:
    reference_path = entry.get("templateFrom", "name")
    path_field = reference_path if reference_path.exists else entry.get("template")
    steps = split_steps(path_field.value)
    matched = False
    for number, (path, bound) in enumerate(iter_places(cr.value, steps)):
        if number >= most:
            message = f"a CR has more than {MAX_POD_TEMPLATES:,} Pod templates by its WorkloadMapping"
            raise LimitExceeded(limit_exceeded("pod-templates", message), cr.doc.name)
        matched = True
        place = cr.get(*path)
        template, overlay = place, None
        if reference_path.exists:
            referenced = references[place.path]
            inner_field = entry.get("templateFrom", "template")
            template = _find_place(referenced, inner_field.value_or("template"), ())
            overlay = _find_place(cr, entry.get("template").value, bound)
            overlay = overlay if overlay.exists else None
            path_field = inner_field if inner_field.exists else entry.get("templateFrom")
        if not _is_pod_template(template.value):
            where = "" if template.exists else "nothing, so "
            message = f"this path finds {where}no Pod template: a template has spec.containers"
            diagnostic = Diagnostic(MISMATCH_RULE, message, path_field.path)
            mismatches.append(MappingMismatch(diagnostic, template, "here"))
            continue
        merged = merge_tree(template, overlay) if overlay is not None else template
        if overlay is not None and not _has_pod_spec(merged):
            message = "what the CR has at this path leaves no Pod template of the document that it refers to"
            diagnostic = Diagnostic(MISMATCH_RULE, message, entry.get("template").path)
            mismatches.append(MappingMismatch(diagnostic, overlay, "here"))
            continue
        mismatches += _find_missing_values(cr, entry, bound, place)
        replicas, pods = (
            _find_place(cr, entry.get(field).value, bound) for field in ("replicas", "podsPerReplica")
        )
        name = _name_type(cr, entry, path, bound)
        yield DeclaredReplicaType(name, entry, template, merged, replicas, pods)
    if not matched and entry.get("optional").value is not True:
        message = f'"{path_field.value}" finds nothing in this CR'
        help_text = "correct the path, or write optional: true if CRs may lack it"
        diagnostic = Diagnostic(MISMATCH_RULE, message, path_field.path, help=help_text)
        mismatches.append(MappingMismatch(diagnostic, cr, "in this CR"))


def _has_pod_spec(tree: TracedTree) -> bool:
    """Whether a merged template is still a mapping with a spec."""
    fields = unwrap_tree(tree)
    return isinstance(fields, dict) and isinstance(unwrap_tree(fields.get("spec")), dict)


def _find_missing_values(cr: Cursor, entry: Cursor, bound: Path, place: Cursor) -> Iterator[MappingMismatch]:
    """Yield the paths of a number or a name that have no value at an existing replica type."""
    helps = {"replicas": "correct the path, or write defaultReplicas", "nameFrom": "correct the path"}
    for field, help_text in helps.items():
        text = entry.get(field).value
        has_default = field == "replicas" and entry.get("defaultReplicas").exists
        if text is not None and not has_default and not _find_place(cr, text, bound).exists:
            message = f'"{text}" finds nothing in this CR'
            diagnostic = Diagnostic(MISMATCH_RULE, message, entry.get(field).path, help=help_text)
            yield MappingMismatch(diagnostic, place, "for this replica type")


def _is_pod_template(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("spec"), dict) and "containers" in value["spec"]


def _name_type(cr: Cursor, entry: Cursor, path: Path, bound: Path) -> str:
    """Return the name of a replica type: from the mapping, else the key or the entry with the template."""
    if entry.get("name").exists:
        return str(entry.get("name").value)
    named = _find_place(cr, entry.get("nameFrom").value, bound).value
    if isinstance(named, str) and named:
        return named
    if entry.get("templateFrom").exists and not bound:
        return _DEFAULT_NAME
    if bound:
        last = bound[-1]
        if isinstance(last, str):
            return last
        holder = cr.get(*path[: len(path) - tuple(reversed(path)).index(last)])
        names = (holder.get(key).value for key in _ENTRY_NAMES)
        return next((name for name in names if isinstance(name, str) and name), str(last))
    return next((str(step) for step in reversed(path) if step not in _GENERIC_STEPS), _DEFAULT_NAME)


def _iter_references(cr: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[Reference]:
    """Yield the documents with templates that a CR refers to."""
    root = root_cursor(TracedDocument("", cr))
    namespace = root.get("metadata", "namespace").value
    number = 0
    for entry in spec["replicaTypes"]:
        source = entry.get("templateFrom")
        if source is None:
            continue
        for path, bound in iter_places(cr, split_steps(source["name"])):
            number += 1
            if number > MAX_POD_TEMPLATES:
                message = f"a CR refers to more than {MAX_POD_TEMPLATES:,} documents by its WorkloadMapping"
                raise LimitExceeded(limit_exceeded("pod-templates", message))
            if "namespace" in source:
                namespace = _find_place(root, source["namespace"], bound).value
            name = root.get(*path).value
            yield Reference(
                source["group"],
                source["kind"],
                namespace if isinstance(namespace, str) else "",
                name if isinstance(name, str) else "",
                path,
            )


def iter_places(
    data: Any, steps: list[str], path: Path = (), bound: Path = ()
) -> Iterator[tuple[Path, Path]]:
    """Yield the paths that ``steps`` match, each with the values of its wildcards; nulls do not match."""
    if not steps:
        if data is not None:
            yield path, bound
        return
    step, *rest = steps
    if step != WILDCARD:
        key = find_step(data, step)
        if key is not None:
            yield from iter_places(data[key], rest, (*path, key), bound)
        return
    entries = data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    for entry in entries:
        yield from iter_places(data[entry], rest, (*path, entry), (*bound, entry))


def _find_place(cr: Cursor, text: str | None, bound: Path) -> Cursor:
    """Return the cursor at a path with its wildcards filled in; one at a missing field if there is no
    path."""
    nowhere = Cursor(cr.doc, cr.path, None)
    if text is None:
        return nowhere
    keys = iter(bound)
    place = cr
    for step in split_steps(text):
        key = next(keys, None) if step == WILDCARD else find_step(place.value, step)
        if key is None:
            return nowhere
        place = place.get(key)
    return place


def _steps_of(entry: Mapping[str, Any], field: str) -> list[str]:
    try:
        return split_steps(entry.get(field, ""))
    except FieldNotFound:
        return []


def _iter_paths(entry: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield the paths that an entry of a mapping states, each with its position in the entry."""
    for field in ("template", "replicas", "podsPerReplica", "nameFrom"):
        if field in entry:
            yield (field,), entry[field]
    for field in ("name", "namespace", "template"):
        if field in entry.get("templateFrom", {}):
            yield ("templateFrom", field), entry["templateFrom"][field]
