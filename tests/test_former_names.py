"""One name for a rule, its check and its function; former names stay valid wherever people wrote them."""

from __future__ import annotations

from pathlib import Path

import pytest

from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.lint import checks
from podplan.lint.registry import load_builtin_policies
from tests.command import podplan
from tests.test_organisation import CHECKED, JOB

POLICIES = load_builtin_policies()
BY_NAME = {policy.rule.name: policy for policy in POLICIES}
# It decides a rule for each control of the Pod Security Standards and has the name of the API's field.
CHECK_OF_A_STANDARD = "pod-security"
LATEST = JOB.replace("deepspeed:0.15.4", "deepspeed:latest").replace(
    "    template:\n", "    replicas: 2\n    template:\n"
)


def test_a_check_has_the_name_of_its_rule() -> None:
    rules_by_check: dict[str, set[str]] = {}
    for policy in POLICIES:
        if policy.evaluator == "check":
            rules_by_check.setdefault(policy.body, set()).add(policy.rule.name)
    named_otherwise = [check for check, rules in rules_by_check.items() if check not in rules]
    assert named_otherwise == [CHECK_OF_A_STANDARD]
    shared = {check for check, rules in rules_by_check.items() if len(rules) > 1}
    assert shared == {
        CHECK_OF_A_STANDARD,
        "arg-reparsed-by-shell",
        "env-lost-over-ssh",
        "env-not-encodable",
        "launcher-refuses",
        "reserved-env",
        "template-restart-policy",
        "unset-variable",
    }


def test_a_former_name_belongs_to_one_rule_or_check() -> None:
    names = [rule.name for rule in BUILTIN_RULES.values()]
    names += [name for policy in POLICIES for name in (policy.rule.name, *policy.rule.aliases)]
    assert len(set(names)) == len(names)
    assert not checks.CHECK_ALIASES.keys() & checks.CHECK_MODULES.keys()
    assert set(checks.CHECK_ALIASES.values()) <= checks.CHECK_MODULES.keys()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "job.yaml").write_text(LATEST)
    return tmp_path


def codes(folder: Path, *flags: str) -> set[str]:
    """The rules that find something."""
    out = podplan("check", "--format", "concise", *flags, "job.yaml", cwd=folder).out
    return {line.split()[2] for line in out.splitlines() if line.startswith("job.yaml:")}


@pytest.mark.parametrize("name", ["mutable-tag", "moving-tag"])
def test_a_rule_is_selected_and_explained_by_either_name(folder: Path, name: str) -> None:
    assert codes(folder, "--select", name) == {"IMG002"}
    assert "IMG002" not in codes(folder, "--ignore", name)
    assert podplan("explain", name, cwd=folder).out.startswith("warning[IMG002 mutable-tag]")
    (folder / "podplan.toml").write_text(f'select = ["{name}"]\n[severity]\n{name} = "error"\n')
    assert "error IMG002" in podplan("check", "--format", "concise", "job.yaml", cwd=folder).out


@pytest.mark.parametrize("name", ["mutable-tag", "moving-tag"])
def test_a_finding_is_suppressed_by_either_name(folder: Path, name: str) -> None:
    comment = f"# podplan: ignore-file[{name}] -- built each night\n"
    (folder / "job.yaml").write_text(comment + LATEST)
    assert not {"IMG002", "LINT002", "LINT005"} & codes(folder)
    annotated = LATEST.replace(
        "{name: gpt}", f'{{name: gpt, annotations: {{lint.podplan.dev/ignore: "{name}=nightly"}}}}'
    )
    (folder / "job.yaml").write_text(annotated)
    assert not {"IMG002", "LINT002", "LINT005"} & codes(folder)


def test_a_mandatory_rule_by_its_former_name_cannot_be_suppressed(folder: Path) -> None:
    (folder / "podplan.toml").write_text('mandatory = ["moving-tag"]\n')
    (folder / "job.yaml").write_text("# podplan: ignore-file[IMG] -- built each night\n" + LATEST)
    assert {"IMG002", "LINT006"} <= codes(folder)


def test_a_policy_of_an_organisation_names_a_check_by_its_former_name(folder: Path) -> None:
    (folder / "rules").mkdir()
    (folder / "podplan.toml").write_text('policies = ["rules"]\n')
    own = CHECKED.replace("child-name-too-long\nparams: {suffix: 6, most: 9}", "mig-slices")
    for check in ("mig-slices", "mig-slices-as-gpus"):
        (folder / "rules" / "own.yaml").write_text(own.replace("mig-slices", check))
        assert "POLICY001" not in codes(folder)
    (folder / "rules" / "own.yaml").write_text(
        own.replace("name: team-label", "name: team-label\naliases: [moving-tag]")
    )
    out = podplan("check", "--format", "concise", "job.yaml", cwd=folder).out
    assert 'aliases "moving-tag" is that of another policy' in out
