"""podplan plan: objects that Kueue queues and that are no training jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from podplan.tools.plan.model import Plan
from tests.test_plan import QUEUES, plan_files

LABEL = "kueue.x-k8s.io/queue-name"
POD_SPEC = "{containers: [{name: main, image: 'registry.example.com/a:1', resources: {requests: {cpu: 4}}}]}"
WITHOUT_QUEUE = f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: one, namespace: team}}
spec: {{replicas: 3, template: {{metadata: {{labels: {{app: a}}}}, spec: {POD_SPEC}}}}}
"""
DEPLOYMENT = WITHOUT_QUEUE.replace("team}", f"team, labels: {{{LABEL}: queue}}}}")
TEMPLATE = WITHOUT_QUEUE.replace("app: a", f"{LABEL}: queue")
STATEFUL_SET = DEPLOYMENT.replace("Deployment", "StatefulSet")
LEADER = f"""\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {{name: one, namespace: team, labels: {{{LABEL}: queue}}}}
spec:
  replicas: 2
  leaderWorkerTemplate:
    {{size: 2, leaderTemplate: {{spec: {POD_SPEC}}}, workerTemplate: {{spec: {POD_SPEC}}}}}
"""
SERVICE = f"""\
apiVersion: ray.io/v1
kind: RayService
metadata: {{name: one, namespace: team, labels: {{{LABEL}: queue}}}}
spec:
  rayClusterConfig:
    headGroupSpec: {{template: {{spec: {POD_SPEC}}}}}
    workerGroupSpecs: [{{groupName: gpu, replicas: 1, template: {{spec: {POD_SPEC}}}}}]
"""
UNKNOWN = SERVICE.replace("ray.io/v1", "flink.example.com/v1").replace("RayService", "FlinkDeployment")
POD = f"""\
apiVersion: v1
kind: Pod
metadata:
  name: POD
  namespace: team
  labels: {{{LABEL}: queue, kueue.x-k8s.io/pod-group-name: one}}
  annotations: {{kueue.x-k8s.io/pod-group-total-count: "2"}}
spec: {POD_SPEC}
"""
GROUP = f"{POD}---\n{POD}".replace("POD", "a", 1).replace("POD", "b", 1)
DEFAULT = QUEUES.replace("{name: queue,", "{name: default,")
CONFIGURATION = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
OFF = f"---\n{CONFIGURATION}integrations: {{frameworks: [pod]}}\n"

# objects, queues, and of the one job: verdict, Pods, workloads, pod sets
ROWS = {
    "each Pod of a Deployment is a workload": (DEPLOYMENT, QUEUES, "admitted", 3, 3, [("main", 1)]),
    "no queue": (WITHOUT_QUEUE, QUEUES, "", 0, 0, []),
    "the default queue": (WITHOUT_QUEUE, DEFAULT, "admitted", 3, 3, [("main", 1)]),
    "the label in the template": (TEMPLATE, QUEUES, "admitted", 3, 3, [("main", 1)]),
    "the template's Pods are Pods": (TEMPLATE, QUEUES + OFF, "admitted", 3, 3, [("main", 1)]),
    "kind off": (DEPLOYMENT, QUEUES + OFF, "ignored", 3, 3, []),
    "no replicas": (DEPLOYMENT.replace("replicas: 3", "replicas: 0"), QUEUES, "ignored", 0, 0, []),
    "a placeholder": (DEPLOYMENT.replace("replicas: 3", "replicas: '${N}'"), QUEUES, "unknown", 0, 1, []),
    "a StatefulSet at once": (STATEFUL_SET, QUEUES, "pending", 3, 1, [("main", 3)]),
    "replicas of a LeaderWorkerSet": (LEADER, QUEUES, "admitted", 4, 2, [("leader", 1), ("worker", 1)]),
    "a large LeaderWorkerSet": (
        LEADER.replace("size: 2", "size: 3"), QUEUES, "pending", 6, 2, [("leader", 1), ("worker", 2)]
    ),
    "a RayService": (SERVICE, QUEUES, "admitted", 2, 1, [("head", 1), ("gpu", 1)]),
    "a kind that is not known": (UNKNOWN, QUEUES, "unknown", 0, 1, []),
    "an object without Pods": (
        f"{{apiVersion: v1, kind: Service, metadata: {{labels: {{'{LABEL}': queue}}}}, spec: {{}}}}",
        QUEUES, "", 0, 0, [],
    ),
    "one role": (GROUP, QUEUES, "admitted", 2, 1, [("a", 2)]),
    "two roles": (GROUP.replace("cpu: 4", "cpu: 1", 1), QUEUES, "admitted", 2, 1, [("a", 1), ("b", 1)]),
    "a Pod is missing": (POD, QUEUES, "inadmissible", 1, 1, []),
    "two counts": (GROUP.replace('"2"', '"1"', 1), QUEUES, "inadmissible", 2, 1, []),
    "two queues": (GROUP.replace(": queue", ": other", 1), QUEUES, "inadmissible", 2, 1, []),
    "no count": (POD.replace("pod-group-total-count", "other"), QUEUES, "rejected", 1, 1, []),
    "fast": (
        POD.replace('"2"}', '"2", kueue.x-k8s.io/pod-group-fast-admission: "true"}').replace("POD", "a"),
        QUEUES, "admitted", 2, 1, [("a", 2)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_objects(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects, queues, *expected = ROWS[name]
    plan = plan_files(tmp_path, monkeypatch, queues=queues, objects=objects)
    assert [describe(plan)] == [expected] or (not plan.jobs and not expected[0])


def describe(plan: Plan) -> list[object]:
    if not plan.jobs:
        return []
    [job] = plan.jobs
    assert job.name in ("one", "POD", "a")
    return [job.verdict, job.pods, job.workloads, [(one.name, one.size) for one in job.pod_sets]]


def test_the_sums_count_all_workloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [line] = plan_files(tmp_path, monkeypatch, queues=QUEUES, objects=DEPLOYMENT).quotas
    assert (line.used, line.nominal) == (12000, 10000)
