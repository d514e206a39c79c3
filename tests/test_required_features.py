"""A check that is skipped, because a job has none of the features that the check requires, finds nothing."""

from __future__ import annotations

import pytest

from podplan.core.findings import Finding
from podplan.lint.checks.index import REQUIRED_FEATURES
from podplan.lint.registry import load_builtin_policies, load_policy_documents
from podplan.tools.repository_tests.examples import find_violations
from tests.rows import each_row

EXAMPLES = {data["id"]: data["examples"] for data in load_policy_documents()}
POLICIES = tuple(one for one in load_builtin_policies() if str(one.body) in REQUIRED_FEATURES)
ALL_FEATURES = frozenset[str]().union(*REQUIRED_FEATURES.values())


def find_all(code: str) -> list[list[Finding]]:
    """Return what the rules that require something find in each example of a rule."""
    return [find_violations(example, POLICIES) for example in EXAMPLES[code]]


@pytest.mark.long
@each_row("code", list(EXAMPLES))
def test_a_check_that_is_skipped_finds_nothing(code: str) -> None:
    findings = find_all(code)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("podplan.lint.policy_runner.list_features", lambda _: ALL_FEATURES)
        assert find_all(code) == findings
