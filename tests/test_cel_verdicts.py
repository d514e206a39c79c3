"""CEL gives the answers of Kubernetes: 71 expressions over 14 objects, as its 1.34 environment answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from podplan.lint.cel.rules import CelRules, NamedExpression, Validation
from podplan.lint.cel.sandbox import evaluate_rules
from tests.rows import each_row

VERDICTS = json.loads((Path(__file__).parent.parent / "fixtures/cel/verdicts.json").read_text("utf-8"))
GPUS = NamedExpression(
    "gpus", "int(object.spec.containers[0].?resources.?limits[?'nvidia.com/gpu'].orValue('0'))"
)


def answer(expression: str, object_: Any) -> object:
    verdict = evaluate_rules(
        CelRules((Validation(expression),), (GPUS,)),
        {
            "object": object_,
            "request": {"operation": "CREATE"},
            "params": VERDICTS["params"],
            "namespaceObject": {"metadata": {"labels": VERDICTS["namespaceLabels"]}},
        },
    )
    return "error" if verdict.errors else not verdict.failures


@each_row("case", VERDICTS["cases"], ids=lambda case: str(case["expression"]))
def test_an_expression_answers_as_in_kubernetes(case: dict[str, Any]) -> None:
    assert case["compiles"]
    assert [answer(case["expression"], object_) for object_ in VERDICTS["objects"]] == case["results"]


def test_all_answers_are_there() -> None:
    assert sum(len(case["results"]) for case in VERDICTS["cases"]) == 71 * 14
