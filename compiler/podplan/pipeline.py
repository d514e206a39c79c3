"""The pipeline in order; read this first.

profile ─ extend ─ environment ─ matrix ─ expressions ─ compile ─▶ CR ─ lower ─▶ Pods, Services, …
       └──────────── diagnostics on all three, each with the document it is about ────────────┘

A hand-written CR enters at CR. Every step is a pure function from documents to documents; this module calls
them in order and reads the files that a profile refers to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from podplan import kubernetes
from podplan.core.builtin_rules import INVALID_REFERENCE_RULE, MISMATCH_RULE
from podplan.core.errors import EnvironmentNotChosen, UsageError
from podplan.core.findings import Diagnostic, Path, relocate_diagnostic, value_at
from podplan.core.provenance import DocumentPath, TracedDocument, root_cursor, trace_to_source
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.core.typing import TYPE_CHECKING, Any, Literal, NamedTuple
from podplan.kinds.registry import KIND_NAMES, find_kind, load_spec, lower_cr
from podplan.kinds.spec import KindSpec, Reference, References
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.lint_config import LintConfig
from podplan.lint.policy import Policy
from podplan.schema import validate_against, validate_cr
from podplan.schema.identity import find_intended_kind, is_known_but_not_lowered
from podplan.schema.pruning import UNKNOWN_FIELD_RULES, prune_unknown_fields
from podplan.workspace.documents import PROFILE_KINDS, ClassifiedDocument
from podplan.workspace.loader import Loader

if TYPE_CHECKING:
    from podplan.kinds.workload_mapping.mapping import MappingMismatch
    from podplan.profile.resolve import Resolution, Variant

_NOT_LOWERED_HELP = f"podplan lowers {', '.join(KIND_NAMES)}; --ignore CR900 says nothing of the others"
SCHEMA_KINDS = {
    "profile": "JobProfile",
    "base": "JobProfile",
    "inventory": "ClusterInventory",
    "mapping": "WorkloadMapping",
}
# Rules whose findings prevent a CR of a declared kind from being lowered.
_BLOCKING_RULES = (MISMATCH_RULE, "SCHEMA002", "SCHEMA003", "SCHEMA005")
# Rules about fields of a Pod template that do not fit each other.
_CONFLICT_RULES = ("SCHEMA003", "SCHEMA009")


class PipelineSettings(NamedTuple):
    """Settings of a run, from flags and configuration together.

    ``environments`` is "all" for profiles without and under each environment, "each" for under each, or
    names; None is for profiles without environments. ``lowering_locations`` has the file and line of each
    lowering option that the configuration sets. ``inventory_path`` is the path of the ClusterInventory,
    if the user set one, and ``runtime_folders`` have the runtimes of the platform; ``cluster_paths`` are
    where the objects of the cluster are, all of the repository if empty; ``gitops_tool`` is the tool that the
    CRs are rendered for: none, argocd or flux.
    ``policies`` are the enabled ones; ``lint_config`` has exceptions by path and the rules for suppressions.
    """

    kubernetes_version: str = kubernetes.DEFAULT_VERSION
    environments: Literal["all", "each"] | tuple[str, ...] | None = "all"
    param_values: Mapping[str, str] = {}
    lowering_options: LoweringOptions = LoweringOptions()
    lowering_locations: Mapping[str, str] = {}
    inventory_path: str = ""
    runtime_folders: tuple[str, ...] = ()
    cluster_paths: tuple[str, ...] = ()
    gitops_tool: str = "none"
    policies: tuple[Policy, ...] = ()
    lint_config: LintConfig = LintConfig()


class ResolvedReference(NamedTuple):
    """A reference of a CR, and the document that it resolves to."""

    reference: Reference
    doc: TracedDocument


class JobPlan(NamedTuple):
    """One CR, hand-written or compiled from one variant of a profile, with its diagnostics and lowered
    objects.

    ``variant_id`` is the environment and matrix instance, "" for none, and ``profile`` the resolved profile.
    ``inventory`` is the inventory that names in it were looked up in. ``cr`` is None if the profile did not
    compile, and ``is_lowered`` is false if the CR could not be lowered; then ``diagnostics`` say why. A plan
    whose ``variant_id`` is None has the diagnostics of the profile as a whole; ``failed_environments`` are
    then the environments that gave no variant. ``references`` are the documents that the CR refers to.
    ``lowering_options`` are those of the settings, with what the operator of the CR states by its flags.
    """

    item: ClassifiedDocument
    diagnostics: tuple[Diagnostic, ...] = ()
    variant_id: str | None = ""
    environment: str = ""
    failed_environments: tuple[str, ...] = ()
    profile: TracedDocument | None = None
    inventory: TracedDocument | None = None
    cr: TracedDocument | None = None
    replica_groups: tuple[ReplicaGroup, ...] = ()
    is_lowered: bool = False
    references: tuple[ResolvedReference, ...] = ()
    lowering_options: LoweringOptions = LoweringOptions()

    @property
    def referenced_documents(self) -> tuple[TracedDocument, ...]:
        return tuple(one.doc for one in self.references)


def iter_job_plans(item: ClassifiedDocument, settings: PipelineSettings, reader: Loader) -> Iterator[JobPlan]:
    """Yield a plan for every CR of a profile, or for the CR itself, lowered and checked."""
    inventory_path = settings.inventory_path
    if item.category == "podplan":
        unknown_kind = Diagnostic("PROF001", _describe_unknown_kind(item.doc.data), ("kind",))
        yield JobPlan(item, (unknown_kind.in_document("profile", item.doc),))
        return
    if item.category == "cr":
        yield lower_plan(
            JobPlan(item, cr=item.doc, inventory=reader.find_unique_inventory(item.doc, inventory_path)),
            settings,
            reader,
        )
        return
    from podplan.profile.resolve import resolve_profile

    resolution = resolve_profile(
        item.doc,
        load_base=reader.load_base,
        inventory=(
            reader.find_inventory if _may_refer_to_inventory(item.doc) else reader.find_unique_inventory
        )(item.doc, inventory_path),
        environments=settings.environments,
        sets=settings.param_values,
    )
    _reject_unusable_flags(item, settings, resolution)
    # Resolving says more precisely what is wrong with a field than the schema.
    resolved_paths = {
        one.path for one in resolution.diagnostics if one.rule == "PROF001" and one.doc is item.doc
    }
    schema_diagnostics = (
        problem.in_document("profile", item.doc)
        for problem in validate_profile_document(item)
        if problem.path not in resolved_paths
    )
    diagnostics = (
        *schema_diagnostics,
        *(one._replace(level="profile") for one in resolution.diagnostics),
    )
    if diagnostics or resolution.failed:
        yield JobPlan(item, diagnostics, None, failed_environments=resolution.failed)
    for variant in resolution.variants:
        yield compile_variant(item, variant, settings, reader)


def _reject_unusable_flags(
    item: ClassifiedDocument, settings: PipelineSettings, resolution: Resolution
) -> None:
    """Raise UsageError for flags that do not fit the profile, such as an unknown environment."""
    environment_names = ", ".join(resolution.environments)
    if settings.environments is None and environment_names:
        *others, last = (f"-e {name}" for name in resolution.environments)
        choices = f"{', '.join(others)} or {last}" if others else last
        raise EnvironmentNotChosen(f"{item.doc.name} has environments; say which: {choices}")
    for diagnostic in resolution.diagnostics:
        if diagnostic.rule == "PROF014":
            reason = diagnostic.message.partition("; there is ")[0]
            raise UsageError(f"{item.doc.name}: {reason}; it has {environment_names}")
        if diagnostic.rule == "PROF015":
            from podplan.redaction.detection import iter_flag_secrets
            from podplan.redaction.redactor import Redactor

            redacted_message = Redactor(iter_flag_secrets(settings.param_values)).redact_text(
                diagnostic.message
            )
            raise UsageError(f"{item.doc.name}: {redacted_message}")


def compile_variant(
    item: ClassifiedDocument, variant: Variant, settings: PipelineSettings, reader: Loader
) -> JobPlan:
    """Compile one environment and matrix instance of a profile, and lower it."""
    from podplan.kinds.compilation import compile_profile

    compiled = compile_profile(variant.doc, variant.inventory, settings.gitops_tool)
    diagnostics = tuple(problem.in_document("profile", variant.doc) for problem in compiled.diagnostics)
    plan = JobPlan(
        item,
        diagnostics,
        variant.id,
        variant.environment,
        profile=variant.doc,
        inventory=variant.inventory,
        cr=compiled.cr,
    )
    return plan if compiled.cr is None else _name_profile_fields(lower_plan(plan, settings, reader))


def _name_profile_fields(plan: JobPlan) -> JobPlan:
    """Return a plan whose diagnostics about fields that the CR lacks name those of the profile."""
    kind_spec = _find_kind_spec(plan.cr) if plan.cr is not None else None
    if kind_spec is None or not kind_spec.required_profile_fields:
        return plan
    from podplan.kubernetes.messages import diagnose_missing_field

    diagnostics = plan.diagnostics
    for field, (profile_field, remedy) in kind_spec.required_profile_fields.items():
        missing = diagnose_missing_field(field, ("spec",)).message
        named = diagnose_missing_field(profile_field, ("spec",)).message
        diagnostics = tuple(
            one._replace(message=named, help=remedy) if one.message == missing else one for one in diagnostics
        )
    return plan._replace(diagnostics=diagnostics)


def lower_plan(plan: JobPlan, settings: PipelineSettings, reader: Loader) -> JobPlan:
    """Return ``plan`` with its CR checked, lowered if its schema allows it, and the lowered objects
    checked."""
    cr = plan.cr
    assert cr is not None
    settings = settings._replace(lowering_options=_complete_options(plan, cr, settings, reader))
    plan = plan._replace(lowering_options=settings.lowering_options)
    if plan.item.declared_kind is not None:
        return _lower_declared(plan, cr, plan.item.declared_kind, settings, reader)
    operator_versions = settings.lowering_options.operator_versions
    validation = validate_cr(cr.data, settings.kubernetes_version, operator_versions)
    diagnostics = (
        *plan.diagnostics,
        *(problem.in_document("cr", cr) for problem in validation.diagnostics),
    )
    kind = cr.data.get("kind")
    if isinstance(cr.data, dict) and is_known_but_not_lowered(cr.data):
        message = f"{kind} is not lowered yet: nothing of it is checked"
        not_lowered = Diagnostic("CR900", message, ("kind",), help=_NOT_LOWERED_HELP)
        return plan._replace(diagnostics=(*diagnostics, not_lowered.in_document("cr", cr)))
    if not validation.is_lowerable:
        return plan._replace(diagnostics=diagnostics)
    kind_spec = _find_kind_spec(cr)
    pod_group_api_version = kind_spec.pod_group_api_version if kind_spec is not None else ""
    resolved, unresolved = _resolve_references(plan, cr, kind_spec, reader, settings)
    if unresolved:
        return plan._replace(diagnostics=(*diagnostics, *unresolved), references=resolved)
    if kind_spec is not None and kind_spec.validate_references is not None:
        references = build_references(resolved)
        mismatches = list(
            kind_spec.validate_references(root_cursor(cr), references, settings.lowering_options)
        )
        diagnostics = (*diagnostics, *(one.in_document("cr", cr) for one in mismatches))
    pruned = prune_unknown_fields(cr, validation.diagnostics)
    groups = tuple(lower_cr(pruned, build_references(resolved), settings.lowering_options))
    diagnostics = _without_overridden(diagnostics, groups, pruned)
    diagnostics = _without_added_volumes(diagnostics, groups, pruned)
    pruned_parents = {
        problem.path[:-1] for problem in validation.diagnostics if problem.rule in UNKNOWN_FIELD_RULES
    }
    lowered_diagnostics = (
        one
        for group in groups
        for one in validate_object(group.doc, settings, group, pod_group_api_version)
        if not (pruned_parents and _is_caused_by_pruning(one, pruned_parents))
    )
    return plan._replace(
        replica_groups=groups,
        diagnostics=(*diagnostics, *lowered_diagnostics),
        is_lowered=True,
        references=resolved,
    )


def _complete_options(
    plan: JobPlan, cr: TracedDocument, settings: PipelineSettings, reader: Loader
) -> LoweringOptions:
    """Return the lowering options with what the Deployment of the operator states in the repository."""
    options = settings.lowering_options
    stated = reader.find_operator_options(plan.item.doc.file, settings.cluster_paths)
    if stated is None or not isinstance(cr.data, dict):
        return options
    values = stated.build_stated_values(str(cr.data.get("apiVersion")))
    versions = {
        api_version.partition("/")[0]: {"version": by_id["version"].value}
        for api_version, by_id in stated.applied.items()
        if "version" in by_id
    }
    sections = {
        group: {**version, **options.behavior_values.get(group, {})} for group, version in versions.items()
    }
    return options._replace(behavior_values={**options.behavior_values, **sections}, stated_values=values)


def _without_overridden(
    diagnostics: tuple[Diagnostic, ...], groups: Iterable[ReplicaGroup], cr: TracedDocument
) -> tuple[Diagnostic, ...]:
    """Return the diagnostics without conflicts with fields that the controller overwrites in the Pods.

    What the controller writes there is validated in the lowered Pods.
    """
    conflicts = [one for one in diagnostics if one.rule in _CONFLICT_RULES and one.related]
    if not conflicts:
        return diagnostics
    overridden = {
        place.path
        for group in groups
        for origin in group.doc.origins.values()
        for place in origin.overridden
        if place.doc is cr
    }
    return tuple(
        one
        for one in diagnostics
        if one not in conflicts or overridden.isdisjoint(path for path, _ in one.related)
    )


def _without_added_volumes(
    diagnostics: tuple[Diagnostic, ...], groups: Iterable[ReplicaGroup], cr: TracedDocument
) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of a CR without those about volumes that the controller adds to the Pods.

    Which of the Pods have them is validated there.
    """
    if all(one.rule != "SCHEMA008" for one in diagnostics):
        return diagnostics
    volumes = {
        get_text(volume, "name")
        for group in groups
        if group.doc.data["kind"] == "Pod"
        for _, volume in get_entries(get_mapping(group.doc.data, "spec"), "volumes")
    }
    return tuple(one for one in diagnostics if one.level != "cr" or not _mounts_volume(one, cr, volumes))


