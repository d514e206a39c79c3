"""What gangs add up to: members, quotas, nodes, and the jobs of a queue."""

from __future__ import annotations

from typing import Any

import pytest

from podplan.core.findings import Finding
from tests.policy_examples import findings


def container(**resources: Any) -> dict[str, Any]:
    return {"name": "main", "image": "registry.example.com/train:1", "resources": resources}


def role(kind: str, replicas: int, *containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "replicas": replicas,
        "template": {"spec": {"containers": list(containers), **spec}},
    }


def job(*roles: dict[str, Any], name: str = "train", **spec: Any) -> dict[str, Any]:
    scheduler = {"t9kScheduler": {"queue": "research"}}
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "PyTorchTrainingJob",
        "metadata": {"name": name},
        "spec": {"scheduler": scheduler, "replicaSpecs": list(roles), **spec},
    }


def said(code: str, *objects: dict[str, Any], **inventory: Any) -> list[Finding]:
    """The findings of one rule."""
    found = findings({"objects": list(objects), "inventory": inventory}, code)
    return [one for one in found if one.rule == code]


def messages(code: str, *objects: dict[str, Any], **inventory: Any) -> list[str]:
    return [one.message for one in said(code, *objects, **inventory)]


def quota(**amounts: Any) -> dict[str, Any]:
    return {"queues": {"research": {"quota": amounts}}}


GPU = "nvidia.com/gpu"


def test_resources_of_a_pod_as_a_whole_count_for_those_of_its_containers() -> None:
    main = container(requests={"memory": "2Gi"}, limits={GPU: 2})
    pods = job(role("worker", 3, main, resources={"requests": {"memory": "10Gi"}, "limits": {"cpu": 4}}))
    assert messages("SCHED002", pods, **quota(memory="30Gi", cpu=12)) == []
    assert messages("SCHED002", pods, **quota(memory="29Gi")) == [
        "3 Pods that start together request 30Gi memory (3 × 10Gi), but the quota of the queue "
        '"research" is 29Gi: the job stays Pending'
    ]
    (found,) = said("SCHED002", pods, **quota(cpu=11))
    assert "request 12 cpu (3 × 4)" in found.message
    assert messages("SCHED002", pods, **quota(**{GPU: 5})) != []


def test_requests_count_before_limits_and_all_containers_together() -> None:
    main = container(requests={"memory": "10Gi"}, limits={"memory": "100Gi"})
    helper = {**container(limits={"memory": "2Gi"}), "name": "helper"}
    pods = job(role("worker", 3, main, helper))
    assert messages("SCHED002", pods, **quota(memory="36Gi")) == []
    assert messages("SCHED002", pods, **quota(memory="35Gi")) == [
        "3 Pods that start together request 36Gi memory (3 × 12Gi), but the quota of the queue "
        '"research" is 35Gi: the job stays Pending'
    ]


@pytest.mark.parametrize(("init", "needs"), [("8", None), ("30", "60")])
def test_init_containers_count_where_they_need_more(init: str, needs: str | None) -> None:
    prepare = {**container(limits={"cpu": init}), "name": "prepare"}
    pods = job(role("worker", 2, container(limits={"cpu": "10"}), initContainers=[prepare]))
    found = messages("SCHED002", pods, **quota(cpu=20))
    assert [f"request {needs} cpu" in one for one in found] == [True] * (needs is not None)


def test_sidecars_count_beside_the_containers() -> None:
    sidecar = {**container(limits={"cpu": "500m"}), "name": "logs", "restartPolicy": "Always"}
    pods = job(role("worker", 2, container(limits={"cpu": "10"}), initContainers=[sidecar]))
    assert "request 21 cpu (2 × 10.5)" in messages("SCHED002", pods, **quota(cpu=20))[0]


