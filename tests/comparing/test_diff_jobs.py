"""What podplan diff says has become of jobs: which are paired, told together, broken or moved."""

from __future__ import annotations

from pathlib import Path

import pytest

from podplan.cli.diff import compare_paths
from podplan.core.errors import UsageError
from podplan.report import diff_json, diff_text
from podplan.report.diff_words import format_recreation
from tests.comparing.repository import PROFILE, job, names, podplan
from tests.git import Git, commit

PYTORCH_JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: a, namespace: lab}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template: &template
        spec:
          containers:
          - name: pytorch
            image: registry.example.com/a:1
            args: [train.py]
            resources: {limits: {nvidia.com/gpu: 8}}
    Worker:
      replicas: 2
      template: *template
"""


def test_environments_are_asked_for_on_both_sides(git: Git, tmp_path: Path) -> None:
    under = "  environments:\n    dev: {replicas: 1}\n    prod: {replicas: 4, namespace: prod}\n"
    (tmp_path / "profile.yaml").write_text(PROFILE + under)
    commit(git, "environments")
    (tmp_path / "profile.yaml").write_text(
        PROFILE
        + under.replace("replicas: 1", "replicas: 3").replace("replicas: 4", "replicas: 5")
        + "    new: {}\n"
    )
    every = compare_paths(("profile.yaml",))
    assert sorted((one.what, one.environment) for one in every.jobs) == [
        ("changed", "dev"),
        ("changed", "prod"),
        ("created", "new"),
    ]
    assert [one.environment for one in compare_paths(("profile.yaml",), environments=("dev",)).jobs] == [
        "dev"
    ]
    assert [one.environment for one in compare_paths(("profile.yaml",), environments=("new",)).jobs] == [
        "new"
    ]
    with pytest.raises(UsageError, match="there are dev, new, prod"):
        compare_paths(("profile.yaml",), environments=("stage",))


def test_a_job_of_an_environment_is_told_with_it(git: Git, tmp_path: Path) -> None:
    environments = "  environments:\n    dev: {namespace: dev}\n    prod: {namespace: prod}\n    test: {}\n"
    (tmp_path / "profile.yaml").write_text(PROFILE + environments)
    commit(git, "environments")
    moved = environments.replace("namespace: dev", "namespace: new").replace("prod}", "prod, replicas: 3}")
    (tmp_path / "profile.yaml").write_text(PROFILE + moved.replace("test: {}", "test: {replicas: 4}"))
    shown = diff_text.render(compare_paths(()))
    assert "dev/profile → new/profile" in shown
    assert "GenericJobs prod/profile and profile (test)" in shown


@pytest.mark.parametrize(
    ("changes", "split"),
    [
        ({"replicas: 2": "replicas: 6"}, ""),
        ({"a:1": "a:2"}, "keeps what it has"),
        ({"replicas: 2": "replicas: 6", "a:1": "a:2"}, "keeps what it has: +32 GPUs on merge"),
        ({"replicas: 2": "replicas: 1", "a:1": "a:2"}, "keeps what it has: -8 GPUs on merge"),
        (
            {"replicas: 2": "replicas: 6", "gpu: 8": "gpu: 4"},
            "keeps what it has: +16 GPUs on merge, -12 only after re-creation",
        ),
    ],
    ids=["replicas", "image", "more and image", "fewer and image", "more of another size"],
)
def test_replicas_are_added_on_merge_beside_what_needs_re_creation(
    git: Git, tmp_path: Path, changes: dict[str, str], split: str
) -> None:
    (tmp_path / "job.yaml").write_text(PYTORCH_JOB)
    commit(git, "a job")
    text = PYTORCH_JOB
    for before, after in changes.items():
        text = text.replace(before, after)
    (tmp_path / "job.yaml").write_text(text)
    assert format_recreation(compare_paths(())).removeprefix("until then the running job ") == split


KUBEFLOW_JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bert}
spec:
  pytorchReplicaSpecs:
    Master: {replicas: 1, template: {spec: {containers: [{name: pytorch, image: "a:1"}]}}}
    Worker: {replicas: 3, template: {spec: {containers: [{name: pytorch, image: "a:1"}]}}}
"""
T9K_JOB = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata: {name: bert}
spec:
  elastic: {enabled: true, minReplicas: 1, maxReplicas: 4, expectedReplicas: 2}
  torchrunConfig: {enabled: true}
  replicaSpecs:
  - type: worker
    template: {spec: {containers: [{name: pytorch, image: "a:1", args: [train.py]}]}}
