"""Every policy keeps what its examples promise, and what is made from the policies is up to date."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import podplan
from podplan.lint import checks
from podplan.lint.registry import load_builtin_policies, load_policy_documents
from podplan.schema import validate_against
from tests.policy_examples import findings, fix_example, list_violation_paths, nagging
from tests.rows import each_row

POLICIES = {data["id"]: data for data in load_policy_documents()}
EXAMPLES = [
    pytest.param(code, example, id=f"{code}-{example['verdict']}-{example['name']}")
    for code, data in POLICIES.items()
    for example in data.get("examples", ())
]
TOP = Path(__file__).parents[1]
PACKAGE = Path(podplan.__path__[0])


@each_row("code", POLICIES)
def test_form(code: str) -> None:
    data = POLICIES[code]
    assert validate_against("Policy", data) == []
    assert {example["verdict"] for example in data["examples"]} >= {"bad", "good", "near"}
    assert [e["name"] for e in data["examples"] if e["verdict"] == "bad" and "mended" not in e] == []
    has_facts = data["basis"] in ("verified", "documented")
    assert data["severity"] != "error" or has_facts, "an error rests on verified or documented facts"
    if "check" in data:
        checks.load_check(data["check"])


@each_row(("code", "example"), EXAMPLES)
def test_example(code: str, example: dict[str, Any]) -> None:
    found = findings(example, code)
    if example["verdict"] != "bad":
        assert list_violation_paths(found, code) == []
        if example["verdict"] == "good":
            assert nagging(found) == []
        return
    assert list_violation_paths(found, code), nagging(found)
    if "at" in example:
        assert list_violation_paths(found, code) == sorted(example["at"])
    if "message" in example:
        assert example["message"] in [one.message for one in found if one.rule == code]
    expected = (code, *example.get("also", ()))
    assert [line for line in nagging(found) if not line.startswith(expected)] == []


@each_row(
    ("code", "example"),
    [p for p in EXAMPLES if "mended" in p.values[1]],  # type: ignore[operator]
    every=4,
)
def test_taking_the_bad_part_away_silences_it(code: str, example: dict[str, Any]) -> None:
    found = findings(fix_example(example), code)
    assert list_violation_paths(found, code) == []
    assert nagging(found) == []


def test_ids_are_unique_and_ordered() -> None:
    assert [policy.rule.code for policy in load_builtin_policies()] == sorted(POLICIES)
    assert len({policy.rule.name for policy in load_builtin_policies()}) == len(POLICIES)


def test_what_is_made_from_the_policies_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("policies_tool", TOP / "tools" / "policies.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    for path, text in tool.build_files().items():
        in_package = path.parts[:2] == ("compiler", "podplan")
        file = PACKAGE.joinpath(*path.parts[2:]) if in_package else TOP / path
        assert file.read_text(encoding="utf-8") == text, f"{path}: run make policies"


def test_a_check_is_imported_when_a_policy_names_it() -> None:
    code = (
        "import sys\n"
        "from podplan.lint import checks\n"
        "checks.load_check('decimal-file-mode')\n"
        "print(sorted(name for name in sys.modules if name.startswith('podplan.lint.checks.')))\n"
    )
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    names = ["file_modes", "index", "registration"]
    assert modules.strip() == str([f"podplan.lint.checks.{name}" for name in names])


def test_every_check_has_a_policy() -> None:
    assert {data["check"] for data in POLICIES.values() if "check" in data} == set(checks.CHECK_MODULES)


@pytest.mark.parametrize("metadata", [{}, {"metadata": {}}, {"metadata": {"generateName": "train-"}}])
def test_a_pod_without_a_name_is_checked_all_the_same(metadata: dict[str, Any]) -> None:
    spec = {"hostNetwork": True, "containers": [{"name": "train", "image": "train:1"}]}
    found = findings({"object": {"apiVersion": "v1", "kind": "Pod", **metadata, "spec": spec}}, "SEC001")
    assert list_violation_paths(found, "SEC001") == ["/spec/hostNetwork"]