def _mounts_volume(diagnostic: Diagnostic, doc: TracedDocument, volumes: Collection[str]) -> bool:
    """Whether a diagnostic says that one of the volumes, which a container mounts, is missing."""
    is_about_mount = diagnostic.rule == "SCHEMA008" and "volumeMounts" in diagnostic.path
    return is_about_mount and value_at(doc.data, diagnostic.path) in volumes


def _lower_declared(
    plan: JobPlan, cr: TracedDocument, kind_spec: KindSpec, settings: PipelineSettings, reader: Loader
) -> JobPlan:
    """Return ``plan`` with a CR of a declared kind lowered, as far as its WorkloadMapping fits the CR."""
    from podplan.kinds.workload_mapping.lower import find_added_volumes, find_wrong_counts
    from podplan.kinds.workload_mapping.mapping import diagnose_mapping, find_replica_types

    mapping = kind_spec.declaration
    assert mapping is not None
    if validate_against("WorkloadMapping", mapping.data) or diagnose_mapping(mapping.data):
        message = "the WorkloadMapping of this kind has errors, so its Pods are not known and not checked"
        invalid = Diagnostic(MISMATCH_RULE, message, ("kind",))
        place = (DocumentPath(mapping, ("spec",)), "the WorkloadMapping")
        return plan._replace(diagnostics=(invalid.in_document("cr", cr)._replace(related_places=(place,)),))
    diagnostics = [
        relocate_diagnostic(problem, lambda path: ("metadata", *path)).in_document("cr", cr)
        for problem in kubernetes.validate_metadata(cr.data.get("metadata", {}), settings.kubernetes_version)
    ]
    resolved, unresolved = _resolve_references(plan, cr, kind_spec, reader, settings)
    if unresolved:
        return plan._replace(diagnostics=(*diagnostics, *unresolved), references=resolved)
    references = {**build_references(resolved), (): root_cursor(mapping)}
    replica_types, mismatches = find_replica_types(root_cursor(cr), references, references[()])
    diagnostics += (_locate_mismatch(one, cr, mapping) for one in mismatches)
    diagnostics += (one.in_document("cr", cr) for one in find_wrong_counts(replica_types))
    is_blocked = any(one.rule in _BLOCKING_RULES for one in diagnostics)
    if kind_spec.validate_cr is not None:
        diagnostics += (one.in_document("cr", cr) for one in kind_spec.validate_cr("", cr.data))
    if is_blocked:
        return plan._replace(diagnostics=tuple(diagnostics), references=resolved)
    groups = tuple(lower_cr(cr, references, settings.lowering_options))
    volumes = find_added_volumes(cr.data, mapping.data)
    lowered = [
        one
        for group in groups
        for one in validate_object(group.doc, settings, group)
        if not _mounts_volume(one, group.doc, volumes)
    ]
    return plan._replace(
        replica_groups=groups,
        diagnostics=(*diagnostics, *lowered),
        is_lowered=not any(one.rule == "SCHEMA002" for one in lowered),
        references=resolved,
    )