"""


@pytest.mark.parametrize(
    ("base", "old", "new", "variables"),
    [
        (KUBEFLOW_JOB, "replicas: 3", "replicas: 7", "WORLD_SIZE"),
        (KUBEFLOW_JOB, "replicas: 3", "replicas: 2", "WORLD_SIZE"),
        (KUBEFLOW_JOB, "a:1", "a:2", ""),
        (T9K_JOB, "expectedReplicas: 2", "expectedReplicas: 3", ""),  # not documented
    ],
    ids=["more", "fewer", "image", "T9k"],
)
def test_variables_that_running_pods_keep(
    git: Git, tmp_path: Path, base: str, old: str, new: str, variables: str
) -> None:
    (tmp_path / "job.yaml").write_text(base)
    commit(git, "a job")
    (tmp_path / "job.yaml").write_text(base.replace(old, new))
    notes = [note for note in compare_paths(()).notes if "that run keep" in note]
    expected = f"PyTorchJob bert: the Pods that run keep {variables} "
    assert [note.startswith(expected) for note in notes] == ([True] if variables else [])


@pytest.mark.usefixtures("git")
def test_what_is_rendered_from_a_profile_is_no_second_job(tmp_path: Path) -> None:
    (tmp_path / "profile.yaml").write_text(PROFILE)
    said = podplan("render", "profile.yaml", "-o", "rendered", cwd=tmp_path)
    assert said.code == 0
    assert names() == [("created", "profile", "profile.yaml")]


def test_ten_thousand_replicas_are_one_line(git: Git, tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(job("two", 10_000))
    commit(git, "many")
    (tmp_path / "two.yaml").write_text(job("two", 10_000).replace("1.36", "1.37"))
    change = compare_paths(()).changes[0]
    assert (change.part, change.before, change.after, change.objects) == (
        "spec.containers[main].image",
        "busybox:1.36",
        "busybox:1.37",
        10_000,
    )


@pytest.mark.usefixtures("git")
def test_jobs_of_many_files_are_told_together(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"job-{number:02}.yaml").write_text(job(f"job-{number:02}"))
    found = diff_text.render(compare_paths(()))
    assert (
        "+ created   30 GenericJobs job-00, job-01, job-02 and 27 more\n"
        "            job-00.yaml, job-01.yaml, job-02.yaml and 27 more: 60 Pods\n"
    ) in found


def test_a_job_that_is_written_again_is_paired_by_its_file_and_said_to_be(git: Git, tmp_path: Path) -> None:
    (tmp_path / "again.yaml").write_text(job("two").replace("1.36", "1.37"))
    assert names() == [("created", "two", "again.yaml")]
    (note,) = compare_paths(()).notes
    assert note.startswith("GenericJob two is written 2 times (again.yaml, two.yaml): it counts each time")
    commit(git, "twice")
    assert compare_paths(()).notes == ()
    (tmp_path / "two.yaml").unlink()
    (note,) = compare_paths(()).notes
    assert note.startswith("GenericJob two was written 2 times (again.yaml, two.yaml)")


def test_the_fault_of_a_base_that_names_the_kind_breaks_the_jobs_on_it(git: Git, tmp_path: Path) -> None:
    base = PROFILE.replace("JobProfile", "JobProfileBase").replace("metadata: {name: profile}\n", "")
    (tmp_path / "base.yaml").write_text(base)
    profile = "apiVersion: podplan/v1\nkind: JobProfile\nmetadata: {name: profile}\n"
    (tmp_path / "profile.yaml").write_text(profile + "spec: {extends: [base.yaml]}\n")
    commit(git, "a profile on a base")
    (tmp_path / "base.yaml").write_text(base + "  deadlin: 24h\n")
    (broken,) = compare_paths(()).jobs
    assert (broken.what, broken.kind, broken.name) == ("broken", "GenericJob", "profile")


def test_a_kind_that_is_misspelt_removes_no_job(git: Git, tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(job("two").replace("GenericJob", "genericjob"))
    assert names() == [("broken", "two", "two.yaml")]
    assert compare_paths(()).impact.pods == (2, 2)
    commit(git, "misspelt")
    (tmp_path / "two.yaml").write_text(job("two"))
    assert names() == [("mended", "two", "two.yaml")]


def test_a_file_that_is_still_broken_at_another_line_is_no_news(git: Git, tmp_path: Path) -> None:
    profile = "apiVersion: podplan/v1\nkind: JobProfile\nmetadata: {name: profile}\n"
    (tmp_path / "profile.yaml").write_text(profile + "spec: {job: GenericJob, extends: [base.yaml]}\n")
    (tmp_path / "base.yaml").write_text("spec: {replicas: 2\n")
    commit(git, "a broken base")
    (tmp_path / "base.yaml").write_text("# the base\nspec: {replicas: 2\n")
    assert names() == []
    (tmp_path / "base.yaml").write_text("spec: {replicas: [2\n")
    assert compare_paths(()).notes[0].startswith("1 job is excluded from the totals because it has errors")


def test_an_inventory_that_is_still_broken_is_no_job(git: Git, tmp_path: Path) -> None:
    inventory = "apiVersion: podplan/v1\nkind: ClusterInventory\nmetadata: {name: main}\nspec: {nodes: []}\n"
    (tmp_path / "inventory.yaml").write_text(inventory)
    commit(git, "a broken inventory")
    (tmp_path / "two.yaml").write_text(job("two", 3))
    assert compare_paths(()).notes == ()


def test_a_quota_that_changes_is_told_though_no_job_does(git: Git, tmp_path: Path) -> None:
    inventory = "apiVersion: podplan/v1\nkind: ClusterInventory\nmetadata: {name: main}\nspec:\n"
    inventory += "  queues: {a: {quota: {nvidia.com/gpu: 64}}}\n"
    (tmp_path / "inventory.yaml").write_text(inventory)
    gpus = "schedule: {queue: a}\n  resources: {limits: {nvidia.com/gpu: 8}}\n  replicas: 2"
    (tmp_path / "profile.yaml").write_text(PROFILE.replace("replicas: 2", gpus))
    commit(git, "a queue")
    (tmp_path / "inventory.yaml").write_text(inventory.replace("64", "8"))
    found = compare_paths(())
    assert (found.jobs, found.is_empty) == ((), False)
    assert "the quota goes from 64 to 8, so not all\n        run at once)" in diff_text.render(found)
    (queue,) = diff_json.build_impact(found)["queues"]
    assert (queue["before"], queue["after"], queue["quota"], queue["quotaBefore"]) == (16, 16, 8, 64)
