"""Jobs to compare in two revisions, and the output of podplan diff in the current folder."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path

from podplan.cli.diff import compare_paths
from tests.command import Run
from tests.golden_cases import podplan as here

CR = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: GenericJob
metadata: {name: NAME}
spec:
  replicaSpecs:
  - type: worker
    replicas: 2
    template: {spec: {containers: [{name: main, image: "busybox:1.36", args: [echo, hello]}]}}
"""
PROFILE = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: profile}
spec:
  job: GenericJob
  image: registry.example.com/a:1
  run: [train.py]
  replicas: 2
"""


def job(name: str, replicas: int = 2) -> str:
    return CR.replace("NAME", name).replace("replicas: 2", f"replicas: {replicas}")


def podplan(*arguments: str, cwd: Path) -> Run:
    """Run ``podplan arguments`` in this process, in a folder."""
    with chdir(cwd):
        return here(*arguments)


def names(*paths: str, **flags: object) -> list[tuple[str, str, str]]:
    """Return the outcome for each job and its file."""
    return [(one.what, one.name, one.file) for one in compare_paths(paths, **flags).jobs]
