"""podplan plan: AppWrappers, SparkApplications and CronJobs, whose Pods other objects state."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from podplan.cli.plan import plan_paths
from podplan.cluster.queued_objects import iter_queued_objects, lower_queued_pods
from podplan.cluster.reading import read_cluster
from podplan.core.provenance import TracedDocument
from podplan.tools.plan.model import PlannedJob
from podplan.tools.plan.planning import Planner
from podplan.yaml import parse_yaml
from tests.test_plan import QUEUES, plan_files

LABEL = "kueue.x-k8s.io/queue-name"
MEMORY_QUEUES = QUEUES.replace("[cpu]", "[cpu, memory]").replace(
    "nominalQuota: 10}]", "nominalQuota: 10}, {name: memory, nominalQuota: 100Gi}]"
)
POD_SPEC = (
    "{restartPolicy: Never, containers: [{name: main, image: 'r.io/a:1', resources: {requests: {cpu: 2}}}]}"
)
POD_TEMPLATE = f"template: {{spec: {POD_SPEC}}}"
METADATA = f"metadata: {{name: one, namespace: team, labels: {{{LABEL}: queue}}}}"
FRAMEWORKS = """\
---
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {frameworks: [batch/job, sparkoperator.k8s.io/sparkapplication]}
"""


def wrap(*components: str) -> str:
    """An AppWrapper of these components."""
    entries = "\n".join(f"  - {one}" for one in components)
    head = f"apiVersion: workload.codeflare.dev/v1beta2\nkind: AppWrapper\n{METADATA}"
    return f"{head}\nspec:\n  components:\n{entries}\n"


JOB = (
    f"template: {{apiVersion: batch/v1, kind: Job, spec: {{parallelism: 3, completions: 2, {POD_TEMPLATE}}}}}"
)
SERVICE = "template: {apiVersion: v1, kind: Service, spec: {}}"
TASKS = (
    "template: {apiVersion: example.com/v1, kind: TaskJob, "
    f"spec: {{tasks: [{{{POD_TEMPLATE}}}, {{{POD_TEMPLATE}}}]}}}}"
)
DECLARED = "{path: 'template.spec.tasks[1].template', replicas: 2}"
PYTORCH = (
    "template: {apiVersion: kubeflow.org/v1, kind: PyTorchJob, spec: {pytorchReplicaSpecs: "
    f"{{Master: {{{POD_TEMPLATE}}}, Worker: {{replicas: 3, {POD_TEMPLATE}}}}}}}}}"
)
JOB_SET = (
    "template: {apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, spec: {replicatedJobs: "
    f"[{{name: a, replicas: 2, template: {{spec: {{parallelism: 2, {POD_TEMPLATE}}}}}}}]}}}}"
)
RAY = (
    "template: {apiVersion: ray.io/v1, kind: RayJob, spec: {rayClusterSpec: "
    f"{{headGroupSpec: {{{POD_TEMPLATE}}}, workerGroupSpecs: [{{replicas: 2, {POD_TEMPLATE}}}]}}}}}}"
)
DEPLOYMENT = f"template: {{apiVersion: apps/v1, kind: Deployment, spec: {{replicas: 2, {POD_TEMPLATE}}}}}"
POD = f"template: {{apiVersion: v1, kind: Pod, spec: {POD_SPEC}}}"
NESTED = "template: {apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, spec: {}}"
ELSEWHERE = POD.replace("spec:", "metadata: {namespace: other}, spec:")

# AppWrapper, verdict, a part of the message, pod sets
WRAPPERS = {
    "a Job of two Pods": (wrap(SERVICE, JOB), "admitted", "", [("one-0", 2)]),
    "a PyTorchJob and a Pod": (
        wrap(PYTORCH, POD), "admitted", "", [("one-0", 1), ("one-1", 3), ("one-2", 1)]
    ),
    "a JobSet": (wrap(JOB_SET), "admitted", "", [("one-0", 4)]),
    "a RayJob without its submitter": (wrap(RAY), "admitted", "", [("one-0", 1), ("one-1", 2)]),
    "a Deployment at once": (wrap(DEPLOYMENT), "admitted", "", [("one-0", 2)]),
    "too much together": (
        wrap(JOB_SET, DEPLOYMENT), "pending", "podsets requests (8) + current podset request (4) > maximum",
        [("one-0", 4), ("one-1", 2)],
    ),
    "declared Pods": (
        wrap(f"podSets: [{DECLARED}]\n    {TASKS}"), "admitted", "", [("one-0", 2)]
    ),
    "a declared number that differs": (
        wrap(f"podSets: [{{path: template.spec.template, replicas: 3}}]\n    {JOB}"),
        "rejected", "replica count 3 differs from inferred count 2", [],
    ),
    "a declared path to nothing": (
        wrap(f"podSets: [{{path: template.spec.template}}]\n    {TASKS}"),
        "rejected", "does not refer to a v1.PodSpecTemplate", [],
    ),
    "another declared path": (
        wrap(f"podSets: [{{path: template}}]\n    {JOB}"), "rejected", "is missing", [],
    ),
    "more declared Pods than there are": (
        wrap(f"podSets: [{{path: template}}, {{path: template.spec.template, replicas: 2}}]\n    {JOB}"),
        "rejected", "DeclaredPodSet count 2 differs from inferred count 1", [],
    ),
    "one declared twice": (
        wrap(f"podSets: [{DECLARED}, {DECLARED}]\n    {TASKS}"), "rejected", "the same path", [],
    ),
    "no Pods": (wrap(SERVICE), "rejected", "components contains no podspecs", []),
    "nine pod sets": (wrap(*[POD] * 9), "rejected", "components contains 9 podspecs", []),
    "nested": (wrap(NESTED), "rejected", "Nested AppWrappers are forbidden", []),
    "another namespace": (wrap(ELSEWHERE), "rejected", "in other namespaces", []),
    "a name that no pod set may have": (
        wrap(POD).replace("name: one", "name: a.b"), "inadmissible", "must be a DNS label", [],
    ),
    "a generated name": (
        wrap(POD).replace("name: one", "generateName: one-"), "admitted", "", [("one-xxxxx-0", 1)]
    ),
    "elastic": (
        wrap(POD).replace("name: one,", "name: one, annotations: {kueue.x-k8s.io/elastic-job: 'true'},"),
        "rejected", "elastic job is not supported", [],
    ),
    "a placeholder": (wrap(JOB.replace("3", "'${N}'")), "unknown", "number of replicas", []),
    "a queue in a component only": (
        wrap(POD.replace("spec:", f"metadata: {{labels: {{{LABEL}: queue}}}}, spec:")).replace(
            f", labels: {{{LABEL}: queue}}", ""
        ),
        "unknown", "components", [],
    ),
}  # fmt: skip


def plan_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, objects: str, queues: str = MEMORY_QUEUES
) -> PlannedJob:
    [job] = plan_files(folder, monkeypatch, queues=queues, objects=objects).jobs
    return job


@pytest.mark.parametrize("name", WRAPPERS)
def test_app_wrappers(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects, verdict, message, pod_sets = WRAPPERS[name]
    job = plan_one(tmp_path, monkeypatch, objects)
    assert (job.verdict, [(one.name, one.size) for one in job.pod_sets]) == (verdict, pod_sets)
    assert message in (job.message or "")


def test_a_sidecar_of_an_app_wrapper_is_an_init_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pod set has no restartPolicy of containers, so that the amounts are not added."""
    sidecar = "{name: logs, image: 'r.io/b:1', restartPolicy: Always, resources: {requests: {cpu: 1}}}"
    pod = POD.replace("containers:", f"initContainers: [{sidecar}], containers:")
    assert plan_one(tmp_path, monkeypatch, wrap(pod)).pod_sets[0].requests == {"cpu": "2"}


