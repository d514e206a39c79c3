"""podplan rules --kind: which rules a kind gets, and why it does not get the others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from podplan.kinds.registry import (
    PACKAGES,
    GroupVersionKind,
    find_family,
    iter_kinds_named,
    load_spec,
    name_of,
)
from podplan.lint.policy import Policy
from podplan.lint.policy_scope import (
    CR_LEVELS,
    PolicyScope,
    list_help_by_kind,
    list_kind_names,
    matches_job_kind,
    matches_kind,
    matches_traits,
)
from podplan.lint.registry import load_builtin_policies
from podplan.lint.vap_export import export_vap
from podplan.schema.catalog import build_schema
from tests.command import podplan
from tests.golden_cases import FIXTURES
from tests.rows import each_row

GROUP_OF_T9K = "batch.tensorstack.dev"
JOB = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: GenericJob
metadata: {name: a}
spec:
  replicaSpecs:
  - type: worker
    template: {spec: {containers: [{name: main, image: 'busybox:1.36'}]}}
"""
POLICY = """\
id: ACME001
name: no-jobs
severity: warning
basis: documented
summary: No job of this kind is wanted here.
why: We have no quota for jobs of this kind.
scope: {level: cr, SCOPE}
schema: {not: {}}
message: no job of this kind
examples:
- {name: a job, verdict: bad, object: {}}
"""


def test_the_rules_of_a_kind(file_regression: FileRegressionFixture) -> None:
    said = podplan("rules", "--isolated", "--kind", "GenericJob")
    assert (said.code, said.err) == (0, "")
    file = FIXTURES / "rules" / "GenericJob.txt"
    file_regression.check(said.out, fullpath=file, encoding="utf-8", newline="")


@each_row("kind", ["JobSet", "batch/v1/Job", "TrainJob"])
def test_rules_about_restart_policies_say_why_they_are_not_for_jobs(kind: str) -> None:
    rules, _, traits = podplan("rules", "--isolated", "--kind", kind).out.partition("traits that decide")
    for code in ("LIFE018", "LIFE028"):
        (line,) = [one for one in rules.splitlines() if one.startswith(f"  {code} ")]
        assert line.endswith("the kind lacks restarts-by-controller")
    assert "The controller restarts replicas as their restart policy says" in traits


@pytest.mark.parametrize("kind", PACKAGES, ids=name_of)
def test_a_rule_is_for_a_kind_or_says_why_not(kind: GroupVersionKind) -> None:
    answer = json.loads(podplan("rules", "--isolated", "--kind", name_of(kind), "--format", "json").out)
    for row in answer["rules"]:
        assert row["applies"] is not bool(row["lacks"] or row["unwanted"]), row["code"]
        if row["level"] in CR_LEVELS and row["kinds"]:
            assert row["applies"] is (name_of(kind) in row["kinds"]), row["code"]


