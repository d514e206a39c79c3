"""The HorizontalPodAutoscaler that a controller creates of an elastic job, or does not.

Source: docs/evidence/training-operator.md#elastic-policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_mapping
from podplan.kubernetes.autoscalers import validate_autoscaler_spec
from podplan.kubernetes.schemas import parse_minor_version
from podplan.lint.analysis.jobs import spec_of
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation


@check()
def refused_autoscaler(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A HorizontalPodAutoscaler that the API server refuses. Value ``what``."""
    minor_version = parse_minor_version(target.job.kubernetes_version)
    for group in target.job.groups:
        if group.doc.data["kind"] != "HorizontalPodAutoscaler":
            continue
        for problem in validate_autoscaler_spec(
            get_mapping(group.doc.data, "spec"), ("spec",), minor_version
        ):
            related = [(group.doc, path, label) for path, label in problem.related]
            yield Violation(
                problem.path, {"what": problem.message}, related, problem.on_key, group.doc, group
            )


@check()
def elastic_policy_ignored(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An elastic policy on which the controller does not act."""
    if spec_of(target.job).get("elasticPolicy"):
        yield Violation(("spec", "elasticPolicy"), at_key=True)
