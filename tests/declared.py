"""A repository with declared kinds: one with templates in its CRs, one with a separate template."""

from __future__ import annotations

from pathlib import Path

MAPPINGS = """\
apiVersion: podplan/v1
kind: WorkloadMapping
metadata: {name: tuning}
spec:
  group: ml.example.com
  kind: TuneJob
  replicaTypes:
  - name: worker
    templateFrom: {group: ml.example.com, kind: TuneTemplate, name: spec.template}
    template: spec.patch
    replicas: spec.workers
    defaultReplicas: 2
    trainingContainer: tune
---
apiVersion: podplan/v1
kind: WorkloadMapping
spec:
  group: batch.example.com
  kind: TaskJob
  replicaTypes:
  - {template: "spec.tasks[*].template", replicas: "spec.tasks[*].replicas"}
"""
TEMPLATE = """\
apiVersion: ml.example.com/v1
kind: TuneTemplate
metadata: {name: big}
template:
  metadata: {labels: {app: tune}}
  spec:
    containers:
    - name: proxy
      image: registry.example.com/proxy:1.0.0
    - name: tune
      image: registry.example.com/tune:1.0.0
      resources: {limits: {memory: 32Gi, nvidia.com/gpu: 8}}
"""
TUNE_JOB = """\
apiVersion: ml.example.com/v1
kind: TuneJob
metadata: {name: sweep, namespace: team}
spec: {template: big, workers: 4}
"""
TASK_JOB = """\
apiVersion: batch.example.com/v1
kind: TaskJob
metadata: {name: etl}
spec:
  tasks:
  - name: head
    replicas: 1
    template: {spec: {containers: [{name: main, image: "registry.example.com/etl:1.0.0"}]}}
  - name: Worker
    replicas: 3
    template: {spec: {containers: [{name: main, image: "registry.example.com/etl:1.0.0"}]}}
"""
FILES = {
    "jobs/sweep.yaml": TUNE_JOB,
    "jobs/etl.yaml": TASK_JOB,
    "platform/mappings.yaml": MAPPINGS,
    "platform/template.yaml": TEMPLATE,
}


def lay_out(folder: Path, files: dict[str, str] = FILES) -> None:
    """Write files below a folder, which becomes the top of a repository."""
    (folder / ".git").mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
