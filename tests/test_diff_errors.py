"""podplan diff of jobs that have errors before the change."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import podplan

REFUSED = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - name: main
            image: registry.example.com/train:1
            resources: {requests: {cpu: 4}, limits: {cpu: 4}}
"""
NOTE = "it has errors before and after the change; it is not compared: job.yaml"


@pytest.mark.parametrize(
    ("before", "after", "code", "part"),
    [
        (REFUSED, REFUSED.replace("cpu: 4", "cpu: 8"), 0, NOTE),
        (
            REFUSED,
            REFUSED.replace("requests: {cpu: 4}", "requests: {cpu: 8}"),
            1,
            "x broken    PyTorchJob train",
        ),
        (REFUSED.replace("main", "pytorch"), REFUSED, 1, "x broken    PyTorchJob train"),
        (REFUSED, REFUSED.replace("main", "pytorch"), 0, "o mended    PyTorchJob train"),
        (f"{REFUSED}a: [", f"{REFUSED}b: [", 0, NOTE),
    ],
    ids=["the same error", "one more error", "a first error", "mended", "invalid YAML"],
)
def test_a_job_is_broken_by_an_error_that_it_did_not_have(
    before: str, after: str, code: int, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, text in (("old", before), ("new", after)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "job.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    run = podplan("diff", "new", "--base-tree", "old")
    assert part in " ".join(run.out.split()) or part in run.out
    assert run.code == code


def test_three_files_of_jobs_with_errors_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("old", "new"):
        (tmp_path / folder).mkdir()
        for number in range(5):
            (tmp_path / folder / f"job-{number}.yaml").write_text(f"{REFUSED}{folder}: [")
    monkeypatch.chdir(tmp_path)
    run = podplan("diff", "new", "--base-tree", "old")
    assert " ".join(run.out.split()).endswith("job-0.yaml, job-1.yaml, job-2.yaml and 2 more files")
