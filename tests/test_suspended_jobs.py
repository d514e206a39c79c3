"""Suspended jobs: what diff counts of them, and what lower and why say of their Pods."""

from __future__ import annotations

from pathlib import Path

import pytest

from podplan.cli.diff import compare_paths
from podplan.report import diff_text
from podplan.tools.diff.model import Count
from tests.command import podplan

SUSPENDED = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  labels: {kueue.x-k8s.io/queue-name: queue}
spec:
  parallelism: 2
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: registry.example.com/train:1
        resources: {limits: {nvidia.com/gpu: 8}}
"""
RUNNING = SUSPENDED.replace("suspend: true", "suspend: false")
WITHOUT_QUEUE = SUSPENDED.replace("kueue.x-k8s.io/queue-name", "team")
NOTE = "Job train is suspended, and counted without Pods and GPUs before and after"


def scale(text: str) -> str:
    """Return the text of a job with more Pods."""
    return text.replace("parallelism: 2", "parallelism: 64")


@pytest.mark.parametrize(
    ("before", "after", "gpus", "notes"),
    [
        (SUSPENDED, scale(SUSPENDED), Count(16, 512), ()),
        (SUSPENDED, scale(RUNNING), Count(16, 512), ()),
        (WITHOUT_QUEUE, scale(WITHOUT_QUEUE), Count(0, 0), (NOTE,)),
        (WITHOUT_QUEUE, WITHOUT_QUEUE.replace("suspend: true", "suspend: false"), Count(0, 16), ()),
    ],
    ids=["in a queue", "admitted", "without a queue", "resumed"],
)
def test_a_job_in_a_queue_counts_as_admitted(
    before: str,
    after: str,
    gpus: Count,
    notes: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for folder, text in (("old", before), ("new", after)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "job.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    diff = compare_paths(("new",), base_tree="old")
    assert (diff.impact.gpus, diff.notes) == (gpus, notes), diff_text.render(diff)


@pytest.mark.parametrize("path", ["Pod/train-0:spec", "RANK"])
def test_why_says_that_the_job_is_suspended(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "job.yaml").write_text(SUSPENDED)
    monkeypatch.chdir(tmp_path)
    run = podplan("why", "--isolated", "job.yaml", path)
    assert run.code == 2
    assert "Job train has no Pods because of spec.suspend: true; --resumed lowers it as it runs" in run.err


def test_lower_says_that_jobs_are_suspended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"train-{number}" for number in range(5)]
    jobs = [SUSPENDED.replace("name: train", f"name: {name}") for name in names]
    (tmp_path / "jobs.yaml").write_text("---\n".join(jobs))
    monkeypatch.chdir(tmp_path)
    run = podplan("lower", "--isolated", "jobs.yaml")
    assert (run.code, run.out) == (0, "")
    assert [name for name in names if name in run.err] == names[:3]
    assert run.err.endswith("\n2 more are suspended\n")
    run = podplan("lower", "--isolated", "--resumed", "jobs.yaml")
    assert (run.err, run.out.count("kind: Pod")) == ("", 10)
