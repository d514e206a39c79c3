"""What a policy demands of the API server is what it says in check."""

from __future__ import annotations

from typing import Any

import pytest

from podplan.cel.judging import judge
from podplan.emit import emit
from podplan.lint.catalogue import ours, whole
from podplan.lint.checks.by_cel import rules_of
from podplan.lint.vap_export import export_vap
from podplan.pipeline import Settings, plans
from podplan.reading import Reader
from podplan.reading.documents import items
from podplan.source import read
from tests.command import podplan

TWINS = {data["id"]: data for data in whole() if "admission" in data}


def refused(data: dict[str, Any], example: dict[str, Any]) -> bool:
    """Whether the API server would refuse something of an example."""
    admission = data["admission"]
    verdicts = [judge(rules_of(admission), {"object": found}) for found in objects(admission, example)]
    assert not any(verdict.faults for verdict in verdicts)
    return any(verdict.failures for verdict in verdicts)


def objects(admission: dict[str, Any], example: dict[str, Any]) -> list[Any]:
    """The CR of an example, or what it lowers to, as far as the demand is about it."""
    source = read(emit([example["object"]]).encode(), "example.yaml")
    made = [plan for item in items(source) for plan in plans(item, Settings(), Reader())]
    found = [plan.cr.data for plan in made if plan.cr is not None]
    if admission["level"] == "lowered":
        found = [group.doc.data for plan in made for group in plan.groups]
    kinds = admission.get("kinds")
    return [one for one in found if not kinds or one["kind"] in kinds]


def test_some_policies_are_exported() -> None:
    names = [one["metadata"]["name"] for one in export_vap(ours())]
    assert names == [name for code in sorted(TWINS) for name in [f"podplan-{code.lower()}"] * 2]
    assert podplan("rules", "--export", "vap").out.count("kind: ValidatingAdmissionPolicy\n") == len(TWINS)


@pytest.mark.parametrize("code", TWINS)
def test_the_api_server_refuses_nothing_that_check_accepts(code: str) -> None:
    data = TWINS[code]
    verdicts = {"bad": set[bool](), "good": set[bool](), "near": set[bool]()}
    for example in data["examples"]:
        if "object" in example and example["object"]["kind"] != "JobProfile":
            verdicts[example["verdict"]].add(refused(data, example))
    assert True in verdicts["bad"], "of what cannot be said in CEL, check alone says more"
    assert verdicts["good"] | verdicts["near"] <= {False}
