"""The findings of one file: its text, and each of its documents."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from podplan.checker.internal_errors import iter_until_internal_error
from podplan.checker.jobs import (
    BROKEN_CR,
    CRD,
    DEPLOYMENT,
    INCOMPLETE_CR,
    check_cluster_object,
    check_embedded_job,
    check_plain_object,
    check_plans,
    check_queued_object,
    diagnose_contradictions,
    index_prerequisite,
    make_redactor_getter,
)
from podplan.checker.packed_store import JobSource
from podplan.checker.placeholders import PLACEHOLDERS, is_about_placeholder
from podplan.checker.run_state import CheckRun
from podplan.cluster.kinds import describes_cluster
from podplan.core.builtin_rules import build_file_finding
from podplan.core.findings import Diagnostic, Finding, Location, Severity
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import trace_to_source
from podplan.kubernetes.accessors import get_mapping
from podplan.lint.aggregation import aggregate_findings
from podplan.lint.rule_selection import UNSUPPRESSIBLE_RULES
from podplan.pipeline import diagnose_valid_mapping, iter_job_plans, validate_profile_document
from podplan.workspace.documents import (
    HELM_TEMPLATE,
    PROFILE_GROUP,
    SHARED_CATEGORIES,
    UNCHECKED_CATEGORIES,
    ClassifiedDocument,
    find_declarable_kind,
    has_pod_template,
    identify_object,
    is_helm_template,
    is_queue_object,
    is_resource_quota,
    may_be_rendered,
    mentions_own_api,
)
from podplan.workspace.embedded_jobs import creates_jobs, find_embedded_job, validate_embedding
from podplan.workspace.kustomizations import KUSTOMIZE_PATCH
from podplan.workspace.templates import find_rendered_template, has_template_marks
from podplan.yaml import SourceFile

# What follows a kind with Pod templates that is not checked.
MAPPING_HINT = (
    "; a WorkloadMapping of six lines makes podplan check its Pods: podplan explain WorkloadMapping"
)
# Spark completes the Pods in such files.
_POD_TEMPLATE_FILE = compile_lazily(r"(?i)pod[-_]?template[^/]*\.ya?ml\Z")
_EXPONENT_NUMBER = compile_lazily(
    r"[-+]?(?!0[0-9_])(?=.*[eE_])(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9_]+)(?:[eE][-+]?[0-9]+)?"
)


def iter_file_findings(source: SourceFile, run: CheckRun) -> Iterator[Finding]:
    """Yield the findings of a file with documents that podplan checks, in order; others are counted."""
    file_items = list(run.reader.classify(source))
    # Queues are often in files of templates, whose syntax errors are no mistakes.
    has_own_documents = any(
        item.category not in UNCHECKED_CATEGORIES
        or ((_is_cluster_object(item, run) or creates_jobs(item)) and not source.diagnostics)
        for item in file_items
    )
    is_foreign = any(item.category == "foreign" for item in file_items)
    is_template = is_broken_template(source, file_items)
    if not has_own_documents and (is_foreign or is_template or not mentions_own_api(source.text)):
        run.not_checked.update(
            _describe_unknown_kind(item, run) for item in file_items if not _is_read(item, run)
        )
        if not file_items:
            run.not_checked[describe_unchecked_file(source)] += 1
        if not (is_foreign or is_template or _is_policy_file(source.file, run)):
            text_hash = hash(source.text)
            for number, item in enumerate(file_items):
                index_prerequisite(item, run, JobSource(source.file, number, text_hash=text_hash))
        return
    if run.suppression_tracker.load_suppressions(source):
        run.store_text(source)
    if any(fault.rule in UNSUPPRESSIBLE_RULES for fault in source.diagnostics):
        run.unlowered_files.add(source.file)
    if is_template:
        run.not_checked["part of a template"] += 1
    faults = () if is_template else source.diagnostics
    for fault in (*faults, *_select_hints(source, file_items, run)):
        yield build_syntax_finding(source, fault)
    text_hash = hash(source.text)
    for number, item in enumerate(file_items):
        job_source = JobSource(source.file, number, text_hash=text_hash)
        item_findings = _iter_item_findings(item, job_source, run, is_only_document=len(file_items) == 1)
        known_findings = _without_foreign_parts(item, item_findings, run)
        yield from iter_until_internal_error(known_findings, run, source.file, item.doc)


def _select_hints(
    source: SourceFile, file_items: Iterable[ClassifiedDocument], run: CheckRun
) -> Iterator[Diagnostic]:
    """Yield the scalars of profiles and CRs that Kubernetes reads differently than they look.

    A number such as 1e-4 is intended if the param is declared as a number.
    """
    own_items = [item for item in file_items if item.category not in UNCHECKED_CATEGORIES]
    document_indexes = {index for item in own_items for index in _find_document_index(item)}
    hints = [hint for hint in source.hints if hint.document_index in document_indexes]
    if any(_is_written_number(source, hint) for hint in hints):
        declared_numbers = {
            place
            for item in own_items
            if item.category in ("profile", "base")
            for place in _find_declared_numbers(item, run)
        }
        hints = [
            hint
            for hint in hints
            if (hint.span.start, hint.span.end) not in declared_numbers
            or not _is_written_number(source, hint)
        ]
    yield from hints
    for item in own_items:
        if item.category in ("profile", "base") and item.doc.source is not None:
            from podplan.profile.numbers import iter_shortened_versions

            yield from iter_shortened_versions(item.doc.source)


def _is_written_number(source: SourceFile, hint: Diagnostic) -> bool:
    """Whether a scalar is a number with an exponent or underscores, and neither octal nor a word."""
    text = source.text[hint.span.start : hint.span.end]
    return _EXPONENT_NUMBER.fullmatch(text) is not None


def _find_declared_numbers(item: ClassifiedDocument, run: CheckRun) -> Iterator[tuple[int, int]]:
    """Yield the offsets of numbers in a profile or base profile that a param declares as such."""
    from podplan.profile.extends import merge_bases
    from podplan.profile.numbers import iter_declared_numbers

    source = item.doc.source
    if source is None:
        return
    extended = merge_bases(item.doc, run.reader.load_base, [])
    params = get_mapping(get_mapping(extended.data, "spec"), "params")
    for path in iter_declared_numbers(get_mapping(item.doc.data, "spec"), params):
        span = source.span(("spec", *path))
        yield span.start, span.end


def _find_document_index(item: ClassifiedDocument) -> Iterator[int]:
    source = trace_to_source(item.doc, ())[-1].doc.source
    if source is not None:
        yield source.index


def is_broken_template(source: SourceFile, file_items: Collection[ClassifiedDocument]) -> bool:
    """Whether a file is not valid YAML because it is a template; expressions of profiles are none."""
    if not source.diagnostics:
        return False
    if not file_items and is_helm_template(source.text):
        return True
    return f"{PROFILE_GROUP}/v" not in source.text and has_template_marks(source.text)


def describe_unchecked_file(source: SourceFile) -> str:
    """Return why nothing in a file is checked."""
    if is_helm_template(source.text):
        return HELM_TEMPLATE
    if source.diagnostics:
        return "template" if has_template_marks(source.text) else "not YAML"
    return "empty"


def build_syntax_finding(source: SourceFile, diagnostic: Diagnostic) -> Finding:
    """Build the finding for a diagnostic of the parser."""
    line, column, end_line, end_column, *_ = diagnostic.span
    location = Location(source.file, line, column, end_line, end_column, ())
    return build_file_finding(diagnostic.rule, diagnostic.message, location, diagnostic.help)


def _describe_unknown_kind(item: ClassifiedDocument, run: CheckRun) -> str:
    """Return the kind of a document that is not checked; with Pod templates, also how to declare it."""
    kind = find_declarable_kind(item)
    if kind is None or not has_pod_template(item.doc.data) or run.reader.is_template_kind(item.doc, kind):
        return item.reason
    return f"{kind.kind} ({kind.api_version}{MAPPING_HINT})"


def _is_read(item: ClassifiedDocument, run: CheckRun) -> bool:
    """Whether a document that is not checked itself is read: as a policy, or as a fact about the cluster."""
    data = item.doc.data
    if _is_policy_file(item.doc.name, run):
        return True
    if item.category == "foreign" or not isinstance(data, dict):
        return False
    return describes_cluster(data.get("apiVersion"), data.get("kind"))


def _is_policy_file(file: str, run: CheckRun) -> bool:
    """Whether the documents of a file were read as policies, examples or params, and so checked."""
    policy_texts = run.settings.lint_config.policy_texts
    return bool(policy_texts) and os.path.realpath(file) in {os.path.realpath(one) for one in policy_texts}


def _iter_item_findings(
    item: ClassifiedDocument, job_source: JobSource, run: CheckRun, is_only_document: bool
) -> Iterator[Finding]:
    if _is_cluster_object(item, run):
        yield from check_cluster_object(item, run)
    elif (embedded_job := find_embedded_job(item)) is not None:
        if not _is_policy_file(item.doc.name, run):
            index_prerequisite(item, run, job_source)
        queued = check_queued_object(item, run)
        yield from queued
        reported = {(one.rule, one.location) for one in queued}
        findings = check_embedded_job(embedded_job, run)
        yield from (one for one in findings if (one.rule, one.location) not in reported)
        yield from _iter_embedding_findings(item)
    elif item.category in UNCHECKED_CATEGORIES:
        if not _is_read(item, run):
            run.not_checked[_describe_unknown_kind(item, run)] += 1
        yield from _iter_embedding_findings(item)
        if not _is_policy_file(item.doc.name, run):
            index_prerequisite(item, run, job_source)
            if item.category == "other":
                yield from check_queued_object(item, run)
    elif item.category in SHARED_CATEGORIES:
        run.shared_files.add(item.doc.name)
        yield from find_shared_document_findings(item, run)
    elif item.category == "object":
        yield from check_plain_object(item, run, job_source)
        yield from check_queued_object(item, run)
    elif may_be_rendered(item) and (stale := _check_rendered_cr(item, job_source, run)) is not None:
        yield from stale
    else:
        plans = iter_job_plans(item, run.settings, run.reader)
        yield from check_plans(plans, run, job_source, is_only_document)


def find_shared_document_findings(item: ClassifiedDocument, run: CheckRun) -> list[Finding]:
    """Return the findings of a document that several jobs share, such as an inventory."""
    diagnostics = [problem.in_document("profile", item.doc) for problem in validate_profile_document(item)]
    if item.category == "mapping" and not diagnostics:
        diagnostics += diagnose_valid_mapping(item.doc, run.reader)
    if item.category == "inventory" and not diagnostics:
        diagnostics += diagnose_contradictions(item.doc, run.reader)
    return aggregate_findings(diagnostics, make_redactor_getter([item.doc]))


def _check_rendered_cr(
    item: ClassifiedDocument, job_source: JobSource, run: CheckRun
) -> list[Finding] | None:
    """Return the findings about a rendered CR as such: it may be stale. None for a hand-written CR."""
    from podplan.rendering.header import diagnose_stale_cr, find_source_path, parse_header

    render_header = parse_header(item)
    if render_header is None:
        return None
    source_path = find_source_path(item, render_header)
    run.reader.record_reference(item.doc.name, source_path)
    stale_diagnostic = diagnose_stale_cr(item, render_header, run.settings, run.reader)
    if stale_diagnostic is None:
        run.rendered_crs.append((job_source, os.path.realpath(source_path)))
        return []
    run.not_checked["rendered CR that is stale"] += 1
    return aggregate_findings(
        [stale_diagnostic.in_document("cr", item.doc)],
        make_redactor_getter([item.doc]),
        identify_object(item.doc.data),
    )


def _iter_embedding_findings(item: ClassifiedDocument) -> Iterator[Finding]:
    """Yield what is wrong with a document that creates jobs, apart from the job."""
    if diagnostics := validate_embedding(item):
        located = [one.in_document("cr", item.doc) for one in diagnostics]
        yield from aggregate_findings(located, make_redactor_getter([item.doc]))


def _is_cluster_object(item: ClassifiedDocument, run: CheckRun) -> bool:
    return item.category != "foreign" and (
        is_queue_object(item) or is_resource_quota(item) or _is_operator(item) or _is_crd(item, run)
    )


def _is_crd(item: ClassifiedDocument, run: CheckRun) -> bool:
    """Whether a document is a CustomResourceDefinition that Argo CD applies."""
    data = item.doc.data
    return (
        run.settings.gitops_tool == "argocd"
        and item.category == "other"
        and isinstance(data, dict)
        and data.get("kind") == CRD
    )


def _is_operator(item: ClassifiedDocument) -> bool:
    """Whether a document is a Deployment of an operator whose flags are lowering options."""
    data = item.doc.data
    if item.category != "other" or not isinstance(data, dict) or data.get("kind") != DEPLOYMENT:
        return False
    from podplan.cluster.operators import iter_operator_containers

    return any(True for _ in iter_operator_containers(item.doc))


def _name_template(finding: Finding, file: str, text: str) -> Finding:
    """Return the finding; its message names the Helm template that was rendered there, if there is one."""
    template = find_rendered_template(text, finding.location.line) if finding.location.file == file else ""
    return finding._replace(message=f"{finding.message} (in {template})") if template else finding


def _without_foreign_parts(
    item: ClassifiedDocument, findings: Iterable[Finding], run: CheckRun
) -> Iterator[Finding]:
    """Yield the findings of a CR or object but those about values that another tool provides.

    These are values with placeholders, and all that a fragment lacks because it is merged into another.
    """
    source = item.doc.source
    if item.category not in ("cr", "object") or source is None:
        yield from findings
        return
    broken_count = run.not_checked[BROKEN_CR]
    findings = list(findings)
    kept = list(_iter_own_findings(item, findings, run))
    is_broken = len(kept) == len(findings) or any(found.severity is Severity.ERROR for found in kept)
    if run.not_checked[BROKEN_CR] > broken_count and not is_broken:
        run.not_checked += Counter({BROKEN_CR: -1, INCOMPLETE_CR: 1})
    yield from kept


def _iter_own_findings(item: ClassifiedDocument, findings: list[Finding], run: CheckRun) -> Iterator[Finding]:
    source = item.doc.source
    assert source is not None
    lacks_field = any(found.rule == "SCHEMA003" for found in findings)
    if lacks_field and item.doc.data.get("kind") == "Pod" and _POD_TEMPLATE_FILE.search(source.file):
        run.not_checked["Pod template of another tool"] += 1
        return
    if lacks_field and run.reader.is_unused_below_kustomization(source.file):
        run.not_checked[KUSTOMIZE_PATCH] += 1
        return
    if "\n# Source: " in source.text:
        findings = [_name_template(found, source.file, source.text) for found in findings]
    kept = [found for found in findings if not is_about_placeholder(found, item.doc)]
    if len(kept) < len(findings):
        run.not_checked[PLACEHOLDERS] += 1
    yield from kept
