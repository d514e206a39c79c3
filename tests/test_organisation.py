"""Policies that an organisation brings: found where the configuration says, applied, and faulty ones told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import podplan

JOB = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: DeepSpeedJob
metadata: {name: gpt}
spec:
  config: {slotsPerWorker: 8, run: {python: [train.py]}}
  worker:
    template:
      spec:
        containers:
        - name: worker
          image: registry.example.com/nlp/deepspeed:0.15.4
          resources: {limits: {nvidia.com/gpu: 8, memory: 64Gi}}
"""
OWN = """\
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
- {name: none, verdict: bad, object: {apiVersion: v1, kind: Pod}}
"""
ADMISSION = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: gpu-bound}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  validations:
  - expression: >-
      object.spec.containers.all(c, int(c.?resources.?limits[?'nvidia.com/gpu'].orValue('0')) <= 4)
    message: at most four GPUs in a container
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: gpu-bound}
spec: {policyName: gpu-bound, validationActions: [Deny]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "rules").mkdir()
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "podplan.toml").write_text('policies = ["rules"]\n')
    (tmp_path / "rules" / "own.yaml").write_text(OWN)
    return tmp_path


def lines(folder: Path, *flags: str) -> list[str]:
    """What the policies of the organisation say, and what is said of them."""
    said = podplan("check", "--format", "concise", *flags, "job.yaml", cwd=folder).out.splitlines()
    return [line for line in said if any(code in line for code in (" ORG", " VAP:", " POLICY"))]


def test_a_policy_of_our_form(folder: Path) -> None:
    assert lines(folder) == ["job.yaml:3:11: error ORG001 the job has no label team"]


def test_an_admission_policy_as_it_is(folder: Path) -> None:
    (folder / "rules" / "gpus.yaml").write_text(ADMISSION)
    assert "job.yaml:10:11: error VAP:gpu-bound at most four GPUs in a container" in lines(folder)
    assert not any("VAP" in line for line in lines(folder, "--ignore", "VAP:gpu-bound"))


SCHEMA = next(line for line in OWN.splitlines() if line.startswith("schema:"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("severity: error", "severity: grave", "own.yaml:3:11: error POLICY001 severity must be"),
        ("ORG001", "RES001", 'own.yaml:1:5: error POLICY001 id "RES001" is that of another policy'),
        (SCHEMA, "check: run-this", 'own.yaml:8:8: error POLICY001 there is no check "run-this"'),
        (
            SCHEMA,
            'cel: {validations: [{expression: "object.("}]}',
            "error POLICY001 the expression cannot be evaluated",
        ),
    ],
)
def test_a_faulty_policy_is_an_error_with_its_place(folder: Path, old: str, new: str, said: str) -> None:
    (folder / "rules" / "own.yaml").write_text(OWN.replace(old, new))
    assert any(said in line for line in lines(folder)), lines(folder)


def test_a_fault_is_said_once_for_many_jobs(folder: Path) -> None:
    (folder / "job.yaml").write_text(JOB + "---\n" + JOB.replace("name: gpt", "name: two"))
    (folder / "rules" / "own.yaml").write_text(OWN.replace("severity: error", "severity: grave"))
    assert sum("POLICY001" in line for line in lines(folder)) == 1


def test_nothing_outside_the_repository_is_read(folder: Path) -> None:
    (folder / "podplan.toml").write_text('policies = ["../elsewhere"]\n')
    assert podplan("check", "job.yaml", cwd=folder).code == 2