def test_roles_of_different_size_are_added_up() -> None:
    pods = job(
        role("master", 1, container(limits={GPU: 8})),
        role("worker", 3, container(limits={GPU: 4})),
        name="mix",
    )
    assert "request 20 nvidia.com/gpu (3 × 4 + 1 × 8)" in messages("SCHED002", pods, **quota(**{GPU: 19}))[0]
    assert messages("SCHED002", pods, **quota(**{GPU: 20})) == []


def test_an_elastic_gang_needs_its_minimum_of_the_least_pods() -> None:
    elastic = {"enabled": True, "minReplicas": 2, "maxReplicas": 4, "expectedReplicas": 4}
    roles = [role("master", 1, container(limits={GPU: 8})), role("worker", 3, container(limits={GPU: 4}))]
    pods = job(*roles, elastic=elastic, torchrunConfig={"enabled": True})
    assert messages("SCHED002", pods, **quota(**{GPU: 8})) == []
    assert (
        "2 Pods that start together request 8 nvidia.com/gpu"
        in messages("SCHED002", pods, **quota(**{GPU: 7}))[0]
    )


def test_a_gang_is_measured_without_writing_its_replicas_out() -> None:
    pods = job(role("worker", 1_000_000, container(limits={GPU: 8})))
    assert "8000000 nvidia.com/gpu (1000000 × 8)" in messages("SCHED002", pods, **quota(**{GPU: 64}))[0]


def test_the_finding_is_at_the_replicas_and_shows_the_quota() -> None:
    found = said("SCHED002", job(role("worker", 9, container(limits={GPU: 1}))), **quota(**{GPU: 8}))[0]
    assert found.location.path == ("spec", "replicaSpecs", 0, "replicas")
    assert found.related[0].location.file == "inventory.yaml"


@pytest.mark.parametrize(("cpu", "fits"), [("63500m", True), (64, False), ("64.0", False)])
def test_a_pod_is_compared_with_the_largest_node(cpu: object, fits: bool) -> None:
    nodes = {"small": {"allocatable": {"cpu": 8}}, "large": {"allocatable": {"cpu": "63.5"}}}
    found = messages("SCHED004", job(role("worker", 1, container(limits={"cpu": cpu}))), nodes=nodes)
    assert (
        found == [] if fits else ["the largest node that may run it, large, has 63.5" in found[0]] == [True]
    )


def test_a_node_whose_size_nobody_wrote_may_fit_anything() -> None:
    nodes = {"small": {"allocatable": {"cpu": 8}}, "unknown": {}}
    assert messages("SCHED004", job(role("worker", 1, container(limits={"cpu": 99}))), nodes=nodes) == []


