"""What people read of a rule where there is no finding: no placeholder of a message is left in it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from podplan.checker.check import CheckResult, Summary
from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.lint.policy import PLACEHOLDER
from podplan.lint.registry import load_builtin_policies, load_policy_documents
from podplan.report import sarif
from podplan.report.rule_page import render_rule_page, render_rules_table
from podplan.report.rule_text import describe_policy, render_text
from tests.command import podplan
from tests.rows import each_row
from tests.sample_findings import FINDINGS

# {name}, but not ${NAME} of Flux and shells.
RAW = re.compile(r"(?<!\$)\{[A-Za-z_][A-Za-z0-9_]*\}")
FENCED = re.compile(r"^```yaml\n.*?^```$", re.MULTILINE | re.DOTALL)
POLICIES = load_policy_documents()
CODES = [data["id"] for data in POLICIES]


def read(code: str) -> dict[str, Any]:
    return next(data for data in POLICIES if data["id"] == code)


def templates(data: dict[str, Any]) -> list[str]:
    return [data.get("help", ""), *data.get("helpFor", {}).values(), data.get("fix", {}).get("title", "")]


def test_summaries_begin_with_the_verb_of_a_rule() -> None:
    verbs = ("Detects ", "Requires ", "Rejects ")
    assert [data["id"] for data in POLICIES if not data["summary"].startswith(verbs)] == []


@each_row("code", CODES)
def test_each_placeholder_has_words_for_the_page(code: str) -> None:
    data = read(code)
    used = {name for template in templates(data) for name in PLACEHOLDER.findall(template)}
    assert set(data.get("placeholders", {})) == used


@each_row("code", CODES)
def test_no_page_has_a_raw_placeholder(code: str) -> None:
    assert RAW.findall(FENCED.sub("", render_rule_page(read(code)))) == []


@each_row("code", CODES)
def test_no_explanation_has_a_raw_placeholder(code: str) -> None:
    explained = describe_policy(read(code))
    lines = render_text(explained, every_example=True).splitlines()
    assert RAW.findall("\n".join(line for line in lines if not line.startswith("  |"))) == []
    without_objects = {**explained, "examples": [{**each, "text": ""} for each in explained["examples"]]}
    assert RAW.findall(json.dumps(without_objects, ensure_ascii=False)) == []


def test_no_help_of_sarif_has_a_raw_placeholder() -> None:
    rules = [*(policy.rule for policy in load_builtin_policies()), *BUILTIN_RULES.values()]
    found = [FINDINGS[0]._replace(rule=rule.code, name=rule.name, basis=rule.basis) for rule in rules]
    summary = Summary(len(found), 0, 0, 0, 1, 1, 0, {})
    driver = json.loads(sarif.render(CheckResult(found, summary, {}, found)))["runs"][0]["tool"]["driver"]
    assert {rule["id"] for rule in driver["rules"]} == {rule.code for rule in rules}
    for rule in driver["rules"]:
        said = [rule["shortDescription"]["text"], rule["fullDescription"]["text"], *rule["help"].values()]
        assert RAW.findall(FENCED.sub("", "\n".join(said))) == [], rule["id"]


def test_the_table_of_rules_has_no_raw_placeholder() -> None:
    assert RAW.findall(render_rules_table(POLICIES, list(BUILTIN_RULES.values()))) == []


def test_a_policy_of_an_organisation_is_explained_without_raw_placeholders(tmp_path: Path) -> None:
    """A placeholder that has no words of its own is a name in capitals."""
    policy = """\
id: ORG001
name: no-rank
severity: warning
basis: documented
summary: Detects variables that the controller sets.
why: The controller sets them, and one of the values wins.
scope: {level: lowered, kinds: [Pod]}
check: reserved-env
params: {names: [RANK]}
message: '{name} is set to {written}, and the controller sets it to {value}'
help: 'remove {name}, which {written} is for'
placeholders: {written: 'nobody'}
fix: {title: 'remove {name}'}
examples:
- {name: none, verdict: bad, object: {apiVersion: v1, kind: Pod}}
"""
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "ORG001.yaml").write_text(policy)
    (tmp_path / "podplan.toml").write_text('policies = ["policies"]\n')
    explained = podplan("explain", "ORG001", cwd=tmp_path)
    assert explained.code == 0, explained.err
    assert "  remove NAME, which nobody is for\n" in explained.out
    assert (
        "  remove NAME (--fix)\n" in explained.out
        or "  remove NAME (--fix --unsafe-fixes)\n" in explained.out
    )
    assert RAW.findall(explained.out) == []
