"""What findings about a job of a declared kind may claim: a WorkloadMapping assumes what a controller does.

Kubernetes' own rules hold for a Pod template that somebody wrote, so they keep their severity there. What
rests on values that podplan assumes, such as names of Pods, or on a controller, is a warning at most.
"""

from __future__ import annotations

from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.core.findings import Severity
from podplan.core.provenance import find_origin
from podplan.kinds.declared.lower import DECLARED_BASIS
from podplan.lint.document_diagnostics import DocumentDiagnostic


def limit_claims(document_diagnostic: DocumentDiagnostic) -> DocumentDiagnostic:
    """The diagnostic with the severity that it may have."""
    rule = document_diagnostic.rule or BUILTIN_RULES[document_diagnostic.diagnostic.rule]
    if rule.severity < Severity.ERROR or not _rests_on_assumption(document_diagnostic):
        return document_diagnostic
    return document_diagnostic._replace(rule=rule._replace(severity=Severity.WARNING, basis=DECLARED_BASIS))


def _rests_on_assumption(document_diagnostic: DocumentDiagnostic) -> bool:
    """Whether a diagnostic is about more than what somebody wrote."""
    doc, diagnostic = document_diagnostic.doc, document_diagnostic.diagnostic
    if document_diagnostic.level != "lowered":
        return document_diagnostic.rule is not None  # a policy about the job
    return doc.source is None and find_origin(doc, diagnostic.path)[0].behavior is not None
