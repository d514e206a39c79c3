"""Lines of public repositories that podplan reported by mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import podplan
from tests.rows import each_row

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: test}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: registry.example.com/nccl-tests:1
        env: [{name: LD_LIBRARY_PATH, value: /lib64}]
        command: [bash, -c, '%s']
        resources: {limits: {nvidia.com/gpu: 2}}
"""
AGENT = '--mca plm_rsh_agent "ssh -q -o LogLevel=ERROR -p 222"'


@each_row(
    ("rule", "reported", "silent"),
    [
        # GoogleCloudPlatform/cluster-toolkit: gke-a4/nccl-jobset-example.yaml and gke-g4/nccl-test.yaml
        pytest.param(
            "DIST014", 'mpirun "-np 2 -q" all_reduce_perf', f"mpirun {AGENT} all_reduce_perf", id="agent"
        ),
        pytest.param(
            "DIST001", "mpirun -np 1 all_reduce_perf -g 1", "mpirun -np 1 all_reduce_perf -g 2", id="gpus"
        ),
    ],
)
def test_a_line_that_is_right(rule: str, reported: str, silent: str, tmp_path: Path) -> None:
    for line, expected in ((reported, True), (silent, False)):
        (tmp_path / "job.yaml").write_text(JOB % line)
        run = podplan("check", "--isolated", "--format", "concise", "--select", rule, ".", cwd=tmp_path)
        assert (rule in run.out) is expected, (line, run.out)


def test_variables_that_the_shell_lists(tmp_path: Path) -> None:
    job = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: test}
spec:
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers:
          - name: main
            image: registry.example.com/nccl-tests:1
            env: [{name: LD_LIBRARY_PATH, value: /lib64}]
            command: [bash, -c, 'mpirun --bind-to none -np 2 -x %s all_reduce_perf']
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: main, image: "registry.example.com/nccl-tests:1"}]}}
"""
    for variables, expected in (("PATH", True), ("$ENV_VARS", False)):
        (tmp_path / "job.yaml").write_text(job % variables)
        run = podplan("check", "--isolated", "--format", "concise", "--select", "SSH010", ".", cwd=tmp_path)
        assert ("SSH010" in run.out) is expected, run.out