def build_spark(spec: str, labels: str = f", labels: {{{LABEL}: queue}}") -> str:
    return (
        "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\n"
        f"metadata: {{name: one, namespace: team{labels}}}\nspec: {spec}\n"
    )


# spec, verdict, a part of the message, pod sets
SPARK = {
    "neither cores nor overhead": (
        "{mode: cluster, memoryOverheadFactor: '0.4', driver: {cores: 4, memory: 512m}, "
        "executor: {cores: 4, instances: 3, memory: 2gb, memoryOverhead: 1g}}",
        "admitted", "",
        [("driver", 1, {"memory": "512Mi"}), ("executor", 3, {"memory": "2Gi"})],
    ),
    "requests and limits": (
        "{driver: {coreRequest: 500m, coreLimit: 1200m, memoryLimit: 3g}, executor: {coreLimit: '2'}}",
        "admitted", "",
        [
            ("driver", 1, {"cpu": "500m", "memory": "1Gi"}),
            ("executor", 1, {"cpu": "2", "memory": "1Gi"}),
        ],
    ),
    "memory by sparkConf": (
        "{sparkConf: {spark.driver.memory: 4g, spark.executor.memory: 4g, spark.executor.instances: '4'}, "
        "driver: {coreRequest: '1'}, executor: {coreRequest: '1'}}",
        "admitted", "", [("driver", 1, {"cpu": "1"}), ("executor", 0, {})],
    ),
    "a sidecar counts": (
        "{driver: {memory: 1g, sidecars: [{name: a, image: 'r.io/a:1', "
        "resources: {requests: {cpu: 1, memory: 1Gi}}}]}, executor: {instances: 0}}",
        "admitted", "", [("driver", 1, {"cpu": "1", "memory": "2Gi"}), ("executor", 0, {})],
    ),
    "a sidecar called executor": (
        "{driver: {}, executor: {memory: 3g, coreRequest: '2', sidecars: [{name: executor, image: a, "
        "resources: {requests: {cpu: 1, memory: 1Gi}}}]}}",
        "admitted", "",
        [("driver", 1, {"memory": "1Gi"}), ("executor", 1, {"cpu": "2", "memory": "3Gi"})],
    ),
    "GPUs that no group covers": (
        "{driver: {}, executor: {gpu: {name: nvidia.com/gpu, quantity: 1}}}",
        "pending", "resource nvidia.com/gpu unavailable in ClusterQueue",
        [("driver", 1, {"memory": "1Gi"}), ("executor", 1, {"memory": "1Gi", "nvidia.com/gpu": "1"})],
    ),
    "client mode": ("{mode: client, driver: {}, executor: {}}", "rejected", "only Cluster mode", []),
    "dynamic allocation": (
        "{dynamicAllocation: {enabled: true}, driver: {}, executor: {}}", "rejected", "dynamicAllocation", [],
    ),
    "no amount": (
        "{driver: {memory: much}, executor: {}}", "rejected", "failed to parse memory much", [],
    ),
    "no cores": ("{driver: {coreLimit: one}, executor: {}}", "rejected", "failed to parse coreLimit", []),
    "a placeholder": ("{driver: {}, executor: {instances: '${N}'}}", "unknown", "number of replicas", []),
}  # fmt: skip


