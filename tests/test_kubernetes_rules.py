"""Rules that span fields, one small change to a good object at a time (fixtures/kubernetes/rules.yaml)."""

from __future__ import annotations

import base64
import copy
import re
from pathlib import Path as File
from typing import Any

import pytest
import yaml

from podplan import kubernetes
from podplan.core.findings import Path
from tests.rows import each_row

CASES = yaml.safe_load(
    (File(__file__).parents[1] / "fixtures" / "kubernetes" / "rules.yaml").read_text("utf-8")
)
GOOD: dict[str, dict[str, Any]] = {
    "Pod": {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {
            "initContainers": [{"name": "fetch", "image": "busybox"}],
            "containers": [
                {
                    "name": "main",
                    "image": "busybox",
                    "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
                }
            ],
            "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}, {"name": "tmp", "emptyDir": {}}],
        },
    },
    "Service": {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s"},
        "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]},
    },
    "ConfigMap": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"k": "v"}},
    "Secret": {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "dg=="}},
}


def steps(path: str) -> list[str | int]:
    return [int(index) if index else name for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path)]


def changed(kind: str, change: dict[str, Any]) -> dict[str, Any]:
    obj = copy.deepcopy(GOOD[kind])
    for path, value in change.items():
        *above, last = steps(path)
        at: Any = obj
        for step in above:
            at = at[step] if isinstance(step, int) else at.setdefault(step, {})
        at[last] = value
    return obj


def written(path: Path) -> str:
    """A path as fixtures/kubernetes/rules.yaml has it; keys with a dot or slash stand in brackets."""
    text = ""
    for step in path:
        plain = isinstance(step, str) and not set("./") & set(step)
        text += f".{step}" if plain else f"[{step}]"
    return text.removeprefix(".")


@pytest.mark.parametrize("kind", GOOD)
def test_the_good_objects_are_good(kind: str) -> None:
    assert kubernetes.validate_object(GOOD[kind]) == []


@each_row("case", CASES, ids=lambda case: f"{case['kind']} {case['change']}"[:90])
def test_rule(case: dict[str, Any]) -> None:
    problems = kubernetes.validate_object(changed(case["kind"], case["change"]), case.get("version", "1.36"))
    assert sorted(f"{p.rule} {written(p.path)}" for p in problems) == sorted(case["is"]), problems


def test_messages_are_one_sentence_for_people() -> None:
    for case in CASES:
        for problem in kubernetes.validate_object(changed(case["kind"], case["change"])):
            assert problem.message
            assert not problem.message.endswith(".")
            assert "\n" not in problem.message
            assert not re.search(r"\b(True|False)\b|<class|\{'|\['", problem.message)


def test_no_message_shows_what_a_secret_holds() -> None:
    hidden = base64.b64encode(b"x").decode() + "!hunter2"
    secret = copy.deepcopy(GOOD["Secret"])
    secret["data"] = {"k": hidden, "n": 314159}
    secret["stringData"] = {".dockerconfigjson": hidden, "m": 271828}
    secret["type"] = "kubernetes.io/dockerconfigjson"
    problems = kubernetes.validate_object(secret)
    assert len(problems) == 4
    assert not re.search("hunter2|314159|271828", repr(problems))


def test_the_sizes_of_what_is_stored() -> None:
    config = changed("ConfigMap", {"data": {"k": "x" * 2**20}})
    assert kubernetes.validate_object(config) == []
    config["binaryData"] = {"b": "AAAA"}
    (problem,) = kubernetes.validate_object(config)
    assert problem.message == "the values have 1048579 bytes in total; at most 1048576 are allowed"
    pod = changed("Pod", {"metadata.annotations": {"a": "x" * 2**18}})
    (problem,) = kubernetes.validate_object(pod)
    assert problem.path == ("metadata", "annotations")


def test_a_dangling_mount_names_the_near_volume() -> None:
    pod = changed("Pod", {"spec.containers[0].volumeMounts[0].name": "shn"})
    assert [p.message for p in kubernetes.validate_object(pod)] == [
        'the Pod has no volume "shn"; did you mean "shm"?'
    ]


def test_definitions_by_themselves() -> None:
    assert kubernetes.validate_definition("ServicePort", {"port": 80}) == []
    assert [p.path for p in kubernetes.validate_definition("ServicePort", {"port": 0})] == [("port",)]
    both = {"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    assert [p.path for p in kubernetes.validate_definition("EnvVar", both)] == [("valueFrom",)]
    needs = {"requests": {"nvidia.com/gpu": "8"}, "claims": [{"name": "c"}]}
    assert [p.path for p in kubernetes.validate_definition("ResourceRequirements", needs)] == [
        ("requests", "nvidia.com/gpu")
    ]
    assert kubernetes.validate_definition("ObjectMeta", {"labels": {"a": "b"}}) == []