def test_node_affinity_narrows_the_nodes() -> None:
    term = {"matchExpressions": [{"key": "gpu", "operator": "In", "values": ["t4"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    nodes = {
        "t4": {"allocatable": {"cpu": 8}, "labels": {"gpu": "t4"}},
        "a100": {"allocatable": {"cpu": 64}, "labels": {"gpu": "a100"}},
    }
    pinned = role("worker", 1, container(limits={"cpu": 9}), affinity={"nodeAffinity": required})
    assert "largest node that may run it, t4, has 8" in messages("SCHED004", job(pinned), nodes=nodes)[0]
    assert messages("SCHED004", job(role("worker", 1, container(limits={"cpu": 9}))), nodes=nodes) == []


def test_room_is_what_whole_nodes_hold() -> None:
    nodes = {"a100": {"count": 3, "allocatable": {GPU: 8, "cpu": 60}}}
    five = role("worker", 5, container(limits={GPU: 4, "cpu": 40}))
    assert "capacity for only 3" in messages("SCHED009", job(five), nodes=nodes)[0]
    six = role("worker", 6, container(limits={GPU: 4, "cpu": 30}))
    assert messages("SCHED009", job(six), nodes=nodes) == []


def test_the_share_of_a_node_says_how_many_gpus_idle() -> None:
    nodes = {"a100": {"allocatable": {GPU: 8, "memory": "800Gi"}}}
    greedy = role("worker", 1, container(limits={GPU: 1, "memory": "150Gi"}))
    assert messages("RES011", job(greedy), nodes=nodes) == [
        "150Gi memory is more than the share of 1 of 8 GPUs on a100, 100Gi: 3 GPUs of the node stay unused"
    ]
    assert (
        messages("RES011", job(role("worker", 1, container(limits={GPU: 1, "memory": "100Gi"}))), nodes=nodes)
        == []
    )


def test_the_jobs_of_a_queue_are_added_up_once_each() -> None:
    jobs = [job(role("worker", n, container(limits={GPU: 1})), name=f"job-{n}") for n in (2, 5, 3)]
    found = said("SCHED007", *jobs, **quota(**{GPU: 9}))
    assert [one.message for one in found] == [
        '3 jobs in the queue "research" together request 10 nvidia.com/gpu, but its quota is 9:'
        " some of them wait"
    ]
    assert found[0].object is not None
    assert found[0].object["name"] == "job-5"
    assert said("SCHED007", *jobs, **quota(**{GPU: 10})) == []


def test_a_profile_counts_once_in_a_queue_however_many_environments_it_has() -> None:
    profile = {
        "apiVersion": "podplan/v1",
        "kind": "JobProfile",
        "metadata": {"name": "train"},
        "spec": {
            "job": "PyTorchTrainingJob",
            "image": "registry.example.com/train:1",
            "run": ["train.py"],
            "replicas": 4,
            "resources": {"limits": {GPU: 1}},
            "schedule": {"queue": "research"},
            "environments": {"dev": {"replicas": 1}, "prod": {"replicas": 5}},
        },
    }
    other = job(role("worker", 4, container(limits={GPU: 1})), name="other")
    assert said("SCHED007", profile, other, **quota(**{GPU: 9})) == []
    assert "request 9 nvidia.com/gpu" in messages("SCHED007", profile, other, **quota(**{GPU: 8}))[0]
    assert said("NAME002", profile) == []


def with_pod_group(
    api_version: str, field: str, key: str, minimum: int, *, named: str = "gang"
) -> list[dict[str, Any]]:
    """A PodGroup and a Job of four Pods at a time that names one."""
    metadata = {"name": "gang", "namespace": "nlp"}
    pod = {"metadata": {field: {key: named}}, "spec": {"restartPolicy": "Never", "containers": [container()]}}
    spec = {"completionMode": "Indexed", "completions": 8, "parallelism": 4, "template": pod}
    pod_group = {"apiVersion": api_version, "kind": "PodGroup", "metadata": metadata}
    train = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {**metadata, "name": "train"}, "spec": spec}
    return [{**pod_group, "spec": {"minMember": minimum}}, train]


VOLCANO = ("scheduling.volcano.sh/v1beta1", "annotations", "scheduling.k8s.io/group-name")
COSCHEDULING = ("scheduling.x-k8s.io/v1alpha1", "labels", "scheduling.x-k8s.io/pod-group")


@pytest.mark.parametrize("api", [VOLCANO, COSCHEDULING], ids=lambda api: api[0])
def test_pod_groups_of_other_schedulers(api: tuple[str, str, str]) -> None:
    assert "requires 5 Pods, but 4 name it" in messages("SCHED012", *with_pod_group(*api, 5))[0]
    assert not said("SCHED012", *with_pod_group(*api, 4))
    assert not said("SCHED012", *with_pod_group(*api, 5, named="other"))
    pod_group, train = with_pod_group(*api, 5)
    second = {**train, "metadata": {"name": "second", "namespace": "nlp"}}
    assert not said("SCHED012", pod_group, train, second)
    assert not said("SCHED012", {**pod_group, "metadata": {"name": "gang", "namespace": "cv"}}, train)


def test_a_pod_group_of_another_scheduler_than_the_pods_name() -> None:
    pod_group, _ = with_pod_group(*VOLCANO, 5)
    _, train = with_pod_group(*COSCHEDULING, 5)
    assert not said("SCHED012", pod_group, train)
