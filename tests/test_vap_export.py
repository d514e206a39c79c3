"""What a policy demands of the API server is what it says in check: the export is read back and compared."""

from __future__ import annotations

from typing import Any

import pytest

from podplan.emit import emit
from podplan.lint.catalogue import ours, whole
from podplan.lint.organisation import organisation
from podplan.lint.policy import Policy
from podplan.lint.vap import code as read_back
from podplan.lint.vap_export import export_vap, reasons
from podplan.testing.examples import findings, mended
from tests.command import podplan

RULES = {policy.rule.code: policy for policy in ours()}
EXPORTED = [code for code, reason in reasons(ours()).items() if not reason]
EXAMPLES = {data["id"]: [one for one in data["examples"] if "object" in one] for data in whole()}
OWNER = "tensorstack.dev/owner-kind"


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Policy]:
    """The policies of the export as those of an organisation, by the code of the rule that they come from."""
    folder = tmp_path_factory.mktemp("exported")
    (folder / ".git").mkdir()
    (folder / "podplan.yaml").write_text(emit(export_vap(ours())), encoding="utf-8")
    found = organisation([str(folder)], ())
    assert [problem.message for _, problem in found.problems] == []
    by_name = {policy.rule.code: policy for policy in found.policies}
    return {code: by_name[read_back(f"podplan-{code.lower()}")] for code in EXPORTED}


def of_a_job(example: dict[str, Any]) -> dict[str, Any]:
    """An example whose Pod, written by hand, has the label of a job: the export is about no others."""
    thing = example["object"]
    if thing["kind"] != "Pod":
        return example
    metadata = thing["metadata"]
    labels = {**metadata.get("labels", {}), OWNER: "GenericJob"}
    return {**example, "object": {**thing, "metadata": {**metadata, "labels": labels}}}


def variants(code: str) -> list[dict[str, Any]]:
    """The examples of a policy, the bad ones mended too."""
    bad = [one for one in EXAMPLES[code] if "mended" in one]
    return [of_a_job(one) for one in (*EXAMPLES[code], *map(mended, bad))]


def fired(example: dict[str, Any], policies: list[Policy]) -> set[str]:
    found = {one.rule for one in findings(example, policies)}
    assert not {one for one in found if one.startswith("POLICY")}
    return found & {policy.rule.code for policy in policies}


@pytest.mark.parametrize("code", EXPORTED)
def test_the_twin_refuses_the_bad_examples_and_no_others(code: str, twins: dict[str, Policy]) -> None:
    for example in EXAMPLES[code]:
        bad = example["verdict"] == "bad"
        assert bool(fired(of_a_job(example), [twins[code]])) is bad, example["name"]
        if "mended" in example:
            assert not fired(of_a_job(mended(example)), [twins[code]]), f"{example['name']}, mended"


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_twins_say_of_every_example_what_the_rules_say(code: str, twins: dict[str, Policy]) -> None:
    for example in variants(code):
        by_rule = fired(example, [RULES[one] for one in EXPORTED])
        by_twin = fired(example, list(twins.values()))
        assert by_twin == {twins[one].rule.code for one in by_rule}, example["name"]


def test_every_policy_is_exported_or_says_why_not() -> None:
    names = [one["metadata"]["name"] for one in export_vap(ours())]
    assert names == [f"podplan-{code.lower()}" for code in EXPORTED for _ in range(2)]
    assert podplan("rules", "--export", "vap").out.count("kind: ValidatingAdmissionPolicy\n") == len(EXPORTED)