def _locate_mismatch(mismatch: MappingMismatch, cr: TracedDocument, mapping: TracedDocument) -> Diagnostic:
    """Place a mismatch in the WorkloadMapping, or in the CR if the mapping is podplan's own."""
    if mapping.source is not None:
        located = mismatch.diagnostic.in_document("profile", mapping)
        return located._replace(related_places=((mismatch.place.document_path, mismatch.label),))
    message = f"podplan cannot find Pod templates in this {cr.data.get('kind')}"
    if mismatch.place.path:
        message = "spec.containers is missing in this Pod template"
    return Diagnostic("SCHEMA003", message, mismatch.place.path).in_document("cr", cr)


def _find_kind_spec(cr: TracedDocument) -> KindSpec | None:
    kind = find_kind(cr.data.get("apiVersion"), cr.data.get("kind"))
    return load_spec(kind) if kind is not None else None


def is_job(plan: JobPlan) -> bool:
    """Whether the CR of a plan is a job, and no document that jobs refer to, such as a runtime."""
    spec = plan.item.declared_kind or (_find_kind_spec(plan.cr) if plan.cr is not None else None)
    return spec is None or spec.is_job


def _resolve_references(
    plan: JobPlan, cr: TracedDocument, kind_spec: KindSpec | None, reader: Loader, settings: PipelineSettings
) -> tuple[tuple[ResolvedReference, ...], tuple[Diagnostic, ...]]:
    """Resolve the references of a CR; return the documents, and a diagnostic for each that is not found, or
    that has errors by which the API server refuses it."""
    references = kind_spec.list_references(cr.data) if kind_spec is not None else ()
    resolved: list[ResolvedReference] = []
    unresolved: list[Diagnostic] = []
    for reference in references:
        folders = settings.runtime_folders if reference.is_runtime else ()
        found = reader.find_referenced(reference, plan.item.doc, folders)
        if isinstance(found, Diagnostic):
            unresolved.append(found.in_document("cr", cr))
            continue
        resolved.append(ResolvedReference(reference, found))
        unresolved += (
            one.in_document("cr", cr) for one in _iter_blocking_errors(plan, reference, found, settings)
        )
    return tuple(resolved), tuple(unresolved)


