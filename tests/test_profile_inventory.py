from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest

from podplan.bundled import read
from podplan.findings import Problem
from podplan.profile.inventory import FIELDS, hardware, look_up, pvc, queue
from podplan.provenance import Cursor, root
from tests.profiles import doc

TEXT = """apiVersion: podplan/v1
kind: ClusterInventory
metadata: {name: research}
spec:
  asOf: "2025-01-31"
  kubernetes: "1.34"
  hardware:
    h100x8:
      gpus: {nvidia.com/gpu: 8}
      cpu: 96
      memory: 1800Gi
      shm: 256Gi
      resources: {rdma/hca: 8}
      nodeSelector: {gpu: h100}
      tolerations: [{key: gpu, operator: Exists, effect: NoSchedule}]
      capabilities: [IPC_LOCK]
  queues: {research: {quota: {nvidia.com/gpu: 64}, priority: {min: 0, max: 60}}}
  nodes: {h100: {count: 8, allocatable: {cpu: 110, memory: 1900Gi, nvidia.com/gpu: 8}}}
  pvcs: {imagenet: {accessModes: [ReadOnlyMany], namespaces: [vision]}, scratch: {}}
  secrets: {wandb: {keys: [api-key]}}
  configMaps: {nccl: null}
  registries: [registry.example.com/vision]
  namespaces: {vision: {podSecurity: baseline}}
"""
INVENTORY = doc(TEXT, "inventory.yaml")


def name(value: Any) -> Cursor:
    return root(doc(f"spec: {{at: {json.dumps(value)}}}\n")).get("spec", "at")


def validator() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(json.loads(read("schemas", "ClusterInventory.json")))


def test_the_example_is_valid_and_the_schema_is_closed() -> None:
    assert [error.message for error in validator().iter_errors(INVENTORY.data)] == []
    for place in ("spec", "metadata"):
        strange = json.loads(json.dumps(INVENTORY.data))
        strange[place]["strange"] = 1
        assert not validator().is_valid(strange)
    strange = json.loads(json.dumps(INVENTORY.data))
    strange["spec"]["secrets"]["wandb"]["value"] = "x"
    assert not validator().is_valid(strange)


def test_expressions_know_the_fields_of_the_schema() -> None:
    schema = json.loads(read("schemas", "ClusterInventory.json"))
    assert set(FIELDS) == set(schema["properties"]["spec"]["properties"])


def test_a_name_leads_to_its_entry() -> None:
    found = hardware(INVENTORY, name("h100x8"))
    assert isinstance(found, Cursor)
    assert found.get("gpus").value == {"nvidia.com/gpu": 8}
    assert found.path == ("spec", "hardware", "h100x8")
    assert isinstance(queue(INVENTORY, name("research")), Cursor)
    assert isinstance(look_up(INVENTORY, "configMaps", name("nccl")), Cursor)


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (hardware(INVENTORY, name("h100x")), 'no hardware class "h100x"; did you mean "h100x8"?'),
        (hardware(None, name("h100x8")), "no ClusterInventory that says"),
        (queue(INVENTORY, name("prod")), 'no queue "prod"; there is research'),
        (queue(INVENTORY, name(3)), 'no queue "3"'),
        (pvc(INVENTORY, name("imagnet")), 'did you mean "imagenet"?'),
        (pvc(INVENTORY, name("imagenet"), "nlp"), 'is in the namespaces vision, not in "nlp"'),
        (hardware(doc("spec: 3\n"), name("a")), "it lists none"),
    ],
)
def test_a_name_that_is_not_there(problem: Cursor | Problem, said: str) -> None:
    assert isinstance(problem, Problem)
    assert (problem.rule, problem.path) == ("PROF016", ("spec", "at"))
    assert said in problem.message


def test_namespaces_of_a_claim() -> None:
    assert isinstance(pvc(INVENTORY, name("imagenet"), "vision"), Cursor)
    assert isinstance(pvc(INVENTORY, name("imagenet")), Cursor)
    assert isinstance(pvc(INVENTORY, name("scratch"), "nlp"), Cursor)
