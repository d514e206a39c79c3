"""podplan inventory: the facts of the demo repository, and an inventory from a dump."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from pytest_regressions.file_regression import FileRegressionFixture

from podplan.schema import validate_against
from podplan.tools.inventory.dump import build_inventory
from tests.command import podplan

KUEUE = Path(__file__).parents[1] / "fixtures" / "kueue"


def build_node(name: str, cpu: str, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "spec": {"taints": [{"key": "gpu", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}]},
        "status": {
            "allocatable": {"cpu": cpu, "nvidia.com/gpu": "8"},
            "nodeInfo": {"kubeletVersion": "v1.33.4-gke.1"},
        },
    }


def build_object(kind: str, name: str, namespace: str = "", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **fields}


DUMP = [
    build_node("a", "95500m", gpu="a100"),
    build_node("b", "95", gpu="a100"),
    build_node("c", "95", gpu="h100"),
    build_object("Secret", "s3", "vision", data={"key": "c2VjcmV0LXZhbHVl"}),
    build_object("Secret", "s3", "nlp", data={"region": "ZXU="}),
    build_object("ConfigMap", "kube-root-ca.crt", "vision", data={"ca.crt": "x"}),
    build_object("Namespace", "kube-system"),
]


def test_the_facts_of_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_regression: FileRegressionFixture
) -> None:
    shutil.copytree(KUEUE / "demo", tmp_path, dirs_exist_ok=True)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    shown = podplan("inventory")
    assert shown.code == 0
    file_regression.check(shown.out, fullpath=KUEUE / "demo.inventory.txt", encoding="utf-8", newline="")
    facts = json.loads(podplan("inventory", "--format", "json").out)["facts"]
    assert len(facts) == len(shown.out.splitlines())


def test_nothing_describes_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    assert podplan("inventory").code == 3


def test_an_inventory_from_a_dump() -> None:
    inventory = build_inventory(DUMP)
    assert validate_against("ClusterInventory", inventory) == []
    spec = inventory["spec"]
    assert spec["kubernetes"] == "1.33"
    assert spec["nodes"]["nodes"] == {
        "count": 2,
        "allocatable": {"cpu": "95", "nvidia.com/gpu": "8"},
        "labels": {"gpu": "a100"},
        "taints": [{"key": "gpu", "effect": "NoSchedule"}],
    }
    assert spec["nodes"]["nodes-2"]["labels"] == {"gpu": "h100"}
    assert spec["secrets"] == {"s3": {"keys": ["key", "region"], "namespaces": ["nlp", "vision"]}}
    assert "configMaps" not in spec
    assert "namespaces" not in spec


def test_values_of_secrets_are_not_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dump.yaml").write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": DUMP}))
    monkeypatch.chdir(tmp_path)
    shown = podplan("inventory", "--from", "dump.yaml")
    assert shown.code == 0
    assert yaml.safe_load(shown.out) == build_inventory(DUMP)
    assert "c2VjcmV0" not in shown.out


def test_a_dump_of_something_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dump.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
    monkeypatch.chdir(tmp_path)
    assert podplan("inventory", "--from", "dump.yaml").code == 2


def test_nodes_that_take_no_pods_are_left_out(tmp_path: Path) -> None:
    cordoned, failed, ready = (build_node(name, "2", gpu="a100") for name in ("cordoned", "failed", "ready"))
    cordoned["spec"]["unschedulable"] = True
    for node, status in ((failed, "Unknown"), (ready, "True")):
        node["status"]["conditions"] = [{"type": "Ready", "status": status}]
    (tmp_path / "dump.yaml").write_text(yaml.safe_dump_all([cordoned, failed, ready]))
    said = podplan("inventory", "--from", "dump.yaml", cwd=tmp_path)
    assert said.err == "podplan: 2 nodes left out: cordoned or not ready\n"
    assert yaml.safe_load(said.out)["spec"]["nodes"]["nodes"]["count"] == 1
