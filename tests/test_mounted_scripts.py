"""Scripts in a ConfigMap: which it is, how a container runs them, and where findings about them are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from podplan.workspace.loader import Loader
from tests.command import podplan

SCRIPT = "#!/bin/bash\ntorchrun --nnodes=4 --rdzv_backend=c10d --rdzv_endpoint=head:29500 train.py\n"


def build_documents(
    command: list[str], text: str = SCRIPT, mode: int | None = None, **container: Any
) -> list[dict[str, Any]]:
    """A ConfigMap with a script, and a job of two Pods that mounts it at /scripts."""
    volume: dict[str, Any] = {"name": "launch"} if mode is None else {"name": "launch", "defaultMode": mode}
    pod_spec = {
        "containers": [
            {
                "name": "main",
                "image": "train:1",
                "command": command,
                "volumeMounts": [{"name": "scripts", "mountPath": "/scripts"}],
                **container,
            }
        ],
        "volumes": [{"name": "scripts", "configMap": volume}],
    }
    role = {"type": "node", "replicas": 2, "restartPolicy": {"policy": "Never"}}
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "launch"}, "data": {"run.sh": text}},
        {
            "apiVersion": "batch.tensorstack.dev/v1beta1",
            "kind": "GenericJob",
            "metadata": {"name": "train"},
            "spec": {"replicaSpecs": [{**role, "template": {"spec": pod_spec}}]},
        },
    ]


def find_node_counts(folder: Path, documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The findings of DIST002 about the documents in one file."""
    (folder / "job.yaml").write_text(yaml.safe_dump_all(documents, sort_keys=False))
    run = podplan("check", "--format", "json", "job.yaml", cwd=folder)
    return [one for one in json.loads(run.out)["findings"] if one["rule"] == "DIST002"]


@pytest.mark.parametrize(
    ("command", "container", "path"),
    [
        (["bash", "/scripts/run.sh"], {}, "/spec/containers/0/command/1"),
        (["/bin/bash", "-eu", "/scripts/run.sh", "first"], {}, "/spec/containers/0/command/2"),
        (["bash", "-c", "exec bash /scripts/run.sh"], {}, "/spec/containers/0/command/2"),
        (["/scripts/run.sh"], {"mode": 0o755}, "/spec/containers/0/command/0"),
        (["bash"], {"args": ["/scripts/run.sh"]}, "/spec/containers/0/args/0"),
    ],
)
def test_a_script_is_checked_where_it_is_written(
    tmp_path: Path, command: list[str], container: dict[str, Any], path: str
) -> None:
    (found,) = find_node_counts(tmp_path, build_documents(command, **container))
    assert found["message"] == "torchrun waits for 4 nodes, but the job has 2 Pods"
    lines = (tmp_path / "job.yaml").read_text().splitlines()
    assert "--nnodes=4" in lines[found["line"] - 1]
    assert found["lowered"]["path"] == path


@pytest.mark.parametrize(
    ("command", "text", "mode"),
    [
        (["/scripts/run.sh"], SCRIPT, None),  # it cannot be executed
        (["/scripts/run.sh"], SCRIPT.removeprefix("#!/bin/bash\n"), 0o755),  # no interpreter is stated
        (["bash", "/scripts/other.sh"], SCRIPT, None),
        (["bash", "/elsewhere/run.sh"], SCRIPT, None),
        (["bash", "/scripts/run.sh"], SCRIPT.replace("=4", "=$$4"), None),  # the kubelet changes no files
    ],
)
def test_what_is_not_run_as_a_script_is_not_read(
    tmp_path: Path, command: list[str], text: str, mode: int | None
) -> None:
    assert find_node_counts(tmp_path, build_documents(command, text, mode)) == []


