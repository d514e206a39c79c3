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


def test_pods_of_ray(tmp_path: Path) -> None:
    # ray-project/kuberay: ray-cluster.head-command.yaml and ray-cluster.persistent-redis-sidecar.yaml
    cluster = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: test}
spec:
  headGroupSpec:
    rayStartParams: {}
    template:
      metadata: {labels: {sidecar.istio.io/inject: "true"}}
      spec:
        containers:
        - {name: ray-head, image: "registry.example.com/ray:1", command: ["echo 123"], args: ["456"]}
        - {name: redis, image: "registry.example.com/redis:1", command: [redis-server, /etc/redis.conf]}
"""
    (tmp_path / "ray.yaml").write_text(cluster)
    check = ("check", "--isolated", "--format", "concise", "--select", "EXEC,LIFE021,NET002", ".")
    run = podplan(*check, cwd=tmp_path)
    assert (run.code, run.out.splitlines()[0][:11]) == (0, "no findings"), run.out
    mounted = cluster.replace(
        'image: "registry.example.com/redis:1"',
        'image: "registry.example.com/redis:1", volumeMounts: [{name: ray-token, mountPath: /t}]',
    )
    with_token = "  authOptions: {mode: token, enableK8sTokenAuth: true}\n"
    for text, expected in ((mounted, True), (mounted + with_token, False)):
        (tmp_path / "ray.yaml").write_text(text)
        run = podplan("check", "--isolated", "--format", "concise", ".", cwd=tmp_path)
        assert ("SCHEMA008" in run.out) is expected, run.out
    (tmp_path / "ray.yaml").write_text(cluster.replace("[redis-server, ", '["redis-server -v", '))
    assert "EXEC005" in podplan(*check, cwd=tmp_path).out  # the shell does not read other containers


def test_placeholders_that_are_called_like_their_variable(tmp_path: Path) -> None:
    # ray-project/kuberay: historyserver/config/raycluster-gcs.yaml
    job = JOB.replace("LD_LIBRARY_PATH", "BUCKET") % "mpirun train"
    check = ("check", "--isolated", "--format", "concise", "--select", "EXEC004", ".")
    for value, expected in (("${BUCKET}", False), ("gs://${BUCKET}", True)):
        (tmp_path / "job.yaml").write_text(job.replace("/lib64", f'"{value}"'))
        assert ("EXEC004" in podplan(*check, cwd=tmp_path).out) is expected
