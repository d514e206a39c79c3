"""Claims, names and images of jobs, where the examples of the policies stop."""

from __future__ import annotations

from typing import Any

import pytest

from podplan.checker.check import check_sources
from podplan.kubernetes import names
from podplan.lint.checks.gpus import count_listed_devices
from podplan.lint.checks.images import normalize_image, normalize_registry
from podplan.lint.checks.networks import is_rdma_resource
from podplan.lint.registry import load_builtin_policies
from podplan.lint.rule_selection import RuleSelection, select_policies
from podplan.pipeline import PipelineSettings
from podplan.workspace.loader import Loader
from podplan.yaml import parse_yaml
from podplan.yaml.writer import emit_documents
from tests.policy_examples import build_inventory, findings


def job(name: str, replicas: int = 1, kind: str = "worker", **more: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "main", "image": "registry.example.com/train:1"}], **more}
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "PyTorchTrainingJob",
        "metadata": {"name": name},
        "spec": {"replicaSpecs": [{"type": kind, "replicas": replicas, "template": {"spec": spec}}]},
    }


def messages(code: str, *objects: dict[str, Any], **inventory: Any) -> list[str]:
    found = findings({"objects": list(objects), "inventory": inventory}, code)
    return [one.message for one in found if one.rule == code]


def with_claim(name: str, replicas: int = 1) -> dict[str, Any]:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    made = job(name, replicas, volumes=[volume])
    containers = made["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"]
    containers[0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    return made


ONE_NODE = {"data": {"accessModes": ["ReadWriteOnce"]}}


@pytest.mark.parametrize(
    "board",
    [
        {"trainingLogFilesets": ["t9k://pvc/data/log"]},
        {"logDir": {"pvc": [{"name": "data", "subPath": ["log"]}]}},
    ],
)
def test_a_tensorboard_counts_as_a_user_of_its_claim(board: dict[str, Any]) -> None:
    alone = with_claim("train")
    assert messages("VOL001", alone, pvcs=ONE_NODE) == []
    alone["spec"]["tensorboardSpec"] = {"image": "registry.example.com/tensorboard:2", **board}
    assert messages("VOL001", alone, pvcs=ONE_NODE) == [
        '2 Pods mount the claim "data" (1 Pod of worker and the TensorBoard), '
        "but its access mode ReadWriteOnce permits one node: Pods on other nodes do not start"
    ]


def test_replicas_of_a_type_are_counted_together() -> None:
    assert "(5 Pods of worker)" in messages("VOL001", with_claim("train", 5), pvcs=ONE_NODE)[0]


def test_a_claim_of_three_jobs_is_said_at_the_later_ones() -> None:
    jobs = [with_claim(name) for name in ("first", "second", "third")]
    found = messages("VOL004", *jobs, pvcs=ONE_NODE)
    assert [one.partition("mounted by ")[2].partition(":")[0] for one in found] == [
        "PyTorchTrainingJob/first",
        "PyTorchTrainingJob/first and PyTorchTrainingJob/second",
    ]


@pytest.mark.parametrize("replicas", [1, 10, 11, 101, 1_000_000])
@pytest.mark.parametrize("kind", ["worker", "w"])
def test_the_longest_name_is_that_of_the_last_replica(replicas: int, kind: str) -> None:
    tail = len(f"-00000-{kind}-{replicas - 1}")
    assert messages("NAME001", job("j" * (63 - tail), replicas, kind)) == []
    found = messages("NAME001", job("j" * (64 - tail), replicas, kind))
    assert ["64 characters" in one for one in found] == [True]


def test_real_names_need_no_reserve() -> None:
    known = job("j" * 49)
    known["metadata"]["uid"] = "6f9619ff-8b86-d011-b42d-00c04fc964ff"
    assert names.NAME_FORMS["dns-1035-label"].max_length == 63
    assert messages("NAME001", known) == []


def test_jobs_without_a_name_of_their_own_are_never_the_same() -> None:
    made = [job("x"), job("x")]
    for one in made:
        one["metadata"] = {"generateName": "train-"}
    assert messages("NAME002", *made) == []


def test_the_third_copy_names_the_first() -> None:
    first = (
        "PyTorchTrainingJob/same is already defined in example.yaml:4, for the same namespace: "
        "they overwrite each other"
    )
    assert messages("NAME002", job("same"), job("same"), job("same")) == [first, first]


def test_a_copy_in_another_file_is_told_with_the_file_and_the_line() -> None:
    policies = tuple(select_policies(load_builtin_policies(), RuleSelection(select=("NAME002",))))
    files = {"a.yaml": "# two lines\n# before it\n", "jobs/b.yaml": "", "jobs/c.yaml": ""}
    texts = {file: before + emit_documents([job("same")]) for file, before in files.items()}
    sources = [parse_yaml(text.encode(), file) for file, text in texts.items()]
    found = check_sources(sources, PipelineSettings(policies=policies), Loader()).findings
    first = (
        "PyTorchTrainingJob/same is already defined in a.yaml:6, for the same namespace: "
        "they overwrite each other"
    )
    assert [(one.location.file, one.message) for one in found if one.rule == "NAME002"] == [
        ("jobs/b.yaml", first),
        ("jobs/c.yaml", first),
    ]


@pytest.mark.parametrize(
    ("image", "whole"),
    [
        ("python", "docker.io/library/python"),
        ("python:3.12", "docker.io/library/python:3.12"),
        ("t9kpublic/torch:1", "docker.io/t9kpublic/torch:1"),
        ("localhost/train", "localhost/train"),
        ("registry:5000/train:1", "registry:5000/train:1"),
        ("docker.io/python:3", "docker.io/library/python:3"),
        ("registry.example.com/a/b@sha256:0", "registry.example.com/a/b@sha256:0"),
    ],
)
def test_an_image_with_its_registry(image: str, whole: str) -> None:
    assert normalize_image(image) == whole


def test_a_registry_as_images_begin_with_it() -> None:
    assert normalize_registry("registry.example.com/") == "registry.example.com"
    assert normalize_registry("t9kpublic") == "docker.io/t9kpublic"


@pytest.mark.parametrize(
    ("value", "number"),
    [("0,1", 2), ("0", 1), ("", 0), ("-1", 0), ("0,-1,2", 1), ("GPU-1a,GPU-2b", 2), ("0, 1,", 2)],
)
def test_what_follows_an_invalid_device_is_not_visible(value: str, number: int) -> None:
    assert count_listed_devices(value) == number


def test_devices_for_rdma() -> None:
    yes = [
        "rdma/hca",
        "rdma/hca_shared_devices_a",
        "nvidia.com/hca0",
        "openshift.io/roce_gpu",
        "vpc.amazonaws.com/efa",
    ]
    no = [
        "nvidia.com/gpu",
        "cpu",
        "nvidia.com/mig-1g.5gb",
        "amd.com/gpu",
        "habana.ai/gaudi",
        "google.com/tpu",
    ]
    assert [name for name in yes if not is_rdma_resource(name)] == []
    assert [name for name in no if is_rdma_resource(name)] == []


JUNK = [None, [], {}, "x", 3, [None], {"a": None}, {"research": 3}, {"research": [1]}, {"train": {"keys": 5}}]
SECTIONS = ["hardware", "queues", "nodes", "pvcs", "secrets", "configMaps", "registries", "namespaces"]
FIELDS = [
    ("queues", "research", ["quota", "priority", "maxDuration", "namespaces"]),
    ("nodes", "a100", ["allocatable", "labels", "taints", "count"]),
    ("pvcs", "data", ["accessModes", "namespaces"]),
    ("namespaces", "vision", ["labels", "queues"]),
    ("hardware", "big", ["gpus", "resources"]),
]


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_an_inventory_of_any_shape_is_no_reason_to_stop(junk: object) -> None:
    busy = with_claim("train", 2)
    busy["metadata"]["namespace"] = "vision"
    busy["spec"]["scheduler"] = {"t9kScheduler": {"queue": "research", "priority": 5}}
    busy["spec"]["runPolicy"] = {"activeDeadlineSeconds": 60}
    pod = busy["spec"]["replicaSpecs"][0]["template"]["spec"]
    pod["nodeSelector"] = {"gpu": "a100"}
    pod["containers"][0]["resources"] = {"limits": {"cpu": 1, "nvidia.com/gpu": 2}}
    pod["containers"][0]["envFrom"] = [{"secretRef": {"name": "train"}}]
    # All at once: one for each section and field is ten times as slow, and they are read by themselves.
    inventories: list[dict[str, Any]] = [
        dict.fromkeys(SECTIONS, junk),
        {of: {name: dict.fromkeys(fields, junk)} for of, name, fields in FIELDS},
    ]
    policies = tuple(select_policies(load_builtin_policies(), RuleSelection(preview=True)))
    source = parse_yaml(
        emit_documents([busy, {**busy, "metadata": {"name": "other", "namespace": "vision"}}]).encode(),
        "a.yaml",
    )
    for spec in inventories:
        check_sources([source], PipelineSettings(policies=policies), Loader(build_inventory(spec)))