@pytest.mark.parametrize("line", ["/scripts/run.sh", "bash /scripts/run.sh"])
def test_a_script_runs_in_the_shell_that_it_states(tmp_path: Path, line: str) -> None:
    text = "#!/usr/bin/env bash\nif [[ -n $A ]]; then torchrun --nnodes=4 train.py; fi\n"
    documents = build_documents(["/bin/sh", "-c", line], text, 0o755)
    (tmp_path / "job.yaml").write_text(yaml.safe_dump_all(documents))
    assert "EXEC016" not in podplan("check", "job.yaml", cwd=tmp_path).out
    documents = build_documents(["/bin/sh", "-c", "sh /scripts/run.sh"], text)
    (tmp_path / "job.yaml").write_text(yaml.safe_dump_all(documents))
    assert "EXEC016" in podplan("check", "job.yaml", cwd=tmp_path).out


def write_config_map(path: Path, config_map: dict[str, Any], **metadata: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump({**config_map, "metadata": {**config_map["metadata"], **metadata}}))


def test_a_config_map_may_be_in_another_file(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    config_map, job = build_documents(["bash", "/scripts/run.sh"])
    write_config_map(tmp_path / "files/launch.yaml", config_map)
    (found,) = find_node_counts(tmp_path, [job])
    assert (found["file"], found["line"]) == ("files/launch.yaml", 5)
    write_config_map(tmp_path / "files/launch.yaml", config_map, namespace="other")
    assert len(find_node_counts(tmp_path, [{**job, "metadata": {"name": "a", "namespace": "other"}}])) == 1
    assert find_node_counts(tmp_path, [{**job, "metadata": {"name": "a", "namespace": "own"}}]) == []


def test_a_config_map_of_the_folder_comes_first(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    config_map, job = build_documents(["bash", "/scripts/run.sh"])
    other = {**config_map, "data": {"run.sh": "#!/bin/bash\npython train.py\n"}}
    write_config_map(tmp_path / "one/launch.yaml", config_map)
    write_config_map(tmp_path / "two/launch.yaml", other)
    assert find_node_counts(tmp_path, [job]) == []  # one of them, and nobody knows which
    write_config_map(tmp_path / "launch.yaml", config_map)
    assert len(find_node_counts(tmp_path, [job])) == 1
    write_config_map(tmp_path / "launch.yaml", other)
    assert find_node_counts(tmp_path, [job]) == []


def test_a_patch_of_kustomize_is_no_config_map(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    config_map, job = build_documents(["bash", "/scripts/run.sh"])
    write_config_map(tmp_path / "prod/launch.yaml", config_map)
    (tmp_path / "prod/kustomization.yaml").write_text("patches: [{path: launch.yaml}]\n")
    assert find_node_counts(tmp_path, [job]) == []


def test_a_job_depends_on_its_config_map(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    config_map, job = build_documents(["bash", "/scripts/run.sh"])
    write_config_map(tmp_path / "launch.yaml", config_map)
    assert len(find_node_counts(tmp_path, [job])) == 1
    for changed, number in (("launch.yaml", 1), ("job.yaml", 1), ("other.yaml", 0)):
        (tmp_path / "other.yaml").write_text("{}\n")
        run = podplan("check", "--affected-by", changed, "--format", "json", ".", cwd=tmp_path)
        assert sum(one["rule"] == "DIST002" for one in json.loads(run.out)["findings"]) == number, changed


def test_lowering_keeps_the_path_of_the_script(tmp_path: Path) -> None:
    documents = build_documents(["bash", "/scripts/run.sh"])
    (tmp_path / "job.yaml").write_text(yaml.safe_dump_all(documents))
    assert "torchrun" not in podplan("lower", "job.yaml", cwd=tmp_path).out


def test_the_language_server_finds_the_jobs_of_a_config_map(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    config_map, job = build_documents(["bash", "/scripts/run.sh"])
    write_config_map(tmp_path / "launch.yaml", config_map)
    write_config_map(tmp_path / "other.yaml", {**config_map, "metadata": {"name": "other"}})
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
    monkeypatch.chdir(tmp_path)
    assert Loader().find_referrers("launch.yaml") == ["job.yaml"]
    assert Loader().find_referrers("other.yaml") == []