@pytest.mark.parametrize("name", SPARK)
def test_spark_applications(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, verdict, message, pod_sets = SPARK[name]
    job = plan_one(tmp_path, monkeypatch, build_spark(spec), MEMORY_QUEUES + FRAMEWORKS)
    shown = [(one.name, one.size, dict(one.requests)) for one in job.pod_sets]
    assert (job.verdict, shown) == (verdict, pod_sets)
    assert message in (job.message or "")


def test_spark_is_off_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = plan_one(tmp_path, monkeypatch, build_spark("{mode: client, driver: {}, executor: {}}"))
    assert (job.verdict, "alpha feature" in str(job.message)) == ("ignored", True)


def test_spark_pods_with_a_queue_are_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spark = build_spark(f"{{driver: {{labels: {{{LABEL}: queue}}}}, executor: {{}}}}", labels="")
    assert plan_one(tmp_path, monkeypatch, spark).verdict == "unknown"


def build_cron_job(job_labels: str = "", own_labels: str = "", pod_labels: str = "") -> str:
    return f"""\
apiVersion: batch/v1
kind: CronJob
metadata: {{name: one, namespace: team, labels: {{{own_labels}}}}}
spec:
  schedule: 0 2 * * *
  jobTemplate:
    metadata: {{labels: {{{job_labels}}}}}
    spec:
      parallelism: 2
      activeDeadlineSeconds: 3600
      template: {{metadata: {{labels: {{{pod_labels}}}}}, spec: {POD_SPEC}}}
"""


QUEUED = f"{LABEL}: queue"
DEFAULT = MEMORY_QUEUES.replace("{name: queue,", "{name: default,")
# CronJob, queues, verdict, a part of the message
CRON_JOBS = {
    "the label of the Job": (build_cron_job(QUEUED), MEMORY_QUEUES, "admitted", ""),
    "the label of the CronJob": (
        build_cron_job(own_labels=QUEUED), MEMORY_QUEUES, "ignored", "into spec.jobTemplate.metadata.labels"
    ),
    "the label of Pods becomes that of the Job": (
        build_cron_job(pod_labels=QUEUED), MEMORY_QUEUES, "admitted", ""
    ),
    "the label of Pods beside others": (
        build_cron_job("app: a", pod_labels=QUEUED), MEMORY_QUEUES, "ignored", "has no label"
    ),
    "the default queue": (build_cron_job(own_labels=QUEUED), DEFAULT, "admitted", ""),
    "no number": (
        build_cron_job(QUEUED).replace("parallelism: 2", "parallelism: ${N}"),
        MEMORY_QUEUES, "unknown", "number",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CRON_JOBS)
def test_cron_jobs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects, queues, verdict, message = CRON_JOBS[name]
    job = plan_one(tmp_path, monkeypatch, objects, queues)
    assert (job.kind, job.name, job.verdict) == ("CronJob", "one", verdict)
    assert message in (job.message or "")
    if verdict == "admitted":
        assert [(one.name, one.size) for one in job.pod_sets] == [("main", 2)]
        assert job.seconds == 3600


def test_a_cron_job_without_a_queue_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not plan_files(tmp_path, monkeypatch, queues=MEMORY_QUEUES, objects=build_cron_job()).jobs
    (tmp_path / "first.yaml").write_text(FRAMEWORKS)
    (tmp_path / "second.yaml").write_text(FRAMEWORKS.replace("batch/job, ", ""))
    assert not plan_paths((".",), isolated=True)[0].jobs


SPARK_WITH_ALL = build_spark(
    "{mode: cluster, sparkConf: {a: b}, dynamicAllocation: {enabled: false}, driver: {coreRequest: 500m, "
    "memory: 1g, template: {metadata: {labels: {a: b}}}, sidecars: [{name: a, resources: {requests: {}}}]}, "
    "executor: {instances: 2, gpu: {name: nvidia.com/gpu, quantity: 1}, initContainers: [{name: a}]}}"
)
JUNK: tuple[Any, ...] = ([], {}, "x", -1, True, [None], {"a": None})


def iter_paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path and path[0] not in ("apiVersion", "kind"):
        yield path
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
    )
    for key, entry in entries:
        yield from iter_paths(entry, (*path, key))


def put(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The data with another value at a path."""
    copied = copy.deepcopy(data)
    holder = copied
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return copied


@pytest.mark.parametrize(
    "text",
    [wrap(f"podSets: [{DECLARED}]\n    {TASKS}", JOB_SET, RAY), SPARK_WITH_ALL, build_cron_job(QUEUED)],
    ids=["AppWrapper", "SparkApplication", "CronJob"],
)
def test_nothing_in_an_object_ends_a_plan(text: str) -> None:
    queues = parse_yaml(MEMORY_QUEUES.encode(), "q").documents
    cluster = read_cluster([TracedDocument("q", one.data, source=one) for one in queues])
    data = yaml.safe_load(text)
    for path in iter_paths(data):
        for value in JUNK:
            planner = Planner(cluster)
            document = TracedDocument("o", put(data, path, value), source=parse_yaml(b"{}", "o").documents[0])
            for queued in iter_queued_objects([document]):
                planner.add_object(queued)
                assert all(group.replicas for group in lower_queued_pods(queued))
            planner.finish()
