"""CronJobs: the Job that they create, and what the API server refuses beside it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.golden_cases import podplan
from tests.rows import each_row

CRON_JOB = """\
apiVersion: batch/v1
kind: CronJob
metadata:
  name: nightly
  namespace: ads
spec:
  schedule: "30 2 * * *"
  timeZone: Europe/Berlin
  concurrencyPolicy: Forbid
  jobTemplate:
    spec:
      backoffLimit: 2
      activeDeadlineSeconds: 36000
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: train
            image: registry.example.com/ads/ctr:4.1.0
            command: [torchrun, --standalone, --nproc_per_node=4, /app/train.py, --out=/model, --resume=auto]
            resources: {limits: {cpu: 32, memory: 240Gi, nvidia.com/gpu: 4}}
            volumeMounts:
            - {name: model, mountPath: /model}
            - {name: shm, mountPath: /dev/shm}
          volumes:
          - {name: model, persistentVolumeClaim: {claimName: ctr}}
          - {name: shm, emptyDir: {medium: Memory, sizeLimit: 32Gi}}
"""
SCHEDULE = '"30 2 * * *"'

MISTAKES = {
    "an hour that does not exist": (SCHEDULE, '"30 26 * * *"', "SCHEMA006", 7),
    "a field for seconds": (SCHEDULE, '"0 30 2 * * *"', "SCHEMA006", 7),
    "a day that never comes": (SCHEDULE, '"0 2 31 2,4 *"', "SCHEMA006", 7),
    "a range that ends before it begins": (SCHEDULE, '"0 2 * * FRI-MON"', "SCHEMA006", 7),
    "a step of 0": (SCHEDULE, '"*/0 2 * * *"', "SCHEMA006", 7),
    "an unknown macro": (SCHEDULE, '"@nightly"', "SCHEMA006", 7),
    "a time zone in the schedule": (SCHEDULE, '"TZ=Asia/Tokyo 0 2 * * *"', "SCHEMA006", 7),
    "an abbreviation": ("Europe/Berlin", "CEST", "SCHEMA006", 8),
    "an offset": ("Europe/Berlin", "UTC+2", "SCHEMA006", 8),
    "a policy of another kind": ("Forbid", "Never", "SCHEMA004", 9),
    "a long name": ("name: nightly", f"name: {'n' * 53}", "SCHEMA006", 4),
    "a field of the Job": ("  jobTemplate:", "  backoffLimit: 2\n  jobTemplate:", "SCHEMA001", 10),
    "the Job": ("restartPolicy: Never", "restartPolicy: Always", "SCHEMA004", 16),
    "the Pods": ("nproc_per_node=4", "nproc_per_node=8", "DIST005", 20),
}
CORRECT = ("@daily", "*/15 1-4 * * MON-FRI", "0 0 29 2 *", "0 2 31 * *", "0 2 31 2 1", "5,35 8-18/2 1 jan ?")


def check(tmp_path: Path, text: str) -> list[tuple[str, int]]:
    path = tmp_path / "job.yaml"
    path.write_text(text)
    run = podplan("check", "--isolated", "--format", "json", str(path))
    found = json.loads(run.out)["findings"]
    return [(one["rule"], one["line"]) for one in found if one["severity"] != "info"]


@each_row("name", MISTAKES)
def test_mistakes(name: str, tmp_path: Path) -> None:
    old, new, rule, line = MISTAKES[name]
    assert check(tmp_path, CRON_JOB.replace(old, new, 1)) == [(rule, line)]


@each_row("schedule", CORRECT)
def test_schedules(schedule: str, tmp_path: Path) -> None:
    assert check(tmp_path, CRON_JOB.replace(SCHEDULE, f'"{schedule}"')) == []


def test_queue_is_reported_once(tmp_path: Path) -> None:
    label = "labels: {kueue.x-k8s.io/queue-name: ads}"
    assert check(tmp_path, CRON_JOB.replace("namespace: ads", f"namespace: ads\n  {label}")) == [
        ("SCHED071", 6)
    ]
    in_template = CRON_JOB.replace("jobTemplate:", f"jobTemplate:\n    metadata: {{{label}}}")
    assert check(tmp_path, in_template) == []
