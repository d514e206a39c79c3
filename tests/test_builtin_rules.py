"""The pages of the built-in rules: each example is checked, and reports what its page says."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.core.package_data import find_bundled_folder
from podplan.lint.registry import BUILTIN_FOLDER, load_builtin_page
from podplan.report.rule_page import format_reported_message
from tests.command import podplan
from tests.rows import each_row

# A kind without lowering, an internal error, and a CRD of more than 256 KiB.
WITHOUT_EXAMPLES = {"CR900", "GIT072", "RUN001"}
CHECK = ["check", "."]
EXAMPLES = [
    pytest.param(code, example, id=f"{code}: {example['name']}")
    for code in BUILTIN_RULES
    for example in load_builtin_page(code)["examples"]
]


def run_example(code: str, example: dict[str, Any]) -> list[str]:
    """What the command of an example reports for a rule, with the line; an error of the command instead."""
    with TemporaryDirectory() as folder:
        Path(folder, ".git").mkdir()
        for name, text in example["files"].items():
            Path(folder, name).parent.mkdir(exist_ok=True)
            Path(folder, name).write_text(text, encoding="utf-8")
        command = example.get("command", CHECK)
        if command[:2] != CHECK:
            return [
                line.removeprefix("podplan: ")
                for line in podplan(*command, cwd=Path(folder)).err.splitlines()
            ]
        run = podplan(*command, "--no-cache", "--format", "json", cwd=Path(folder))
        return [
            f"{one['file']}:{one['line']}: {one['message']}"
            for one in json.loads(run.out)["findings"]
            if one["rule"] == code
        ]


def test_each_rule_has_a_page_and_no_page_is_stale() -> None:
    folder = Path(find_bundled_folder("policies"), BUILTIN_FOLDER)
    assert {path.stem for path in folder.iterdir()} == set(BUILTIN_RULES)
    for code in BUILTIN_RULES:
        page = load_builtin_page(code)
        assert page["id"] == code
        assert page["why"], code
        assert page["help"], code
        verdicts = {example["verdict"] for example in page["examples"]}
        assert code in WITHOUT_EXAMPLES or verdicts >= {"bad", "good"}, code


@each_row(["code", "example"], EXAMPLES, every=4)
def test_each_example_is_reported_as_its_page_says(code: str, example: dict[str, Any]) -> None:
    messages = run_example(code, example)
    if example["verdict"] == "bad":
        assert messages[:1] == [format_reported_message(example)]
    else:
        assert messages == []


def test_explain_has_the_reason_the_remedy_and_the_examples() -> None:
    text = podplan("explain", "SCHEMA003").out
    assert "\nwhy:\n  The API server refuses an object without a required field" in text
    assert "\nwhat to do:\n  write the field; " in text
    assert '  = job.yaml:14: required field "image" is missing in container "pytorch"\n' in text
    assert "\nnot reported: all required fields\n" in text
    rule = json.loads(podplan("explain", "SCHEMA003", "--format", "json").out)["rule"]
    assert [example["verdict"] for example in rule["examples"]] == ["bad", "good", "near"]


def test_explain_names_the_command_and_the_files_of_an_example() -> None:
    assert "  | # podplan check job.yaml -e prd\n" in podplan("explain", "PROF014").out
    text = podplan("explain", "POLICY002", "--examples").out
    assert "  | # policies/few-replicas.yaml\n" in text
    assert "  | # podplan.toml\n" in text
