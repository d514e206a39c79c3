"""A finding names the lines that make it so, in bases, params and environments too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from podplan.lint.registry import load_policy_documents
from tests.command import podplan
from tests.policy_examples import findings

HEAD = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: one}
spec:
"""
BODY = """\
  job: PyTorchTrainingJob
  image: registry.example.com/train@sha256:0000000000000000000000000000000000000000000000000000000000000000
  launcher: torchrun
  run: [train.py]
  shm: 8Gi
"""
LITERAL_GPUS = "  resources: {limits: {nvidia.com/gpu: 8, cpu: 8, memory: 64Gi}}\n"
PARAM_GPUS = LITERAL_GPUS.replace("gpu: 8", 'gpu: "${{ params.gpus }}"')
GPU_PARAMS = "  params: {gpus: {type: integer, default: 4}}\n"
ENVIRONMENTS = "  environments:\n    dev: {}\n    prod: {values: {gpus: 8}}\n"


def list_lines(folder: Path, rule: str) -> dict[str, set[str]]:
    """The texts of all lines that a finding names, by its message, and the variants that it names."""
    page = json.loads(podplan("check", "--format", "json", ".", cwd=folder).out)
    lines = {path.name: path.read_text().splitlines() for path in folder.iterdir()}
    found = {}
    for one in page["findings"]:
        if one["rule"] == rule:
            places = [one, *one["related"]]
            found[one["message"]] = {lines[place["file"]][place["line"] - 1].strip() for place in places}
    return found


@pytest.mark.parametrize("in_base", [False, True])
def test_the_line_of_an_environment_that_sets_a_related_value(tmp_path: Path, in_base: bool) -> None:
    shared = f"{BODY}  processes: 4\n{GPU_PARAMS}{PARAM_GPUS}"
    if in_base:
        (tmp_path / "base.yaml").write_text(HEAD.replace("JobProfile", "JobProfileBase") + shared)
        shared = "  extends: [base.yaml]\n"
    (tmp_path / "job.yaml").write_text(HEAD + shared + ENVIRONMENTS)
    [named] = list_lines(tmp_path, "DIST001").values()
    assert {"processes: 4", PARAM_GPUS.strip(), "prod: {values: {gpus: 8}}"} <= named
    assert ("extends: [base.yaml]" in named) is in_base


def test_the_default_of_a_param_and_the_axis_of_a_matrix(tmp_path: Path) -> None:
    params = "  params: {processes: {type: integer, default: 4}}\n"
    text = f"{HEAD}{BODY}  processes: ${{{{ params.processes }}}}\n{params}{LITERAL_GPUS}"
    (tmp_path / "job.yaml").write_text(text)
    [named] = list_lines(tmp_path, "DIST001").values()
    assert {params.strip(), "processes: ${{ params.processes }}", LITERAL_GPUS.strip()} <= named
    axes = "  matrix: {axes: {processes: [2, 8]}}\n"
    (tmp_path / "job.yaml").write_text(text.replace(params, axes).replace("params.", "matrix."))
    [named] = list_lines(tmp_path, "DIST001").values()
    assert axes.strip() in named


def test_the_variants_that_have_a_finding_are_named(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(f"{HEAD}{BODY}  processes: 4\n{GPU_PARAMS}{PARAM_GPUS}{ENVIRONMENTS}")
    page = json.loads(podplan("check", "--format", "json", ".", cwd=tmp_path).out)
    [finding] = [one for one in page["findings"] if one["rule"] == "DIST001"]
    assert finding["instances"] == {"hit": 1, "of": 3, "ids": ["prod"]}


# Rules whose messages speak of another line, with the label of that line.
LABELS_OF_OTHER_LINES = {
    "CR004": "selects the launcher",
    "CR009": "selects the launcher",
    "CR014": "because of this",
    "DIST004": "2 Pods",
    "DIST015": "the port of the rendezvous",
    "GEN001": "2 Pods",
    "GIT070": "the queue",
    "NET008": "user 1000",
    "RES021": "the CPUs of the container",
    "RES025": "2 GPUs",
    "SCHED003": "requires t9k-scheduler",
    "SCHED005": "the inventory",
    "SCHED089": "the request of master",
    "VOL005": "the inventory",
    "VOL006": "the inventory",
}


@pytest.mark.parametrize(("rule", "label"), LABELS_OF_OTHER_LINES.items())
def test_the_line_that_the_message_speaks_of(rule: str, label: str) -> None:
    [examples] = [data["examples"] for data in load_policy_documents() if data["id"] == rule]
    labels = {
        related.message
        for example in examples
        if example["verdict"] == "bad"
        for finding in findings(example, rule)
        if finding.rule == rule
        for related in finding.related
    }
    assert label in labels


def test_the_launcher_of_the_profile_that_draws_a_finding_of_its_base(tmp_path: Path) -> None:
    base = BODY.replace("  launcher: torchrun\n", "") + LITERAL_GPUS
    (tmp_path / "base.yaml").write_text(f"{HEAD.replace('JobProfile', 'JobProfileBase')}{base}")
    profile = f"{HEAD}  extends: [base.yaml]\n"
    for launcher, rule in (("python", "DIST001"), ("torchrun", "CR009")):
        text = f"{profile}  launcher: {launcher}\n"
        (tmp_path / "job.yaml").write_text(text + '  env: {RANK: "0"}\n' * (rule == "CR009"))
        [named] = list_lines(tmp_path, rule).values()
        assert f"launcher: {launcher}" in named


def test_the_profile_that_extends_another_profile(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(f"{HEAD}{BODY}  processes: 8\n{LITERAL_GPUS}")
    (tmp_path / "job.yaml").write_text(f"{HEAD}  extends: [base.yaml]\n  env: {{X: a}}\n  processes: 4\n")
    (tmp_path / "other.yaml").write_text(f"{HEAD}  extends: [base.yaml]\n  launcher: python\n")
    [named] = list_lines(tmp_path, "PROF021").values()
    assert {"processes: 8", "extends: [base.yaml]", "launcher: python"} <= named


def test_a_field_at_the_top_that_belongs_in_a_section(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(f"{HEAD}{BODY}extends: [base.yaml]\nname: two\n")
    page = json.loads(podplan("check", "--format", "json", ".", cwd=tmp_path).out)
    assert [one["message"] for one in page["findings"] if one["rule"] == "PROF001"] == [
        'unknown field "extends"; it belongs in spec',
        'unknown field "name"; it belongs in metadata',
    ]
