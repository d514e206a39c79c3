"""The exported policies type-check as the API server does it, and rely on no guessed type."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podplan.kubernetes import DEFAULT_VERSION
from podplan.kubernetes.schemas import SUPPORTED_VERSIONS
from podplan.lint.cel.text import iter_variables
from podplan.lint.registry import load_builtin_policies
from podplan.lint.vap_export import export_vap
from tests.cel_ast import guessed_conversions
from tests.cel_types import type_errors
from tests.rows import each_row

CEL = Path(__file__).parent.parent / "fixtures" / "cel"
TYPE_CHECKING = json.loads((CEL / "type_checking.json").read_text("utf-8"))["cases"]
INFERRED = json.loads((CEL / "inferred_types.json").read_text("utf-8"))["cases"]
CLUSTERS = SUPPORTED_VERSIONS[
    SUPPORTED_VERSIONS.index("1.30") :
]  # ValidatingAdmissionPolicy is stable from 1.30 on


def policies(version: str = DEFAULT_VERSION) -> list[dict[str, Any]]:
    return [
        one
        for one in export_vap(load_builtin_policies(), version)
        if one["kind"] == "ValidatingAdmissionPolicy"
    ]


def expressions(policy: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each expression of a policy with the path to it."""
    spec = policy["spec"]
    for part in ("variables", "matchConditions", "validations"):
        for index, one in enumerate(spec.get(part, ())):
            for key in ("expression", "messageExpression"):
                if key in one:
                    yield f"{policy['metadata']['name']}: {part}[{index}].{key}", one[key]


def with_variables_inlined(policy: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The same without variables, so that the types of theirs are known where they are used."""
    known: dict[str, str] = {}
    for variable in policy["spec"].get("variables", ()):
        known[variable["name"]] = f"({_inlined(variable['expression'], known)})"
    for path, text in expressions(policy):
        yield path, _inlined(text, known)


def _inlined(text: str, known: dict[str, str]) -> str:
    for name, start in reversed(list(iter_variables(text))):
        end = start + len(f"variables.{name}")
        assert text[start:end] == f"variables.{name}"
        text = text[:start] + known[name] + text[end:]
    return text


def is_about_pods(policy: dict[str, Any]) -> bool:
    return any("pods" in rule["resources"] for rule in policy["spec"]["matchConstraints"]["resourceRules"])


@each_row("case", TYPE_CHECKING, ids=lambda case: str(case["expression"])[:60])
def test_the_type_checker_answers_as_the_one_of_kubernetes(case: dict[str, Any]) -> None:
    errors = type_errors(case["expression"], "1.34")
    assert sorted(errors) == [error["column"] for error in case["errors"]]
    for error in case["errors"]:
        kind = error["message"].partition(" '")[0]
        assert errors[error["column"]].startswith(kind)


@pytest.mark.parametrize("version", CLUSTERS)
def test_exported_policies_about_pods_type_check(version: str) -> None:
    exported = [policy for policy in policies(version) if is_about_pods(policy)]
    assert len(exported) > 20
    for policy in exported:
        for path, text in with_variables_inlined(policy):
            assert not type_errors(text, version), path


def test_policies_of_an_older_version_type_check_on_a_newer_cluster() -> None:
    for policy in filter(is_about_pods, policies(CLUSTERS[0])):
        for path, text in with_variables_inlined(policy):
            assert not type_errors(text, CLUSTERS[-1]), path


def test_exported_policies_about_jobs_read_untyped_objects() -> None:
    """No kind of job has all fields that a policy about several kinds names."""
    exported = [policy for policy in policies() if not is_about_pods(policy)]
    assert len(exported) > 20
    for policy in exported:
        for path, text in expressions(policy):
            if "matchConditions" not in path:  # the API server does not type-check those
                assert not type_errors(text, DEFAULT_VERSION), path  # not even as if the job were a Pod


@pytest.mark.parametrize("case", INFERRED, ids=lambda case: str(case["expression"])[-60:])
def test_a_guessed_conversion_is_found(case: dict[str, Any]) -> None:
    fails = str(case["result"]).startswith("no such overload")
    assert bool(guessed_conversions(case["expression"])) is fails


@pytest.mark.long
def test_no_exported_expression_converts_a_value_of_a_guessed_type() -> None:
    for version in (CLUSTERS[0], CLUSTERS[-1]):
        for policy in policies(version):
            for path, text in expressions(policy):
                assert guessed_conversions(text) == [], path