@pytest.mark.parametrize("name", ["GenericJob", "batch.tensorstack.dev/v1beta1/GenericJob"])
def test_the_same_for_programs(name: str) -> None:
    answer = json.loads(podplan("rules", "--isolated", "--kind", name, "--format", "json").out)
    assert (answer["format"], answer["kind"]["kind"]) == (1, "GenericJob")
    assert "env-expressions" in answer["kind"]["traits"]
    lacking = {row["code"]: row["lacks"] for row in answer["rules"] if not row["applies"] and row["lacks"]}
    unwanted = {row["code"]: row["unwanted"] for row in answer["rules"] if row["unwanted"]}
    assert lacking["DS001"] == ["deepspeed-by-controller"]
    assert unwanted["LIFE005"] == ["restarts-by-controller"]
    text = podplan("rules", "--isolated", "--kind", name).out
    applying, _, others = text.partition("rules do not apply:")
    for row in answer["rules"]:
        assert f"  {row['code']} " in (applying if row["applies"] else others)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--kind", "GenericJobb"), 'podplan checks no kind "GenericJobb"; did you mean "GenericJob"?'),
        (("--kind", "kubeflow.org/GenericJob"), 'podplan checks no kind "kubeflow.org/GenericJob"'),
        (("--kind", "GenericJob", "--format", "md"), "--kind works with --format text or json"),
        (("--kind", "GenericJob", "--export", "vap"), "--kind works with --format text or json"),
    ],
)
def test_a_wrong_request_is_refused(arguments: tuple[str, ...], message: str) -> None:
    said = podplan("rules", "--isolated", *arguments)
    assert said.code == 2
    assert message in said.err


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("GenericJob", True),
        ("batch.tensorstack.dev/GenericJob", True),
        ("batch.tensorstack.dev/v1beta1/GenericJob", True),
        ("batch.tensorstack.dev/v1/GenericJob", False),
        ("kubeflow.org/GenericJob", False),
        ("v1beta1/GenericJob", False),
        ("DeepSpeedJob", False),
    ],
)
def test_a_kind_is_named_with_or_without_its_group(name: str, fits: bool) -> None:
    data = {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "GenericJob"}
    assert matches_kind(PolicyScope("cr", (name,)), data) is fits


def test_a_kind_of_the_core_group_is_named_by_its_version() -> None:
    assert matches_kind(PolicyScope("lowered", ("v1/Pod",)), {"apiVersion": "v1", "kind": "Pod"})
    assert not matches_kind(PolicyScope("lowered", ("batch/v1/Pod",)), {"apiVersion": "v1", "kind": "Pod"})


def test_traits_are_those_of_the_kind_with_the_group() -> None:
    scope = PolicyScope("cr", needs=frozenset({"self-launched"}), without=frozenset({"ssh"}))
    assert list_kind_names(scope) == ["GenericJob"]
    [generic_job] = iter_kinds_named("GenericJob")
    assert matches_traits(scope, load_spec(generic_job))
    assert not matches_traits(scope._replace(needs=frozenset()), None)


@pytest.mark.parametrize(
    ("scope", "found"),
    [
        ("kinds: [GenericJob]", True),
        ("kinds: [batch.tensorstack.dev/GenericJob]", True),
        ("kinds: [DeepSpeedJob]", False),
        ("traits: {needs: [env-expressions]}", True),
        ("traits: {needs: [env-expressions], without: [success-rules]}", False),
        ("traits: {without: [ssh]}", True),
        ("kinds: [GenericJob, DeepSpeedJob], traits: {needs: [ssh]}", False),
    ],
)
def test_a_policy_of_ones_own_selects_by_kinds_or_traits(tmp_path: Path, scope: str, found: bool) -> None:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "acme.yaml").write_text(POLICY.replace("SCOPE", scope))
    (tmp_path / "podplan.toml").write_text('policies = ["policies"]\n')
    (tmp_path / "job.yaml").write_text(JOB)
    said = podplan("check", "--select", "ACME", "job.yaml", cwd=tmp_path)
    assert ("ACME001" in said.out) is found, said.out + said.err


