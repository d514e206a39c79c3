from __future__ import annotations

import json

import jsonschema_rs

from podplan.core.package_data import read_bundled_file
from podplan.profile.resolve import INVENTORY_FIELDS
from tests.profile_texts import doc

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


def validator() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(
        json.loads(read_bundled_file("schemas", "ClusterInventory.json"))
    )


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
    schema = json.loads(read_bundled_file("schemas", "ClusterInventory.json"))
    assert set(INVENTORY_FIELDS) == set(schema["properties"]["spec"]["properties"])
