"""podplan diff on the command line: exit codes, and what is said where nothing can be compared."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from podplan.cli.diff import compare_paths
from podplan.core.errors import UsageError
from tests import command
from tests.comparing.repository import job, podplan
from tests.git import Git, commit, git_in


def test_exit_codes(git: Git, tmp_path: Path) -> None:
    said = podplan("diff", cwd=tmp_path)
    assert (said.code, said.err) == (0, "")
    assert said.out.endswith("→ work tree\n\nno change: both sides make the same objects\n")
    (tmp_path / "two.yaml").write_text(job("two", 3))
    assert podplan("diff", cwd=tmp_path).code == 0
    assert podplan("diff", "--exit-code", cwd=tmp_path).code == 1
    (tmp_path / "two.yaml").write_text(job("two").replace("replicas: 2", "replica: 2"))
    broken = podplan("diff", "--format", "json", cwd=tmp_path)
    assert broken.code == 1
    assert json.loads(broken.out)["jobs"][0]["findings"][0]["file"] == "two.yaml"
    assert podplan("diff", "--fail-on", "never", cwd=tmp_path).code == 0
    commit(git, "broken")
    (tmp_path / "two.yaml").write_text(job("two").replace("replicas: 2", "replica: 2") + "# still\n")
    assert podplan("diff", cwd=tmp_path).code == 0  # what was broken before is not broken by the change


@pytest.mark.usefixtures("git")
def test_a_summary_leaves_changes_out(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(job("two", 3))
    said = podplan("diff", "--summary", "--exit-code", cwd=tmp_path)
    assert said.code == 1
    assert "1 needs re-creation" in said.out
    assert "two.yaml: 2 → 3 Pods" in said.out
    assert "two-worker-2" not in said.out


WITH_DEADLINE = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata: {name: bert}
spec:
  runPolicy: {activeDeadlineSeconds: 7200}
  replicaSpecs:
  - type: worker
    replicas: 2
    template:
      spec:
        containers:
        - {name: pytorch, image: "busybox:1.36", resources: {limits: {nvidia.com/gpu: 8}}}
"""


def test_gpus_are_split_by_when_they_come(git: Git, tmp_path: Path) -> None:
    (tmp_path / "bert.yaml").write_text(WITH_DEADLINE)
    commit(git, "bert")
    (tmp_path / "bert.yaml").write_text(WITH_DEADLINE.replace("replicas: 2", "replicas: 3"))
    (tmp_path / "gpt.yaml").write_text(WITH_DEADLINE.replace("bert", "gpt"))
    said = podplan("diff", cwd=tmp_path).out
    assert "1 created, 1 needs re-creation\n" in said
    assert "until then the running job keeps what it has: +16 GPUs on merge, +8 only" in said
    assert "bert.yaml: 2 → 3 Pods, 16 → 24 GPUs, at most 32 → 48 GPU-hours" in said
    assert "gpt.yaml: 2 Pods, 16 GPUs, at most 32 GPU-hours" in said
    data = json.loads(podplan("diff", "--format", "json", cwd=tmp_path).out)
    jobs = {one["name"]: one for one in data["jobs"]}
    assert data["impact"]["gpuChange"] == {"onMerge": 16, "afterRecreation": 8}
    assert jobs["bert"]["gpuChange"] == {"onMerge": 0, "afterRecreation": 8}
    assert jobs["gpt"]["gpuChange"] == {"onMerge": 16, "afterRecreation": 0}
    assert jobs["bert"]["gpuHours"] == {"before": 32, "after": 48}
    assert (jobs["bert"]["effect"], jobs["gpt"]["what"]) == ("re-run", "created")
    (tmp_path / "bert.yaml").write_text(
        WITH_DEADLINE.replace("activeDeadlineSeconds: 7200", "backoffLimit: 1")
    )
    changed = json.loads(podplan("diff", "--format", "json", cwd=tmp_path).out)["jobs"]
    assert next(one for one in changed if one["name"] == "bert")["gpuHours"] is None


def test_nothing_to_compare(git: Git, tmp_path: Path) -> None:
    git("rm", "-q", "-r", "jobs", "two.yaml")
    (tmp_path / "readme.yaml").write_text("a: 1\n")
    commit(git, "empty")
    said = podplan("diff", cwd=tmp_path)
    assert (said.code, said.out) == (3, "")
    assert "no training job on either side" in said.err


def test_what_cannot_be_compared_is_said_in_a_sentence(git: Git, tmp_path: Path) -> None:
    for arguments, sentence in (
        (("--base", "nowhere"), 'there is no revision "nowhere"'),
        (("--base", "--output=x"), "cannot be the name of a revision"),
        (("-",), "files and folders of one repository"),
        (("--base-tree", "jobs", "--base", "main"), "without --base"),
        (("-e", "prod"), 'no profile has the environment "prod", before or after; no profile has any'),
    ):
        said = podplan("diff", *arguments, cwd=tmp_path)
        assert (said.code, said.out) == (2, "")
        assert sentence in said.err
    said = podplan("diff", "nowhere.yaml", cwd=tmp_path)
    assert said.code == 3
    assert "nowhere.yaml: no such file or folder, before or after" in said.err
    assert git("status", "--porcelain") == ""


def test_repositories_without_a_past(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(job("one"))
    said = podplan("diff", cwd=tmp_path)
    assert said.code == 2
    assert "is not a git repository; run this in a clone, or compare two folders" in said.err
    git_in(tmp_path)("init", "-q")
    said = podplan("diff", cwd=tmp_path)
    assert said.code == 2
    assert "no commits yet" in said.err


@pytest.mark.usefixtures("git")
def test_more_objects_than_the_limit(tmp_path: Path) -> None:
    said = command.podplan("diff", cwd=tmp_path, env={"PODPLAN_LIMITS": "objects=1"})
    assert (said.code, said.out) == (4, "")
    assert "PODPLAN_LIMITS=objects=N" in said.err


def test_the_place_where_one_stands_is_the_same_after_an_error(git: Git, tmp_path: Path) -> None:
    (tmp_path / "podplan.toml").write_text("exclude = 3\n")
    commit(git, "broken configuration")
    before = os.getcwd()
    with pytest.raises(UsageError):
        compare_paths(())
    assert os.getcwd() == before


def test_the_headline_names_what_cannot_be_read(git: Git, tmp_path: Path) -> None:
    (tmp_path / "bert.yaml").write_text(WITH_DEADLINE)
    commit(git, "bert")
    (tmp_path / "gpt.yaml").write_text("apiVersion: podplan/v1\nkind: [\n")
    said = podplan("diff", cwd=tmp_path)
    assert "no job changes, 1 file cannot be read\n" in said.out.replace("\n        ", " ")
    assert said.code == 1
    commit(git, "a file that cannot be read")
    (tmp_path / "gpt.yaml").write_text("apiVersion: podplan/v1\nkind: [\n# changed\n")
    for format_ in ("text", "markdown"):
        out = podplan("diff", "--format", format_, cwd=tmp_path).out
        assert "no change in what can be compared; 1 job or file with errors is not compared\n" in out
    (tmp_path / "gpt.yaml").write_text(WITH_DEADLINE.replace("bert", "gpt"))
    assert "1 mended" in podplan("diff", cwd=tmp_path).out
