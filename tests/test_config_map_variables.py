"""Variables of a ConfigMap: which a container has, and where findings about them are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import podplan

LOUD = {"NCCL_DEBUG": "loud"}
FROM_LOG = {"envFrom": [{"configMapRef": {"name": "log"}}]}


def build_config_map(name: str, data: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def build_job(**container: Any) -> dict[str, Any]:
    """A job of two Pods with a container."""
    pod_spec = {
        "containers": [{"name": "main", "image": "train:1", "command": ["python", "train.py"], **container}]
    }
    role = {"type": "node", "replicas": 2, "restartPolicy": {"policy": "Never"}}
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "GenericJob",
        "metadata": {"name": "train"},
        "spec": {"replicaSpecs": [{**role, "template": {"spec": pod_spec}}]},
    }


def find_values(folder: Path, *documents: dict[str, Any]) -> list[dict[str, Any]]:
    """The findings of CR018, values of variables, about the documents in one file."""
    (folder / "job.yaml").write_text(yaml.safe_dump_all(documents, sort_keys=False))
    run = podplan("check", "--format", "json", "job.yaml", cwd=folder)
    return [one for one in json.loads(run.out)["findings"] if one["rule"] == "CR018"]


@pytest.mark.parametrize(
    ("data", "container", "path"),
    [
        (LOUD, FROM_LOG, "/spec/containers/0/envFrom/0"),
        ({"DEBUG": "loud"}, {"envFrom": [{"prefix": "NCCL_", "configMapRef": {"name": "log"}}]}, None),
        ({"DB_PASSWORD": "blue-42-horse", **LOUD}, {"envFrom": [
            *FROM_LOG["envFrom"], {"secretRef": {"name": "keys"}}]}, "/spec/containers/0/envFrom/0"),
        ({"level": "loud"}, {"env": [{"name": "NCCL_DEBUG", "valueFrom": {
            "configMapKeyRef": {"name": "log", "key": "level"}}}]}, "/spec/containers/0/env/0/value"),
    ],
    ids=["all", "with a prefix", "beside secrets", "a key"],
)  # fmt: skip
def test_a_value_is_checked_where_it_is_written(
    tmp_path: Path, data: dict[str, str], container: dict[str, Any], path: str | None
) -> None:
    (found,) = find_values(tmp_path, build_config_map("log", data), build_job(**container))
    assert found["message"].startswith("NCCL_DEBUG is loud, ")
    assert (tmp_path / "job.yaml").read_text().splitlines()[found["line"] - 1].endswith(": loud")
    assert path is None or found["lowered"]["path"] == path


@pytest.mark.parametrize(
    ("data", "container"),
    [
        (LOUD, {**FROM_LOG, "env": [{"name": "NCCL_DEBUG", "value": "INFO"}]}),
        (LOUD, {"envFrom": [*FROM_LOG["envFrom"], {"configMapRef": {"name": "later"}}]}),
        ({"NCCL_DEBUG": "$(LEVEL)"}, FROM_LOG),
        (LOUD, {"envFrom": [{"configMapRef": {"name": "unknown"}}]}),
    ],
    ids=["env goes first", "the last source", "a reference", "an unknown source"],
)
def test_other_variables(tmp_path: Path, data: dict[str, str], container: dict[str, Any]) -> None:
    later = build_config_map("later", {"NCCL_DEBUG": "INFO"})
    assert find_values(tmp_path, build_config_map("log", data), later, build_job(**container)) == []


def test_the_variables_of_env_keep_their_places(tmp_path: Path) -> None:
    job = build_job(**FROM_LOG, env=[{"name": "A", "value": "1"}, {"name": "NCCL_DEBUG", "value": "loud"}])
    config_map = build_config_map("log", {"B": "2", "C": "3"})
    (found,) = find_values(tmp_path, config_map, job)
    assert found["lowered"]["path"] == "/spec/containers/0/env/1/value"
    assert (tmp_path / "job.yaml").read_text().splitlines()[found["line"] - 1].endswith("value: loud")


def test_a_config_map_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "log.yaml").write_text(yaml.safe_dump(build_config_map("log", LOUD)))
    (found,) = find_values(tmp_path, build_job(**FROM_LOG))
    assert found["file"] == "log.yaml"