def _iter_blocking_errors(
    plan: JobPlan, reference: Reference, doc: TracedDocument, settings: PipelineSettings
) -> Iterator[Diagnostic]:
    """Yield a diagnostic if a CR that is referred to has errors that prevent lowering, such as a runtime."""
    if find_intended_kind(doc.data, reference.kind) is None:
        return
    validation = validate_cr(
        doc.data, settings.kubernetes_version, settings.lowering_options.operator_versions
    )
    if validation.is_lowerable:
        return
    errors = (
        one
        for one in validation.diagnostics
        if one.rule not in UNKNOWN_FIELD_RULES or (one.fix is not None and one.fix.safe)  # for a required one
    )
    error = next(errors, Diagnostic("", "it has no valid Pod template", ()))
    referrer = plan.cr.data["kind"] if plan.cr is not None else "job"
    message = (
        f'{reference.kind} "{reference.name}" has errors, so the Pods of this {referrer} are not known and'
        f" not checked: {error.message}"
    )
    place = DocumentPath(doc, error.path), f"the {reference.kind}"
    yield Diagnostic(INVALID_REFERENCE_RULE, message, reference.path, related_places=(place,))


def build_references(resolved: Iterable[ResolvedReference]) -> References:
    """Return the documents that a CR refers to by the path of their reference, as lowering reads them."""
    return {one.reference.path: root_cursor(one.doc) for one in resolved}


