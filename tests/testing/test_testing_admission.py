"""podplan test: examples beside admission policies of Kubernetes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import podplan
from tests.testing.repository import VAP, VAP_TEST, edit


def test_admission_policies_have_examples_beside_them(admission: Path) -> None:
    run = podplan("test", "--require-tests", cwd=admission)
    assert (run.code, run.err) == (0, "")
    assert run.out == "5 tests, no failures, 2 of 2 policies tested, 1 of 1 profiles tested\n"
    run = podplan("test", "rules/no-host-network.test.yaml", cwd=admission)
    assert run.out == "2 tests, no failures, 1 of 1 policies tested\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "spec: {containers",
            "spec: {hostNetwork: true, containers",
            '16:3: VAP:no-host-network good "a Pod with',
        ),
        ("at: [/spec", "at: [/metadata, /spec", "3:3: VAP:no-host-network bad"),
        ("{hostNetwork: null}", "{}", "mended, the rule fires at"),
        (
            "policy: no-host-network",
            "policy: no-hostnetwork",
            "1:9: POLICY001: there is no ValidatingAdmissionPolicy",
        ),
        ("policy: no-host-network", "policy: no-hostnetwork", 'did you mean "no-host-network"?'),
        ("verdict: good", "verdict: fine", "POLICY001: verdict must be"),
    ],
)
def test_examples_of_admission_policies_keep_their_promises(
    admission: Path, old: str, new: str, said: str
) -> None:
    edit(admission / "rules" / "no-host-network.test.yaml", old, new)
    run = podplan("test", cwd=admission)
    assert run.code == 1
    assert said in run.out


def test_an_admission_policy_has_its_examples_in_one_document(admission: Path) -> None:
    (admission / "rules" / "once-more.test.yaml").write_text(VAP_TEST)
    run = podplan("test", cwd=admission)
    assert 'the policy "no-host-network" has examples in rules/no-host-network.test.yaml already' in run.out


def test_an_admission_policy_without_examples_is_told_where_tests_are_required(admission: Path) -> None:
    (admission / "rules" / "no-host-network.test.yaml").unlink()
    assert podplan("test", cwd=admission).code == 0
    run = podplan("test", "--require-tests", "--coverage", cwd=admission)
    assert "VAP:no-host-network: the policy has no bad and no good example" in run.out
    assert "policy VAP:no-host-network (rules/no-host-network.yaml): no example" in run.out


def test_a_note_about_an_admission_policy_is_no_failure(folder: Path) -> None:
    (folder / "rules" / "no-host-network.test.yaml").write_text(VAP_TEST)
    audited = "  auditAnnotations: [{key: a, valueExpression: object.metadata.name}]\n  validations:\n"
    assert "  validations:\n" in VAP
    (folder / "rules" / "no-host-network.yaml").write_text(VAP.replace("  validations:\n", audited))
    assert "POLICY003" not in podplan("test", "rules", cwd=folder).out
    assert podplan("test", "rules", cwd=folder).code == 0
