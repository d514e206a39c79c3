"""Annotations that silence the findings of an object, and those that do not."""

from __future__ import annotations

import pytest

from podplan.lint.rule_selection import RuleSelection
from tests.suppressing.job import JOB, checked, silenced


def annotated(value: str) -> str:
    return JOB.replace(
        "  name: count\n", f"  name: count\n  annotations: {{lint.podplan.dev/ignore: {value}}}\n"
    )


def test_annotations() -> None:
    result = checked(annotated('"SEC001=our own nodes; SEC002=so"'))
    assert [(one.rule, one.reason) for one in silenced(result)] == [
        ("SEC001", "our own nodes"),
        ("SEC002", "so"),
        ("SEC001", "our own nodes"),
    ]
    assert result.findings == []


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("SEC001", "LINT003 this does not say why"),
        ("SEC001=", "LINT003 this does not say why"),
        ("SEC1=x", 'LINT002 no rule has the code, group or name "SEC1"'),
        ("=x", 'LINT001 "=x" is not RULE=reason'),
        ("SEC005=x", 'LINT005 "SEC005" finds nothing here that could be ignored; remove the annotation'),
    ],
)
def test_annotations_that_do_nothing(value: str, said: str) -> None:
    result = checked(annotated(f'"{value}"'), RuleSelection(select=("SEC", "LINT")))
    (fault,) = (one for one in result.findings if one.rule.startswith("LINT"))
    assert f"{fault.rule} {fault.message}".startswith(said)
    assert fault.location.line == 5
    assert silenced(result) == []


@pytest.mark.parametrize("name", ["[a]", "{a: b}", "1", "null"])
def test_annotations_of_objects_with_odd_names(name: str) -> None:
    text = annotated("SEC001=so").replace("name: count", f"name: {name}")
    assert "SEC001" not in [one.rule for one in checked(text).findings]