def _is_caused_by_pruning(diagnostic: Diagnostic, pruned_parents: set[Path]) -> bool:
    """Whether a field is missing in a mapping of the CR from which the API server pruned an unknown one.

    The field that is missing is reported at the CR.
    """
    if diagnostic.rule != "SCHEMA003":
        return False
    steps = trace_to_source(diagnostic.doc, diagnostic.path) if diagnostic.doc is not None else []
    return len(steps) > 1 and steps[1].path in pruned_parents


def validate_object(
    doc: TracedDocument,
    settings: PipelineSettings,
    group: ReplicaGroup | None = None,
    pod_group_api_version: str = "",
) -> Iterator[Diagnostic]:
    """Yield the diagnostics of a lowered object, or of a plain Kubernetes object in the repository.

    A lowered PodGroup of another API group, which the configuration may select, is checked as
    ``pod_group_api_version``, if that is given. Of a lowered object without a schema only the metadata is
    checked, and what its kind demands beside a schema.
    """
    data = doc.data
    if pod_group_api_version and data["kind"] == "PodGroup":
        data = {**data, "apiVersion": pod_group_api_version}
    if group is not None and not kubernetes.has_schema(data["apiVersion"], data["kind"]):
        for diagnostic in kubernetes.validate_metadata(data["metadata"], settings.kubernetes_version):
            located = relocate_diagnostic(diagnostic, lambda at: ("metadata", *at))
            yield located.in_document("lowered", doc, group)
        known = find_kind(data["apiVersion"], data["kind"])
        validate = load_spec(known).validate_cr if known is not None else None
        for diagnostic in validate("", data) if validate is not None else ():
            yield diagnostic.in_document("lowered", doc, group)
        return
    for diagnostic in kubernetes.validate_object(data, settings.kubernetes_version):
        yield diagnostic.in_document("lowered", doc, group)