def test_an_unknown_trait_is_reported_with_the_known_ones(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    policy = POLICY.replace("SCOPE", "traits: {needs: [env-expresions]}")
    (tmp_path / "policies" / "acme.yaml").write_text(policy)
    (tmp_path / "podplan.toml").write_text('policies = ["policies"]\n')
    (tmp_path / "job.yaml").write_text(JOB)
    said = podplan("check", "job.yaml", cwd=tmp_path)
    assert "POLICY001" in said.out
    assert "env-expressions" in said.out


def test_help_for_a_trait_is_help_for_its_kinds() -> None:
    texts = {"ssh": "of ssh", "DeepSpeedJob": "later", "self-launched": "not in scope", "TFJob": "of a name"}
    scope = PolicyScope("job", without=frozenset({"self-launched"}))
    assert list_help_by_kind(scope, texts) == {
        "DeepSpeedJob": "of ssh",
        "ColossalAIJob": "of ssh",
        "batch.tensorstack.dev/v1beta1/MPIJob": "of ssh",
        "kubeflow.org/v2beta1/MPIJob": "of ssh",
        "TFJob": "of a name",
    }


def test_exported_policies_match_the_kinds_with_the_traits() -> None:
    plurals = {
        one["metadata"]["name"]: one["spec"]["matchConstraints"]["resourceRules"][0]["resources"]
        for one in export_vap(load_builtin_policies())
        if one["kind"] == "ValidatingAdmissionPolicy"
    }
    assert plurals["podplan-gen005"] == ["genericjobs"]
    assert plurals["podplan-ssh004"] == ["deepspeedjobs", "colossalaijobs", "mpijobs"]
    assert plurals["podplan-life002"] == ["pytorchtrainingjobs", "deepspeedjobs"]


WORD = re.compile(r"\b[a-z][a-z0-9]*(?:[A-Z][a-z0-9]+)+\b|\bt9k\w+")
IN_A_PROFILE = re.compile(r"\([^()]*in a\s+profile\)")


def test_help_names_fields_that_the_kind_has() -> None:
    fields = {kind: _list_fields(kind) for kind in PACKAGES}
    of_t9k, of_others = (
        set[str]().union(*(names for kind, names in fields.items() if (kind.group == GROUP_OF_T9K) is ours))
        for ours in (True, False)
    )
    of_one_family = of_t9k ^ of_others
    wrong = {
        (policy.rule.code, name_of(kind), word)
        for policy in load_builtin_policies()
        if not policy.scope.kinds  # the kinds of lowered objects
        for kind in PACKAGES
        if matches_job_kind(policy.scope, kind)
        for text in (policy.message, _find_help(policy, kind))
        for word in WORD.findall(IN_A_PROFILE.sub("", text))
        if word in of_one_family - fields[kind]
    }
    assert wrong == set()


def _list_fields(kind: GroupVersionKind) -> set[str]:
    """The names of the fields of a kind and of those that its jobs refer to, at any depth."""
    family = find_family(kind.api_version, kind.kind)
    names = [name_of(kind), *(family.referred if family is not None else ())]
    return {field for name in names for field in _iter_properties(build_schema(name, "1.36"))}


def _iter_properties(schema: object) -> Iterator[str]:
    parts = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    if isinstance(schema, dict) and isinstance(schema.get("properties"), dict):
        yield from schema["properties"]
    for part in parts:
        yield from _iter_properties(part)


def _find_help(policy: Policy, kind: GroupVersionKind) -> str:
    names = {kind.kind, *load_spec(kind).traits}
    return next((text for name, text in policy.help_for.items() if name in names), policy.help)


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        (["DIST007"], ["DIST007"]),
        (["dist007"], ["DIST007"]),
        (["independent-replicas"], ["DIST007"]),
        (["trains-alone"], ["DIST007"]),  # a former name
        (["SCHEMA00", "GIT072"], [*(f"SCHEMA00{n}" for n in range(1, 10)), "GIT072"]),
        (["GIT072,YAML003"], ["GIT072", "YAML003"]),
        (["DIST007", "--kind", "JobSet"], ["DIST007"]),
    ],
)
def test_rules_whose_codes_begin_so(words: list[str], codes: list[str]) -> None:
    rules = json.loads(podplan("rules", *words, "--format", "json").out)["rules"]
    assert sorted(row["code"] for row in rules) == sorted(codes)


def test_a_prefix_that_means_no_rule() -> None:
    said = podplan("rules", "DISTX")
    assert (said.code, said.out) == (2, "")
    assert said.err == 'podplan: no rule has the code, prefix or name "DISTX"; did you mean "DIST093"?\n'
    assert podplan("rules", "").code == 2
    assert podplan("rules", "DIST", "--export", "vap").code == 2
    assert (
        podplan("rules", "YAML", "--needs", "base").err
        == "podplan: none of these rules needs a base revision\n"
    )
