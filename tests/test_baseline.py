"""The baseline: known findings stay known however lines and entries move; a changed value makes them new."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podplan.checker.check import CheckResult, check_sources
from podplan.core.errors import UsageError
from podplan.core.findings import Finding, Location, Severity
from podplan.lint.baseline import (
    BaselineEntry,
    collect_entries,
    parse_baseline,
    prune_entries,
    serialize_baseline,
)
from podplan.lint.lint_config import LintConfig, resolve_default_rules
from podplan.lint.registry import load_builtin_policies
from podplan.lint.rule_selection import RuleSelection
from podplan.lint.stable_identity import SECRET_VALUE_RULES, build_anchor
from podplan.pipeline import PipelineSettings
from podplan.redaction.redactor import Redactor
from podplan.workspace.loader import Loader
from podplan.yaml import parse_yaml
from tests.command import Run, podplan
from tests.thoroughness import examples

HEAD = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: GenericJob
metadata: {name: count, namespace: NAMESPACE}
spec:
  replicaSpecs:
"""
MAIN = """\
  - type: main
    replicas: 2
    template:
      spec:
        hostNetwork: true
        containers:
        - name: main
          image: busybox:1.36
          securityContext: {capabilities: {add: [SYS_ADMIN]}}
"""
SIDE = """\
  - type: side
    replicas: 1
    template:
      spec:
        containers:
        - name: side
          image: busybox:1.36
          securityContext: {privileged: true}
        - name: other
          image: busybox:1.36
"""
HEAD = HEAD.replace("NAMESPACE", "team")
JOB = HEAD + MAIN + SIDE
SELECT = RuleSelection(select=("SEC", "SCHEMA", "YAML"))


def checked(
    text: str, baseline: tuple[BaselineEntry, ...] | None = None, mandatory: tuple[str, ...] = ()
) -> CheckResult:
    terms = LintConfig(
        all_policies=load_builtin_policies(),
        selection=SELECT._replace(mandatory=mandatory),
        baseline=baseline,
    )
    asked = PipelineSettings(policies=resolve_default_rules(terms).policies, lint_config=terms)
    return check_sources([parse_yaml(text.encode(), "job.yaml")], asked, Loader())


def baseline_of(text: str) -> tuple[BaselineEntry, ...]:
    result = checked(text)
    return collect_entries(result.findings, result.redacted_texts)


def new(text: str, baseline: tuple[BaselineEntry, ...]) -> list[str]:
    return sorted({found.rule for found in checked(text, baseline).findings})


def test_what_is_known_is_left_out() -> None:
    result = checked(JOB, baseline_of(JOB))
    assert result.findings == []
    assert result.summary.suppressed == len(checked(JOB).findings) > 8
    assert {found.reason for found in result.all_findings} == {"baseline"}


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.tuples(st.integers(0, JOB.count("\n")), st.sampled_from(["", "# words", "  # podplan"]))))
def test_it_survives_inserted_lines(inserted: Sequence[tuple[int, str]]) -> None:
    lines = JOB.splitlines()
    for at, line in sorted(inserted, reverse=True):
        lines.insert(at, line)
    assert new("\n".join(lines) + "\n", BASELINE) == []


def test_it_survives_entries_that_change_places() -> None:
    assert new(HEAD + SIDE + MAIN, BASELINE) == []


@pytest.mark.parametrize(
    ("before", "after", "rules"),
    [
        ("[SYS_ADMIN]", "[NET_ADMIN]", ["SEC003"]),
        ("[SYS_ADMIN]", "[SYS_ADMIN, NET_ADMIN]", ["SEC003"]),
        ("type: side", "type: another", ["SEC002", "SEC014", "SEC015", "SEC017", "SEC018"]),
        ("namespace: team", "namespace: other", None),
        ("image: busybox:1.36", "image: busybox:1.37", []),
        ("replicas: 2", "replicas: 3", []),
        ("{privileged: true}", "{privileged: true, procMount: Unmasked}", ["SEC009"]),
        ("hostNetwork: true", "hostNetwork: true\n        hostPID: true", ["SEC001"]),
    ],
)
def test_what_is_new(before: str, after: str, rules: list[str] | None) -> None:
    everything = sorted({found.rule for found in checked(JOB).findings})
    assert new(JOB.replace(before, after), BASELINE) == (everything if rules is None else rules)


def test_as_many_as_are_known() -> None:
    bad = "a: 1\n"
    once = JOB.replace("replicas: 2", "replicas: 2\n    replicas: 2")
    assert new(once, baseline_of(once)) == []
    twice = once.replace("replicas: 2\n", "replicas: 2\n    replicas: 2\n", 1)
    assert new(twice, baseline_of(once)) == ["YAML002"]
    assert new(f"{bad}---\n{once}", baseline_of(once)) == []


def test_mandatory_rules_are_never_known() -> None:
    assert {found.rule for found in checked(JOB, BASELINE, ("SEC001",)).findings} == {"SEC001"}


BASELINE = baseline_of(JOB)


