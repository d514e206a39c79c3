"""podplan plan: situations that no record holds, each decided by hand from docs/evidence/kueue.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.test_plan import plan_files

KUEUE = "kueue.x-k8s.io"
CPU = "cpu"
Objects = list[dict[str, Any]]


def flavor(name: str = "f1", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{KUEUE}/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": name},
        "spec": spec,
    }


def groups(quotas: dict[str, Any], resource: str = CPU) -> list[dict[str, Any]]:
    """One group with a resource: the quota of each flavor, a number or its fields."""
    flavors = [
        {
            "name": name,
            "resources": [{"name": resource, **(one if isinstance(one, dict) else {"nominalQuota": one})}],
        }
        for name, one in quotas.items()
    ]
    return [{"coveredResources": [resource], "flavors": flavors}]


def queue(quotas: dict[str, Any], name: str = "main", resource: str = CPU, **spec: Any) -> dict[str, Any]:
    full = {"namespaceSelector": {}, "resourceGroups": groups(quotas, resource), **spec}
    return {
        "apiVersion": f"{KUEUE}/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": full,
    }


def cohort(name: str, quotas: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    full = {**spec, **({"resourceGroups": groups(quotas)} if quotas else {})}
    return {"apiVersion": f"{KUEUE}/v1beta2", "kind": "Cohort", "metadata": {"name": name}, "spec": full}


def local(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "queue", "namespace": "team"}
    full = {"clusterQueue": "main", **spec}
    return {"apiVersion": f"{KUEUE}/v1beta2", "kind": "LocalQueue", "metadata": metadata, "spec": full}


def job(
    cpu: str | int = 1, pods: int = 1, template: dict[str, Any] | None = None, **metadata: Any
) -> dict[str, Any]:
    container = {"name": "main", "image": "registry.example.com/a:1", "resources": {"requests": {CPU: cpu}}}
    pod = {"restartPolicy": "Never", "containers": [container], **(template or {}).get("spec", {})}
    labels = {f"{KUEUE}/queue-name": "queue", **metadata.get("labels", {})}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "job", "namespace": "team", **metadata, "labels": labels},
        "spec": {"parallelism": pods, "template": {**(template or {}), "spec": pod}},
    }


def annotated(**annotations: str) -> dict[str, Any]:
    prefix = f"{KUEUE}/podset-"
    found = {prefix + name.replace("_", "-"): value for name, value in annotations.items()}
    return {"metadata": {"annotations": found}}


def requesting(**resources: Any) -> dict[str, Any]:
    written = {"requests": resources, "limits": resources}
    container = {"name": "main", "image": "registry.example.com/a:1", "resources": written}
    return {"spec": {"containers": [container]}}


def configuration(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **fields}


def namespace(**labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": labels}}


def node(name: str, rack: str, cpu: int = 4, **spec: Any) -> dict[str, Any]:
    labels = {"pool": "tas", "rack": rack, "kubernetes.io/hostname": name}
    status = {
        "allocatable": {CPU: str(cpu), "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": status,
    }


TOPOLOGY: Objects = [
    {
        "apiVersion": f"{KUEUE}/v1beta2",
        "kind": "Topology",
        "metadata": {"name": "racks"},
        "spec": {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]},
    },
    flavor(nodeLabels={"pool": "tas"}, topologyName="racks"),
    queue({"f1": 100}),
    *(node(f"{rack}-{number}", rack) for rack in ("a", "b") for number in (1, 2)),
]
MIG, MEMORY = "nvidia.com/mig-1g.5gb", "example.com/memory"


def transformation(strategy: str) -> dict[str, Any]:
    one = {"input": MIG, "strategy": strategy, "outputs": {MEMORY: "5Gi"}}
    return configuration(resources={"transformations": [one]})


def check(active: str) -> dict[str, Any]:
    return {
        "apiVersion": f"{KUEUE}/v1beta2",
        "kind": "AdmissionCheck",
        "metadata": {"name": "approval"},
        "spec": {"controllerName": "example.com/approval"},
        "status": {"conditions": [{"type": "Active", "status": active}]},
    }


CHECKED = queue({"f1": 4}, admissionChecksStrategy={"admissionChecks": [{"name": "approval"}]})
CLASS = {
    "apiVersion": f"{KUEUE}/v1beta2",
    "kind": "WorkloadPriorityClass",
    "metadata": {"name": "high"},
    "value": 9,
}
JOB_SET = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": job()["metadata"],
    "spec": {
        "replicatedJobs": [
            {"name": name, "replicas": 1, "template": {"spec": job(cpu=3)["spec"]}} for name in ("one", "two")
        ]
    },
}
LENDER = queue({"f1": {"nominalQuota": 10, "lendingLimit": 3}}, "other", cohortName="all")
PRIVATE = {"nominalQuota": 4, "lendingLimit": 0}
RANGE = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "defaults", "namespace": "team"},
    "spec": {"limits": [{"type": "Container", "defaultRequest": {CPU: 1}}]},
}
LIMITED = {"name": "main", "image": "registry.example.com/a:1", "resources": {"limits": {CPU: 4}}}
OVERHEAD = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "kata"},
    "handler": "kata",
    "overhead": {"podFixed": {CPU: "250m"}},
}
HELPERS = [
    {"name": "proxy", "image": "registry.example.com/a:1", "restartPolicy": "Always",
     "resources": {"requests": {CPU: 1}}},
    {"name": "copy", "image": "registry.example.com/a:1", "resources": {"requests": {CPU: 4}}},
]  # fmt: skip
BORROWING = queue({"f1": 2, "f2": 4}, cohortName="all")
OTHER = queue({"f1": 4, "f2": 4}, "other", cohortName="all")
NEXT = {"flavorFungibility": {"whenCanBorrow": "TryNextFlavor"}}
TEAMS = {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["free"]}]}
MINIMUM = {"annotations": {f"{KUEUE}/job-min-parallelism": "2"}}
CHILD = cohort("left", {"f1": {"nominalQuota": 0, "borrowingLimit": 2}}, parentName="root")

# objects beside the LocalQueue and the flavor f1, the verdict, and a part of its message or of its flavors
SITUATIONS: dict[str, tuple[Objects, str, str]] = {
    "what others lend": ([queue({"f1": 4}, cohortName="all"), LENDER, job(7)], "admitted", "main x 1: f1"),
    "more than others lend": (
        [queue({"f1": 4}, cohortName="all"), LENDER, job(8)],
        "pending",
        "capacity (7)",
    ),
    "an own limit of borrowing": (
        [queue({"f1": {"nominalQuota": 4, "borrowingLimit": 1}}, cohortName="all"), LENDER, job(6)],
        "pending",
        "capacity (5)",
    ),
    "an own limit of lending": (
        [queue({"f1": PRIVATE}, cohortName="all"), queue({"f1": 2}, "other", cohortName="all"), job(6)],
        "admitted",
        "",
    ),
    "the quota of a cohort above": (
        [
            queue({"f1": 1}, cohortName="left"),
            cohort("left", parentName="root"),
            cohort("root", {"f1": 5}),
            job(7),
        ],
        "pending",
        "capacity (6)",
    ),
    "a cohort that borrows little": (
        [queue({"f1": 1}, cohortName="left"), CHILD, cohort("root", {"f1": 5}), job(4)],
        "pending",
        "capacity (3)",
    ),
    "a cohort that lends little": (
        [
            queue({"f1": 1}, cohortName="left"),
            cohort("left", parentName="root"),
            cohort("root"),
            cohort("right", {"f1": {"nominalQuota": 8, "lendingLimit": 2}}, parentName="root"),
            job(4),
        ],
        "pending",
        "capacity (3)",
    ),
    "a stopped queue lends": (
        [
            queue({"f1": 1}, cohortName="all"),
            {**OTHER, "spec": {**OTHER["spec"], "stopPolicy": "Hold"}},
            flavor("f2"),
            job(5),
        ],
        "admitted",
        "main x 1: f1",
    ),
    "borrowing first": ([BORROWING, OTHER, flavor("f2"), job(3)], "admitted", "main x 1: f1"),
    "the next flavor before borrowing": (
        [{**BORROWING, "spec": {**BORROWING["spec"], **NEXT}}, OTHER, flavor("f2"), job(3)],
        "admitted",
        "main x 1: f2",
    ),
    "the first of two that borrow": (
        [{**BORROWING, "spec": {**BORROWING["spec"], **NEXT}}, OTHER, flavor("f2"), job(6)],
        "admitted",
        "main x 1: f1",
    ),
    "as many Pods as fit": ([queue({"f1": 3}), job(1, 5, **MINIMUM)], "admitted", "main x 3: f1"),
    "fewer than the least": (
        [queue({"f1": 1}), job(1, 5, **MINIMUM)],
        "pending",
        "request (5) > maximum capacity (1)",
    ),
    "all Pods in a later flavor": (
        [queue({"f1": 3, "f2": 5}), flavor("f2"), job(1, 5, **MINIMUM)],
        "admitted",
        "main x 5: f2",
    ),
    "partial admission off": (
        [queue({"f1": 3}), configuration(featureGates={"PartialAdmission": False}), job(1, 5, **MINIMUM)],
        "pending",
        "capacity (3)",
    ),
    "a rack": ([*TOPOLOGY, job(4, 2, annotated(required_topology="rack"))], "admitted", "main x 2: f1"),
    "more than a rack": (
        [*TOPOLOGY, job(4, 3, annotated(required_topology="rack"))],
        "pending",
        "allows to fit only 2 out of 3 pod(s)",
    ),
    "a rack if possible": (
        [*TOPOLOGY, job(4, 3, annotated(preferred_topology="rack"))],
        "admitted",
        "main x 3: f1",
    ),
    "no such level": (
        [*TOPOLOGY, job(4, 2, annotated(required_topology="block"))],
        "pending",
        "requested level",
    ),
    "a slice in each rack": (
        [
            *TOPOLOGY,
            job(4, 4, annotated(slice_required_topology="rack", slice_size="2", preferred_topology="rack")),
        ],
        "admitted",
        "main x 4: f1",
    ),
    "a slice without its size": (
        [*TOPOLOGY, job(4, 4, annotated(slice_required_topology="rack"))],
        "rejected",
        "slice-size",
    ),
    "a cordoned node": (
        [*TOPOLOGY[:-1], node("b-2", "b", unschedulable=True), job(4, 4)],
        "pending",
        "only 3 out of 4",
    ),
    "a resource replaced by another": (
        [
            queue({"f1": "8Gi"}, resource=MEMORY),
            transformation("Replace"),
            job(template=requesting(**{MIG: 2})),
        ],
        "pending",
        "capacity (8589934592)",
    ),
    "a resource beside another": (
        [
            queue({"f1": "80Gi"}, resource=MEMORY),
            transformation("Retain"),
            job(template=requesting(**{MIG: 2})),
        ],
        "pending",
        f"resource {MIG} unavailable in ClusterQueue",
    ),
    "a prefix that is left out": (
        [
            queue({"f1": 4}),
            configuration(resources={"excludeResourcePrefixes": ["example.com"]}),
            job(template=requesting(cpu=1, **{"example.com/fabric": 1})),
        ],
        "admitted",
        "main x 1: f1",
    ),
    "undeclared resources ignored": (
        [
            queue({"f1": 4}),
            configuration(resources={"quotaCheckStrategy": "IgnoreUndeclared"}),
            job(template=requesting(cpu=1, **{"example.com/fabric": 1})),
        ],
        "admitted",
        "main x 1: f1",
    ),
    "a namespace without the label": (
        [queue({"f1": 4}, namespaceSelector=TEAMS), namespace(), job()],
        "admitted",
        "",
    ),
    "a namespace with the label": (
        [queue({"f1": 4}, namespaceSelector=TEAMS), namespace(tier="free"), job()],
        "pending",
        "doesn't match",
    ),
    "no selector": ([queue({"f1": 4}, namespaceSelector=None), job()], "pending", "doesn't match"),
    "a stopped queue": (
        [queue({"f1": 4}, stopPolicy="HoldAndDrain"), job()],
        "inadmissible",
        "main is inactive",
    ),
    "a stopped LocalQueue": (
        [queue({"f1": 4}), local(stopPolicy="Hold"), job()],
        "inadmissible",
        "LocalQueue queue is inactive",
    ),
    "the class of Kueue wins": (
        [
            queue({"f1": 4}),
            CLASS,
            job(template={"spec": {"priorityClassName": "none"}}, labels={f"{KUEUE}/priority-class": "high"}),
        ],
        "admitted",
        "",
    ),
    "no such class": (
        [queue({"f1": 4}), CLASS, job(labels={f"{KUEUE}/priority-class": "hihg"})],
        "inadmissible",
        '"hihg" not found',
    ),
    "an active check": ([CHECKED, check("True"), job()], "pending", "Quota reserved"),
    "an inactive check": ([CHECKED, check("False"), job()], "inadmissible", "main is inactive"),
    "a missing check": ([CHECKED, job()], "inadmissible", "main is inactive"),
    "a kind that is left out": (
        [queue({"f1": 9}), configuration(integrations={"frameworks": ["batch/job"]}), JOB_SET],
        "ignored",
        "",
    ),
    "pod sets one after the other": (
        [queue({"f1": 4, "f2": 3}), flavor("f2"), JOB_SET],
        "admitted",
        "one x 1: f1; two x 1: f2",
    ),
    "Pods are counted": (
        [queue({"f1": 2}, resource="pods"), job(0, 3)],
        "pending",
        "insufficient quota for pods",
    ),
    "no queue, and managed": (
        [
            queue({"f1": 4}),
            configuration(manageJobsWithoutQueueName=True),
            {**job(), "metadata": {"name": "job", "namespace": "team"}},
        ],
        "inadmissible",
        "LocalQueue  doesn't exist",
    ),
    "the default of requests": (
        [queue({"f1": 2}), RANGE, job(template={"spec": {"containers": [LIMITED]}})],
        "admitted",
        "main x 1: f1",
    ),
    "overhead": (
        [queue({"f1": 1}), OVERHEAD, job(1, template={"spec": {"runtimeClassName": "kata"}})],
        "pending",
        "request (1250m) > maximum capacity (1)",
    ),
    "a sidecar before an init container": (
        [queue({"f1": 4}), job(2, template={"spec": {"initContainers": HELPERS}})],
        "pending",
        "request (5)",
    ),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_situation(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects, verdict, part = SITUATIONS[name]
    kinds = {(one["kind"], one["metadata"]["name"]) for one in objects if "metadata" in one}
    added = [one for one in (flavor(), local()) if (one["kind"], one["metadata"]["name"]) not in kinds]
    text = yaml.safe_dump_all([*added, *objects])
    [job] = plan_files(tmp_path, monkeypatch, objects=text).jobs
    flavors = "; ".join(
        f"{one.name} x {one.admitted_size}: {'+'.join({*one.flavors.values()})}" for one in job.pod_sets
    )
    assert (job.verdict, job.errors) == (verdict, ()), job.message
    assert part in (flavors if verdict == "admitted" else str(job.message))
