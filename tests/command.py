"""Running podplan as a user does, and files to run it on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

JOB = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: GenericJob
metadata:
  name: count
spec:
  replicaSpecs:
  - type: worker
    replicas: 3
    template:
      spec:
        containers:
        - name: main
          image: busybox:1.36
          args: [echo, $(rank)]
          resources: {limits: {cpu: 1, memory: 1Gi}}
          securityContext:
            allowPrivilegeEscalation: false
            runAsNonRoot: true
            capabilities: {drop: [ALL]}
            seccompProfile: {type: RuntimeDefault}
  successRules:
  - worker: [0, 1, 2]
  cleanUpPolicy: All
"""
BAD_JOB = JOB.replace("replicas: 3", "replica: 3")
PROFILE = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: resnet}
spec:
  job: PyTorchTrainingJob
  image: registry.example.com/train:1
  run: [train.py]
  replicas: 2
"""
ENVIRONMENTS = PROFILE + "  environments:\n    dev: {replicas: 1}\n    prod: {replicas: 4}\n"
INVENTORY = "apiVersion: podplan/v1\nkind: ClusterInventory\nmetadata: {name: a}\nspec: {}\n"


class Run(NamedTuple):
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


def podplan(
    *arguments: str | Path, cwd: Path | None = None, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> Run:
    """``podplan arguments`` in a process of its own; bounded, and never a traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "podplan", *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        timeout=60,
        env={**os.environ, **(env or {})},
        check=False,
    )
    run = Run(done.returncode, done.stdout.decode(), done.stderr.decode())
    assert "Traceback" not in run.out + run.err, run.err
    assert "internal error" not in run.err, run.err
    return run