def test_the_file_is_read_as_it_was_written() -> None:
    text = serialize_baseline(BASELINE)
    assert parse_baseline(text, "b.json") == BASELINE
    assert serialize_baseline(reversed(BASELINE)) == text
    first = json.loads(text)["findings"][0]
    assert first["object"] == {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "GenericJob",
        "namespace": "team",
        "name": "count",
    }
    assert "spec.replicaSpecs[main].template.spec.containers[main].securityContext" in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "b.json, line 1: this is no JSON"),
        ("[" * 100_000, "b.json: this is no JSON"),
        ("[]", "b.json: this is no baseline"),
        (
            '{"format": 99, "findings": []}',
            "b.json: this baseline has format 99, and this podplan reads format 1",
        ),
        ('{"format": 0, "findings": []}', "b.json: this is no baseline"),
        ('{"format": [2], "findings": []}', "b.json: this is no baseline"),
        ('{"findings": []}', "b.json: this is no baseline"),
        ('{"format": 1, "findings": [1]}', r"b.json: findings\[0\] is no entry"),
        (
            serialize_baseline(BASELINE).replace('"rule": "SEC001"', '"rule": 1'),
            r"findings\[[0-9]\] is no entry",
        ),
        (
            serialize_baseline(BASELINE).replace('"file"', '"count": 0, "file"', 1),
            r"findings\[0\] is no entry",
        ),
    ],
)
def test_a_file_that_is_no_baseline(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_baseline(text, "b.json")


def test_a_byte_order_mark_is_passed_over() -> None:
    assert parse_baseline("\ufeff" + serialize_baseline(BASELINE), "b.json") == parse_baseline(
        serialize_baseline(BASELINE), "b.json"
    )


def test_pruning() -> None:
    kept, gone = prune_entries(BASELINE, BASELINE[1:], lambda _: True)
    assert (tuple(kept), gone) == (BASELINE[1:], [BASELINE[0]])
    assert prune_entries(BASELINE, (), lambda _: False) == (list(BASELINE), [])
    moved = [BASELINE[0]._replace(file="elsewhere.yaml", message="in other words")]
    assert prune_entries(BASELINE[:1], moved, lambda _: True) == (moved, [])
    thrice = BASELINE[0]._replace(occurrences=3)
    assert prune_entries([thrice], BASELINE[:1], lambda _: True) == (
        [BASELINE[0]],
        [thrice._replace(occurrences=2)],
    )


def test_a_secret_leaves_no_trace() -> None:
    secret = (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"
        "stringData: {key: SWORDFISH, key: SWORDFISH2}\nty: 1\n"
    )
    one, two = baseline_of(secret), baseline_of(secret.replace("SWORDFISH", "MELLON"))
    assert len(one) > 1
    assert serialize_baseline(one) == serialize_baseline(two), (
        "not even a hash of the value, which could be guessed"
    )


def test_a_secret_as_text_leaves_no_trace() -> None:
    for rule in SECRET_VALUE_RULES:
        found = Finding(rule, "", Severity.ERROR, "", "", Location("a", 1, 1, 1, 2, ("key",)), "cr")
        one, two = (build_anchor(found, {"key": key}, {}, Redactor()) for key in ("SWORDFISH", "MELLON"))
        assert one == two


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "other.yaml").write_text(JOB.replace("name: count", "name: other"))
    (tmp_path / "podplan.toml").write_text('select = ["SEC"]\nbaseline = "known.json"\n')
    return tmp_path


def baseline(folder: Path, *arguments: str) -> Run:
    return podplan("baseline", *arguments, cwd=folder)


def test_the_commands(folder: Path) -> None:
    run = podplan("check", cwd=folder)
    assert (run.code, run.err) == (
        2,
        "podplan: known.json: no such file; podplan baseline create makes it\n",
    )
    assert baseline(folder, "create").err == "podplan: known.json: 26 findings\n"
    assert podplan("check", cwd=folder).code == 0
    assert podplan("check", "--no-ignores", cwd=folder).code == 1
    before = (folder / "known.json").read_bytes()
    assert baseline(folder, "create").code == 0
    assert (folder / "known.json").read_bytes() == before
    (folder / "job.yaml").write_text("# moved\n" + JOB.replace("        hostNetwork: true\n", ""))
    shown = baseline(folder, "show", "job.yaml")
    assert shown.err == "podplan: known.json: 25 findings still there, 1 gone\n"
    assert (
        "job.yaml: SEC001 GenericJob/team/count spec.replicaSpecs[main].template.spec.hostNetwork"
        in shown.out
    )
    assert baseline(folder, "prune").err == "podplan: known.json: 1 finding taken out, 25 left\n"
    (folder / "other.yaml").unlink()
    assert (
        baseline(folder, "prune", "job.yaml").err == "podplan: known.json: 13 findings taken out, 12 left\n"
    )


def test_prune_keeps_what_it_could_not_look_for(folder: Path) -> None:
    baseline(folder, "create")
    before = (folder / "known.json").read_bytes()
    (folder / "job.yaml").write_text(JOB.replace("replicas: 2", "replicas: two"))
    for arguments in (("prune",), ("prune", "-e", "dev", "other.yaml"), ("prune", "--select", "SEC001")):
        assert baseline(folder, *arguments).code == 0
    assert (folder / "known.json").read_bytes() == before


def test_a_baseline_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    limits = {"PODPLAN_LIMITS": f"file-bytes={len(JOB)}"}
    run = podplan("baseline", "create", "job.yaml", cwd=tmp_path, env=limits)
    assert run.code == 4
    assert f"at most {len(JOB)} are read from one file" in run.err
    assert "PODPLAN_LIMITS=file-bytes" in run.err
    assert not (tmp_path / "podplan-baseline.json").exists()
