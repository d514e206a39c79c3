"""What findings about a job of a declared kind may claim: a WorkloadMapping assumes what a controller does.

Kubernetes' own rules hold for a Pod template that somebody wrote, so they keep their severity there. What
rests on values that podplan assumes, such as names of Pods, or on a controller, is a warning at most.
"""

from __future__ import annotations

from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.core.findings import Diagnostic, Severity
from podplan.core.provenance import find_origin
from podplan.kinds.workload_mapping.lower import DECLARED_BASIS


def limit_claims(diagnostic: Diagnostic) -> Diagnostic:
    """The diagnostic with the severity that it may have."""
    rule = diagnostic.graded_rule or BUILTIN_RULES[diagnostic.rule]
    if rule.severity < Severity.ERROR or not _rests_on_assumption(diagnostic):
        return diagnostic
    return diagnostic._replace(graded_rule=rule._replace(severity=Severity.WARNING, basis=DECLARED_BASIS))


def _rests_on_assumption(diagnostic: Diagnostic) -> bool:
    """Whether a diagnostic is about more than what somebody wrote."""
    if diagnostic.level != "lowered":
        return diagnostic.graded_rule is not None  # a policy about the job
    doc = diagnostic.doc
    return (
        doc is not None and doc.source is None and find_origin(doc, diagnostic.path)[0].behavior is not None
    )
