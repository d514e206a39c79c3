"""Examples that are patches on base objects, in a folder of policies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from podplan.core.limits import MAX_DEPTH
from podplan.lint.example_objects import ExampleBases, PatchError, apply_patch
from podplan.lint.registry import load_example_bases
from tests.command import podplan
from tests.testing.repository import VAP, edit

POLICIES = Path(__file__).parents[2] / "policies"
BASES = """\
bases:
  job:
    apiVersion: batch.tensorstack.dev/v1beta1
    kind: GenericJob
    metadata: {name: a}
    spec:
      replicaSpecs:
      - {type: worker, template: {spec: {containers: [{name: main, image: "busybox:1.36"}]}}}
  two-workers:
    base: job
    /spec/replicaSpecs/worker/replicas: 2
"""
POLICY = """\
id: ORG001
name: team-label
severity: error
basis: documented
summary: Every job says which team it belongs to.
why: Costs are charged to teams; a job without a team is charged to everybody.
scope: {level: cr}
schema: {properties: {metadata: {required: [labels], properties: {labels: {required: [team]}}}}}
message: the job has no label team
examples:
- name: no labels
  verdict: bad
  at: [/metadata]
  mended: {/metadata/labels: {team: vision}}
  object: {base: two-workers}
- name: with a team
  verdict: good
  object:
    base: job
    metadata: {labels: {team: vision}}
"""


@pytest.fixture
def rules(folder: Path) -> Path:
    """The folder of the policies, with bases."""
    (folder / "rules" / "own.yaml").write_text(POLICY)
    (folder / "rules" / "bases.yaml").write_text(BASES)
    return folder / "rules"


def test_examples_are_patches_on_bases_of_the_folder(rules: Path) -> None:
    run = podplan("test", "rules", cwd=rules.parent)
    assert (run.code, run.err) == (0, "")
    page = podplan("explain", "ORG001", "--examples", cwd=rules.parent).out
    assert "replicas: 2" in page
    assert "base:" not in page


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (
            "own.yaml",
            "base: two-workers",
            "base: two-worker",
            '15:18: POLICY001: there is no base "two-worker"; did you mean "two-workers"?',
        ),
        (
            "own.yaml",
            "base: two-workers",
            "base: [job]",
            "15:18: POLICY001: base must be a string, not a list",
        ),
        (
            "own.yaml",
            "metadata: {labels: {team: vision}}",
            "/spec/replicaSpecs/master/replicas: 2",
            "",  # a new replica type
        ),
        (
            "own.yaml",
            "metadata: {labels: {team: vision}}",
            "/spec/replicaSpecs/1/replicas: 2",
            '20:36: POLICY001: the patch does not fit the base "job": "1" is not in a list of 1',
        ),
        (
            "own.yaml",
            "metadata: {labels: {team: vision}}",
            "/spec/replicaSpec: null",
            '20:24: POLICY001: the patch does not fit the base "job": "replicaSpec" is not at spec; there is',
        ),
        (
            "own.yaml",
            "metadata: {labels: {team: vision}}",
            "/metadata/name/first: a",
            '"first" is below a value that is neither a mapping nor a list',
        ),
        ("own.yaml", "{/metadata/labels: {team: vision}}", "{/metadata/label: null}", '"label" is not at'),
        ("bases.yaml", "base: job", "base: jobs", '10:11: POLICY001: there is no base "jobs"; did you mean'),
        (
            "bases.yaml",
            "  job:\n",
            "  job:\n    base: two-workers\n",
            'bases are patches on each other in a circle: "job" on "two-workers" on "job"',
        ),
        ("bases.yaml", "worker/replicas", "9/replicas", "11:36: POLICY001: the patch does not fit"),
        ("bases.yaml", "base: job", "base: 3", "bases.yaml:10:11: POLICY001: base must be a string"),
        ("bases.yaml", "  two-workers:", "  job:", ""),
    ],
)
def test_patches_that_do_not_fit(rules: Path, file: str, old: str, new: str, said: str) -> None:
    edit(rules / file, old, new)
    run = podplan("test", "rules", cwd=rules.parent)
    assert run.code != 0
    assert said in run.out + run.err


def test_a_base_has_one_place(rules: Path) -> None:
    (rules / "more.yaml").write_text("bases: {job: {apiVersion: v1, kind: Pod}}\n")
    run = podplan("test", "rules", cwd=rules.parent)
    assert run.code == 1
    assert 'more.yaml:1:9: POLICY001: the base "job" is in rules/bases.yaml already' in run.out


def test_examples_of_an_admission_policy_have_bases_too(rules: Path) -> None:
    (rules / "vap.yaml").write_text(VAP)
    example = "policy: no-host-network\nexamples:\n- {name: a, verdict: good, object: {base: %s}}\n"
    (rules / "vap.test.yaml").write_text(example % "job")
    assert podplan("test", "rules", cwd=rules.parent).code == 0
    (rules / "vap.test.yaml").write_text(example % "jobs")
    assert 'POLICY001: there is no base "jobs"' in podplan("test", "rules", cwd=rules.parent).out


JOB: dict[str, Any] = {
    "spec": {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "args": ["x", "y"], "n": 1}
}


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        (
            {"spec": {"env": {"B": {"value": "3"}}}},
            {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "3"}]},
        ),
        ({"/spec/env/B/value": "3"}, {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "3"}]}),
        ({"/spec/env/A": None}, {"env": [{"name": "B", "value": "2"}]}),
        ({"/spec/env": {"0": None, "1": {"name": "C"}}}, {"env": [{"name": "C", "value": "2"}]}),
        ({"/spec/env/C": {"value": "3"}}, {"env": [*JOB["spec"]["env"], {"name": "C", "value": "3"}]}),
        ({"/spec/env": []}, {"env": []}),
        ({"/spec/args/1": "z"}, {"args": ["x", "z"]}),
        ({"/spec/n": {"m": 1}}, {"n": {"m": 1}}),
        ({"/spec/a~1b/c~0": 1}, {"a/b": {"c~": 1}}),
        ({"spec": {"absent": None}}, {}),
    ],
)
def test_patches(patch: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    before = repr(JOB)
    assert apply_patch(JOB, patch) == {"spec": JOB["spec"] | expected}
    assert repr(JOB) == before


@pytest.mark.parametrize(
    "patch",
    [{"/spec/args/two": "z"}, {"/spec/args/2": "z"}, {"/spec/env/C": "3"}, {"/a" * (MAX_DEPTH + 1): 1}],
)
def test_patches_without_a_place(patch: Mapping[str, Any]) -> None:
    with pytest.raises(PatchError):
        apply_patch(JOB, patch)


def test_a_long_chain_of_bases() -> None:
    links = {str(number): {"base": str(number + 1), f"k{number}": 1} for number in range(3_000)}
    resolved = ExampleBases({**links, "3000": {"kind": "Pod"}}).resolve_object({"base": "0"})
    assert len(resolved) == 3_001


def test_every_base_of_our_own_is_used() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in POLICIES.rglob("*.yaml"))
    assert [name for name in load_example_bases().names if not re.search(rf"base: {name}\b(?!-)", text)] == []