def validate_profile_document(item: ClassifiedDocument) -> list[Diagnostic]:
    """Validate the form of a profile, a base profile or an inventory, which the API server never sees."""
    return [
        problem._replace(rule="PROF001")
        for problem in validate_against(SCHEMA_KINDS[item.category], item.doc.data)
    ]


def diagnose_valid_mapping(mapping: TracedDocument, reader: Loader) -> list[Diagnostic]:
    """Return the diagnostics of a WorkloadMapping that fits its schema: its paths, and others for the same
    kind."""
    from podplan.kinds.workload_mapping.mapping import diagnose_mapping

    diagnostics = [one.in_document("profile", mapping) for one in diagnose_mapping(mapping.data)]
    first = reader.find_same_declaration(mapping)
    if first is not None:
        message = f"another WorkloadMapping declares {mapping.data['spec']['kind']}; this one is not used"
        same = Diagnostic(MISMATCH_RULE, message, ("spec", "kind"), help="keep one of them")
        place = DocumentPath(first, ("spec", "kind")), "the one that is used"
        diagnostics.append(same.in_document("profile", mapping)._replace(related_places=(place,)))
    return diagnostics


def _describe_unknown_kind(data: Mapping[str, Any]) -> str:
    kind = data.get("kind")
    given_kind = f'no kind "{kind}"' if isinstance(kind, str) else "no kind"
    *names, last_name = PROFILE_KINDS
    return f"podplan knows {given_kind}; there are {', '.join(names)} and {last_name}"


def _may_refer_to_inventory(doc: TracedDocument) -> bool:
    """Whether a profile could refer to the inventory; only then an ambiguous inventory is an error."""
    if doc.source is None:
        return False
    text, span = doc.source.text, doc.source.span(())
    return any(text.find(word, span.start, span.end) >= 0 for word in ("hardware", "inventory", "extends"))
