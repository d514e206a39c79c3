"""HorizontalPodAutoscalers that the API server refuses."""

from __future__ import annotations

from typing import Any

import yaml

from podplan.core.findings import to_json_pointer
from podplan.kubernetes.autoscalers import validate_autoscaler_spec
from tests.rows import each_row

CPU = "{name: cpu, target: {type: Utilization, averageUtilization: 80}}"
QUEUE = "{metric: {name: queue}, target: {type: Value, value: 3}}"
SPECS = {
    "bounds alone": ("{maxReplicas: 1}", []),
    "a resource": (f"{{minReplicas: 1, maxReplicas: 2, metrics: [{{type: Resource, resource: {CPU}}}]}}", []),
    "both values of an object": (
        "{maxReplicas: 2, metrics: [{type: Object, "
        "object: {target: {type: Value, value: 1, averageValue: 1}}}]}",
        [],
    ),
    "no replicas": ("{maxReplicas: 0}", ["SCHEMA005 /spec/maxReplicas"]),
    "fewer than none": ("{minReplicas: -1, maxReplicas: 2}", ["SCHEMA005 /spec/minReplicas"]),
    "the wrong way round": ("{minReplicas: 3, maxReplicas: 2}", ["SCHEMA009 /spec/maxReplicas"]),
    "a type in other letters": (
        f"{{maxReplicas: 2, metrics: [{{type: resource, resource: {CPU}}}]}}",
        ["SCHEMA004 /spec/metrics/0/type"],
    ),
    "no source": ("{maxReplicas: 2, metrics: [{type: Pods}]}", ["SCHEMA003 /spec/metrics/0"]),
    "two sources": (
        f"{{maxReplicas: 2, metrics: [{{type: Resource, resource: {CPU}, external: {QUEUE}}}]}}",
        ["SCHEMA009 /spec/metrics/0/external"],
    ),
    "another target": (
        "{maxReplicas: 2, metrics: [{type: Pods, pods: {target: {type: Value, value: 1}}}]}",
        ["SCHEMA003 /spec/metrics/0/pods/target"],
    ),
    "two targets, of which one is 0": (
        "{maxReplicas: 2, metrics: [{type: Resource, resource: "
        "{target: {type: Percent, averageUtilization: 0, averageValue: 1}}}]}",
        [
            "SCHEMA004 /spec/metrics/0/resource/target/type",
            "SCHEMA009 /spec/metrics/0/resource/target/averageValue",
            "SCHEMA005 /spec/metrics/0/resource/target/averageUtilization",
        ],
    ),
}


def check(text: str, minor_version: int = 36) -> list[str]:
    spec: dict[str, Any] = yaml.safe_load(text)
    problems = validate_autoscaler_spec(spec, ("spec",), minor_version)
    return [f"{one.rule} {to_json_pointer(one.path)}" for one in problems]


@each_row("name", SPECS)
def test_what_the_api_server_refuses(name: str) -> None:
    text, expected = SPECS[name]
    assert check(text) == expected


def test_no_replicas_need_a_metric_without_pods_and_a_new_cluster() -> None:
    text = "{minReplicas: 0, maxReplicas: 2, metrics: [{type: %s, %s: %s}]}"
    external, cpu = text % ("External", "external", QUEUE), text % ("Resource", "resource", CPU)
    assert check(external, 37) == []
    assert check(external, 36) == check(cpu, 37) == ["SCHEMA005 /spec/minReplicas"]
