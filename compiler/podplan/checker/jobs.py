"""The findings of jobs: diagnostics of their plans, and violations of policies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

from podplan.checker.affected_findings import depends_on_any
from podplan.checker.config_maps import inline_config_maps
from podplan.checker.packed_store import JobSource
from podplan.checker.placeholders import is_about_placeholder
from podplan.checker.rebuild import build_lowered_job, build_object_job
from podplan.checker.run_state import CheckRun, count_objects
from podplan.core.builtin_rules import (
    CONTRADICTION_RULE,
    INVALID_REFERENCE_RULE,
    LARGE_CRD_RULE,
    QUEUE_OBJECT_RULE,
    QUOTA_KEY_RULE,
    Rule,
)
from podplan.core.findings import Diagnostic, Finding, Severity, value_at
from podplan.core.provenance import DocumentPath, TracedDocument, trace_to_source
from podplan.core.typing import TYPE_CHECKING
from podplan.kinds.common.gitops_tools import ARGOCD_SYNC_OPTIONS, ARGOCD_SYNC_WAVE
from podplan.kinds.spec import KindSpec, find_other_manager
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.aggregation import Fold, aggregate_findings
from podplan.lint.analysis.jobs import find_kind_spec
from podplan.lint.location import find_source_location, locate
from podplan.lint.policy_runner import Variants, apply_policies, find_missing_input, find_undecidable_policies
from podplan.lint.rule_selection import find_enforced_level
from podplan.lint.target import LoweredJob, cache_latest
from podplan.pipeline import JobPlan, iter_job_plans, validate_object
from podplan.redaction.hints import may_hold_secret
from podplan.workspace.documents import ClassifiedDocument, identify_object, is_resource_quota

if TYPE_CHECKING:
    from podplan.lint.suppressions import Suppression
    from podplan.redaction.redactor import Redactor
    from podplan.workspace.loader import Loader

# A file may have many documents, each of which asks for the text of all.
_may_hold_secret = cache_latest(may_hold_secret)
EXTENDS_LABEL = "this profile extends it"
# What is counted as not checked; the second if all errors are about parts that another tool provides.
BROKEN_CR = "lowered objects: the CR has errors"
INCOMPLETE_CR = "lowered objects: another tool completes the CR"
# API groups of PodGroups that podplan has no schema of.
POD_GROUP_PREFIXES = ("scheduling.volcano.sh/", "scheduling.x-k8s.io/")
_QUEUED = "kueue"  # the trait that rules about queues ask for
# Rules by which the API server refuses Pods, whoever creates them.
_NAMESPACE_RULES, _POD_SECURITY = ("SCHED090", "SCHED091"), "SEC"
CLAIM, NAMESPACE, DEPLOYMENT = "PersistentVolumeClaim", "Namespace", "Deployment"
SERVICE_ACCOUNT = "ServiceAccount"
SECRET_MAKERS, SERVER_KINDS = ("ExternalSecret", "SealedSecret"), (DEPLOYMENT, "StatefulSet")
CRD = "CustomResourceDefinition"
# https://kubernetes.io/docs/concepts/overview/working-with-objects/annotations/
_MAX_ANNOTATION_BYTES = 256 * 1024
# Sync options by which Argo CD writes no annotation with the whole object.
_WITHOUT_ANNOTATION = ("ServerSideApply=true", "Replace=true")


def check_plans(
    job_plans: Iterable[JobPlan],
    run: CheckRun,
    job_source: JobSource | None = None,
    is_only_document: bool = False,
    is_named: bool = True,
) -> list[Finding]:
    """Return the findings of all variants of one document; equal ones are aggregated.

    ``job_source`` is where the document came from, if that is a file that does not change.
    ``is_only_document`` is whether the file has no other documents, so that it depends on what this one does.
    ``is_named`` is false for a job without a name of its own, which is compared with no other.
    """
    fold = Fold()
    annotated: dict[str, list[Suppression]] = {}
    variants: Variants | None = None
    file = ""
    variant_ids: list[str] = []
    jobs = 0
    of_profile = False
    get_redactor = _Secrets(run.settings.param_values)
    is_unaffected = False
    for plan in job_plans:
        plan = inline_config_maps(plan, run.reader)
        file = plan.item.doc.name
        if plan.cr is not None:
            annotated.update(run.suppression_tracker.annotations(file, plan.cr))
        if plan.variant_id is not None:
            variant_ids.append(plan.variant_id)
        count_objects(run, file, plan.cr is not None)
        run.counts["lowered"] += sum(group.replicas for group in plan.replica_groups)
        object_identity = identify_object(plan.cr.data) if plan.cr is not None else None
        if (job := _find_lowered_job(plan, run)) is not None:
            if is_named:
                run.cross_job_index.add_job(job, job_source and job_source._replace(job_index=jobs))
            jobs += 1
            variants = variants or Variants(run.suppression_tracker.resolve_rules(file).policies)
            variants.add(job)
        is_unaffected = is_only_document and _is_unaffected(plan, run)
        policy_diagnostics = _apply_policies(job, file, run) if job is not None and not is_unaffected else ()
        for seen in _limit_and_relate(plan, (*plan.diagnostics, *policy_diagnostics)):
            fold.add(seen, plan.variant_id, object_identity)
        was = job.base_cr if job is not None else None
        docs = [plan.item.doc, plan.profile, plan.cr, was, *(one.doc for one in plan.references)]
        docs += [seen.doc for seen in plan.diagnostics if plan.profile is None]
        get_redactor.add(
            docs, _find_complete_text(plan.item.doc) if was is None and not plan.references else None
        )
        of_profile = of_profile or (job is not None and job.profile is not None)
    # Policies about a profile as a whole, if all its variants are present.
    if is_unaffected:
        run.not_checked["policies for files that the change does not affect"] += 1
    elif variants is not None and jobs == len(variant_ids) and run.settings.environments == "all":
        for one in variants.seen():
            for id_ in variant_ids:
                fold.add(one, id_)
    if not fold:
        return []
    plan_findings = fold.findings(get_redactor.redactor(), variant_ids)
    run.store_secrets(plan_findings, get_redactor.redactor)
    if of_profile and (run.settings.environments != "all" or run.settings.param_values):
        plan_findings = list(map(_mark_fix_unsafe, plan_findings))
    return run.suppression_tracker.without_annotated(annotated, plan_findings)


def check_embedded_job(item: ClassifiedDocument, run: CheckRun) -> list[Finding]:
    """Return the findings about the spec of a job in a document that creates it under a name that is not
    known."""
    findings = check_plans(iter_job_plans(item, run.settings, run.reader), run, is_named=False)
    spec_path = trace_to_source(item.doc, ("spec",))[-1].path
    return [one for one in findings if one.location.path[: len(spec_path)] == spec_path]


def _is_unaffected(plan: JobPlan, run: CheckRun) -> bool:
    """Whether the findings of policies about a job are left out of the report anyway.

    A job that refers to documents is always checked: jobs with equal findings there are reported together.
    """
    return (
        run.changed_files is not None
        and not plan.references
        and not depends_on_any(plan.item.doc.name, run.changed_files, run.reader.references)
    )


def _limit_and_relate(plan: JobPlan, seen: Iterable[Diagnostic]) -> Iterable[Diagnostic]:
    """Yield the diagnostics of a job with the severity that its kind allows, related to the job if in a
    referenced document, and to the profile if in a base."""
    if plan.item.declared_kind is not None:
        from podplan.lint.declared_kinds import limit_claims

        seen = [limit_claims(one) for one in seen]
    seen = (_relate_to_profile(one, plan) for one in seen)
    return [_relate_to_job(one, plan) for one in seen] if plan.references else seen


def _relate_to_profile(seen: Diagnostic, plan: JobPlan) -> Diagnostic:
    """Return the diagnostic; if it is in a base, the profile that extends it is a related place."""
    extends = ("spec", "extends")
    if value_at(plan.item.doc.data, extends) is None:
        return seen
    from podplan.profile.extends import EXTENDABLE_KINDS

    source = find_source_location(seen.doc, seen.path) if seen.doc is not None else None
    if (
        source is None
        or source.location.file == plan.item.doc.name
        or get_mapping({"": source.steps[-1].doc.data}, "").get("kind") not in EXTENDABLE_KINDS
    ):
        return seen
    place = DocumentPath(plan.item.doc, extends), EXTENDS_LABEL
    return seen._replace(related_places=(*seen.related_places, place))


def _relate_to_job(seen: Diagnostic, plan: JobPlan) -> Diagnostic:
    """Return the diagnostic; if it is in a document that the CR refers to, the CR is a related place."""
    source = find_source_location(seen.doc, seen.path) if seen.doc is not None else None
    on_the_way = {id(step.doc) for step in source.steps} if source is not None else set()
    reference = next((one.reference for one in plan.references if id(one.doc) in on_the_way), None)
    if reference is None or plan.cr is None:
        return seen
    place = DocumentPath(plan.cr, reference.path), f"this {plan.cr.data['kind']} uses it"
    return seen._replace(related_places=(*seen.related_places, place))


class _Secrets:
    """The secrets of a document, collected from the documents of one plan after the other.

    Those of the last plan are collected only for a redactor: most documents have one plan and no finding.
    """

    def __init__(self, sets: Mapping[str, str]) -> None:
        self._sets = sets
        self._values: set[str] = set()
        self._last_docs: Iterable[TracedDocument | None] = ()
        self.redactor = cache(self._redactor)

    def add(self, docs: Iterable[TracedDocument | None], text: str | None) -> None:
        """Add documents; ``text`` is the text that contains all of them, None if there are several."""
        self._collect()
        if text is None or self._sets or _may_hold_secret(text):
            self._last_docs = docs

    def _collect(self) -> None:
        if self._last_docs:
            from podplan.lint.finding_redaction import secrets_behind

            self._values.update(secrets_behind(self._last_docs))
            self._last_docs = ()

    def _redactor(self) -> Redactor | None:
        """Build the redactor for them and for ``--set`` flags, when all documents are added."""
        self._collect()
        if not self._values and not self._sets:
            return None
        from podplan.redaction.detection import iter_flag_secrets
        from podplan.redaction.redactor import Redactor

        return Redactor([*iter_flag_secrets(self._sets), *self._values])


def _mark_fix_unsafe(finding: Finding) -> Finding:
    """Mark the fix of a finding as unsafe, because its effect on other variants of the profile is unknown."""
    return finding._replace(fix=finding.fix._replace(safe=False)) if finding.fix is not None else finding


def check_plain_object(
    item: ClassifiedDocument, run: CheckRun, job_source: JobSource | None = None
) -> list[Finding]:
    """Return the findings of a Kubernetes object."""
    count_objects(run, item.doc.name)
    job = build_object_job(item, run.settings)
    run.cross_job_index.add_job(job, job_source)
    policies = run.suppression_tracker.resolve_rules(item.doc.name).policies
    # Checks never quote values of a Secret, and redacting short values would garble the message.
    docs = [item.doc] if item.doc.data.get("kind") != "Secret" else []
    get_redactor = make_redactor_getter(docs, text=_find_complete_text(item.doc))
    diagnostics = [*validate_object(item.doc, run.settings), *apply_policies(policies, job)]
    object_findings = aggregate_findings(diagnostics, get_redactor, identify_object(item.doc.data))
    run.store_secrets(object_findings, get_redactor)
    return run.suppression_tracker.apply_annotations(item.doc.name, [item.doc], object_findings)


def check_queued_object(item: ClassifiedDocument, run: CheckRun) -> list[Finding]:
    """Return what the rules about queues report of an object that Kueue queues and that is no training
    job."""
    doc = item.doc
    source = trace_to_source(doc, ())[-1].doc.source
    if source is None or "kueue" not in source.text:
        return []
    from podplan.cluster.queued_objects import find_queued_object, lower_queued_pods

    queued = find_queued_object(doc)
    if queued is None or queued.job is None:
        return []
    integration = queued.job.integration
    kind_spec = KindSpec("", "", traits=frozenset((_QUEUED,)), load_queue_integration=lambda: integration)
    cr = queued.job.place.doc
    job = LoweredJob(
        cr,
        (),
        kubernetes_version=run.settings.kubernetes_version,
        gitops_tool=run.settings.gitops_tool,
        declared_kind=kind_spec,
        cluster=run.reader.find_cluster(doc.name, run.settings.cluster_paths),
    )
    policies = run.suppression_tracker.resolve_rules(doc.name).policies
    diagnostics = list(apply_policies(tuple(one for one in policies if _QUEUED in one.scope.needs), job))
    with_pods = job._replace(groups=tuple(lower_queued_pods(queued)))
    level = find_enforced_level(with_pods)
    policies = run.suppression_tracker.resolve_rules(doc.name, level).policies
    of_pods = tuple(
        one
        for one in policies
        if one.rule.code in _NAMESPACE_RULES
        or (level and _is_of_pod_security(one.rule) and doc.data.get("kind") != "Pod")
    )
    diagnostics += apply_policies(of_pods, with_pods)
    findings = aggregate_findings(diagnostics, make_redactor_getter([doc]), identify_object(doc.data))
    written = [one for one in findings if not is_about_placeholder(one, doc)]
    return run.suppression_tracker.apply_annotations(doc.name, [doc], written)


def _is_of_pod_security(rule: Rule) -> bool:
    """Whether a rule is a control of the Pod Security Standard that a namespace enforces."""
    return rule.code.startswith(_POD_SECURITY) and rule.severity is Severity.ERROR


def check_cluster_object(item: ClassifiedDocument, run: CheckRun) -> list[Finding]:
    """Return why an object of Kueue is refused, which keys of a ResourceQuota count nothing, which flags of
    an operator are not applied, and which CRDs are too large for a client-side apply."""
    count_objects(run, item.doc.name)
    kind = item.doc.data.get("kind")
    if kind == DEPLOYMENT:
        found = _diagnose_operator(item.doc, run)
    elif kind == CRD:
        found = _diagnose_large_crd(item.doc, run)
    else:
        found = _diagnose_cluster_object(item)
    diagnostics = [one.in_document("lowered", item.doc) for one in found]
    findings = aggregate_findings(
        diagnostics, make_redactor_getter([item.doc]), identify_object(item.doc.data)
    )
    return run.suppression_tracker.apply_annotations(item.doc.name, [item.doc], findings)


def _diagnose_cluster_object(item: ClassifiedDocument) -> Iterator[Diagnostic]:
    if is_resource_quota(item):
        from podplan.cluster.namespace_limits import is_counted

        for key in get_mapping(item.doc.data.get("spec"), "hard"):
            if not is_counted(str(key)):
                message = f"{key} counts nothing: a ResourceQuota counts extended resources as requests.{key}"
                path = ("spec", "hard", key)
                yield Diagnostic(QUOTA_KEY_RULE, message, path, True, f"write requests.{key}")
        return
    from podplan.cluster.refusals import iter_dropped_fields, iter_refusals

    for one in iter_refusals(item.doc.data):
        yield Diagnostic(QUEUE_OBJECT_RULE, one.message, one.path, help=one.help)
    for field_path, name in iter_dropped_fields(item.doc.data):
        message = f"{field_path[-1]} is a field of v1beta1, and the API server drops it"
        yield Diagnostic("SCHEMA012", message, field_path, True, f"write {name}")


def _diagnose_large_crd(crd: TracedDocument, run: CheckRun) -> Iterator[Diagnostic]:
    """Yield a CRD that does not fit into the annotation by which a client-side apply remembers it.

    Source: https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/#server-side-apply.
    """
    import json

    size = len(json.dumps(crd.data, separators=(",", ":"), default=str, ensure_ascii=False).encode())
    if size <= _MAX_ANNOTATION_BYTES:
        return
    applications = run.reader.find_documents(crd.name, ("Application", "ApplicationSet"))
    own = str(get_mapping(crd.data.get("metadata"), "annotations").get(ARGOCD_SYNC_OPTIONS, ""))
    if any(
        option in text
        for option in _WITHOUT_ANNOTATION
        for text in (own, *(str(one.data) for one in applications))
    ):
        return
    message = (
        f"the CRD has {size:,} bytes, and Argo CD keeps it in an annotation, which has at most"
        f" {_MAX_ANNOTATION_BYTES:,}: the sync fails"
    )
    help_text = f"set the annotation {ARGOCD_SYNC_OPTIONS}: ServerSideApply=true"
    yield Diagnostic(LARGE_CRD_RULE, message, ("metadata", "name"), help=help_text)


def _diagnose_operator(deployment: TracedDocument, run: CheckRun) -> Iterator[Diagnostic]:
    """Yield the flags of an operator that the configuration or another Deployment contradicts."""
    from podplan.cluster.operators import OperatorOptions, explain_unapplied, iter_stated

    settings = run.settings
    options = run.reader.find_operator_options(deployment.name, settings.cluster_paths) or OperatorOptions()
    for one in iter_stated(deployment):
        reason = explain_unapplied(one, options, settings.lowering_options, settings.lowering_locations)
        if reason:
            message = f"{one.written} has no effect on lowering: {reason}"
            help_text = "correct the one that is wrong"
            yield Diagnostic(CONTRADICTION_RULE, message, one.place.path, help=help_text)


def diagnose_contradictions(inventory: TracedDocument, reader: Loader) -> list[Diagnostic]:
    """Return the values of an inventory that objects below its root state differently."""
    from podplan.cluster.contradictions import COMPARED_KINDS, iter_contradictions

    documents = reader.find_documents(inventory.name, COMPARED_KINDS)
    return [
        Diagnostic(
            CONTRADICTION_RULE,
            f"{'.'.join(map(str, one.path[1:]))} is {one.stated}, and the {one.kind} in git states"
            f" {one.other}; podplan uses the inventory",
            one.path,
            help="correct the one that is wrong",
            related_places=((one.place.document_path, f"the {one.kind}"),),
        ).in_document("profile", inventory)
        for one in iter_contradictions(inventory, documents)
    ]


def index_prerequisite(item: ClassifiedDocument, run: CheckRun, job_source: JobSource) -> None:
    """Index an object that is not checked, but that jobs need or that restricts them: a claim, a service
    account, what a Secret is made of, a server, a PodGroup, a NetworkPolicy, or a namespace with a wave."""
    data = item.doc.data
    kind = data.get("kind") if isinstance(data, dict) else None
    is_in_wave = kind == NAMESPACE and ARGOCD_SYNC_WAVE in get_mapping(
        get_mapping(data, "metadata"), "annotations"
    )
    is_pod_group = kind == "PodGroup" and get_text(data, "apiVersion").startswith(POD_GROUP_PREFIXES)
    is_network_policy = kind == "NetworkPolicy" and get_text(data, "apiVersion").startswith(
        "networking.k8s.io/"
    )
    is_needed = kind in (CLAIM, SERVICE_ACCOUNT) and data.get("apiVersion") == "v1"
    is_needed = is_needed or (kind in SECRET_MAKERS and "/" in get_text(data, "apiVersion"))
    is_needed = is_needed or (kind in SERVER_KINDS and data.get("apiVersion") == "apps/v1")
    if is_needed or is_pod_group or is_network_policy or is_in_wave:
        run.cross_job_index.add_job(build_object_job(item, run.settings), job_source)


def build_cross_job_findings(job_number: int, diagnostic: Diagnostic, run: CheckRun) -> list[Finding]:
    """Return the findings of a cross-job policy about one job, if the policy is enabled for its file."""
    job = run.cross_job_index.get_job(job_number)
    cr = job.cr
    assert cr is not None
    file = locate(cr, ()).location.file
    rule = next(
        (
            one.rule
            for one in run.suppression_tracker.resolve_rules(file).policies
            if one.rule.code == diagnostic.rule
        ),
        None,
    )
    if rule is None:
        return []
    limited = diagnostic._replace(graded_rule=rule)
    if job.declared_kind is not None:
        from podplan.lint.declared_kinds import limit_claims

        limited = limit_claims(limited)
    get_redactor = make_redactor_getter([cr, job.profile], run.settings.param_values)
    job_findings = aggregate_findings([limited], get_redactor, identify_object(cr.data))
    run.store_secrets(job_findings, get_redactor)
    related_files = tuple(
        filter(None, (run.cross_job_index.get_file(job_number), *sorted(set(diagnostic.related_files))))
    )
    return [
        one._replace(subject_files=related_files)
        for one in run.suppression_tracker.apply_annotations(file, [cr], job_findings)
        if not is_about_placeholder(one, cr)
    ]


def _find_lowered_job(plan: JobPlan, run: CheckRun) -> LoweredJob | None:
    """Return the lowered job of a plan; None, which is counted, if it was not lowered: policies do not
    apply."""
    if plan.variant_id is None:
        if plan.failed_environments:
            run.not_checked["CR: the profile has errors"] += len(plan.failed_environments)
            run.unlowered_files.add(plan.item.doc.name)
        return None
    if not plan.is_lowered:
        run.not_checked[_describe_missing_lowering(plan)] += 1
        run.unlowered_files.add(plan.item.doc.name)
        return None
    job = build_lowered_job(plan, run.settings, run.base_crs, run.reader)
    kind_spec = find_kind_spec(job)
    if kind_spec is not None and job.cr is not None and find_other_manager(kind_spec, job.cr.data):
        run.not_checked["Pods: managedBy gives the job to another controller"] += 1
    return job


def make_redactor_getter(
    docs: Iterable[TracedDocument | None], param_values: Mapping[str, str] = {}, text: str | None = None
) -> Callable[[], Redactor | None]:
    """Return a function that builds the redactor for documents and for ``--set`` flags on request.

    ``text`` is the text that contains all documents, None if there are several.
    """

    @cache
    def build_redactor() -> Redactor | None:
        secrets = _Secrets(param_values)
        secrets.add(docs, text)
        return secrets.redactor()

    return build_redactor


def _find_complete_text(doc: TracedDocument) -> str | None:
    """Return the text of the file of a document if it is complete: without base profiles."""
    if doc.source is None or "extends" in get_mapping(doc.data, "spec"):
        return None
    return doc.source.text


def _apply_policies(job: LoweredJob, file: str, run: CheckRun) -> list[Diagnostic]:
    """Return the diagnostics of the policies about a job."""
    policies = run.suppression_tracker.resolve_rules(file, find_enforced_level(job)).policies
    for policy in find_undecidable_policies(policies, job):
        run.suppression_tracker.undecided_rules.add(policy.rule.code)
        if find_missing_input(policy, job) == "base":
            run.rules_without_base.add(policy.rule.code)
    return list(apply_policies(policies, job))


def _describe_missing_lowering(plan: JobPlan) -> str:
    if any(seen.rule == "CR900" for seen in plan.diagnostics):
        return "lowered objects: the kind is not lowered yet"
    if any(seen.rule in ("CR901", "CR902") for seen in plan.diagnostics):
        return "lowered objects: a document that the CR refers to is not known"
    if any(seen.rule == INVALID_REFERENCE_RULE for seen in plan.diagnostics):
        return "lowered objects: a document that the CR refers to has errors"
    return BROKEN_CR if plan.cr else "CR: the profile has errors"
