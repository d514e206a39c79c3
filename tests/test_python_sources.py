"""Python scripts in a ConfigMap of the same file: which statements are certain, and where findings are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from podplan.lint.location import range_before
from tests.command import podplan

READ = "import os\nos.environ['LOCAL_RANK']\n"


def build_documents(text: str, script: str = "/scripts/train.py", **container: Any) -> list[dict[str, Any]]:
    """A ConfigMap with train.py, and a job whose Pods mount it at /scripts and run it with python."""
    main = {
        "name": "python",
        "image": "train:1",
        "command": ["python", script],
        "resources": {"limits": {"nvidia.com/gpu": 1}},
        "volumeMounts": [{"name": "code", "mountPath": "/scripts"}],
        **container,
    }
    pod_spec = {"containers": [main], "volumes": [{"name": "code", "configMap": {"name": "code"}}]}
    role = {"type": "worker", "replicas": 2, "restartPolicy": "Never", "template": {"spec": pod_spec}}
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "code"}, "data": {"train.py": text}},
        {
            "apiVersion": "batch.tensorstack.dev/v1beta1",
            "kind": "PyTorchTrainingJob",
            "metadata": {"name": "train"},
            "spec": {"replicaSpecs": [role]},
        },
    ]


def list_findings(folder: Path, documents: list[dict[str, Any]], rule: str) -> list[dict[str, Any]]:
    (folder / "job.yaml").write_text(yaml.dump_all(documents, sort_keys=False, default_style=None))
    run = podplan("check", "--format", "json", "job.yaml", cwd=folder)
    assert run.code in (0, 1), run.err
    return [one for one in json.loads(run.out)["findings"] if one["rule"] == rule]


@pytest.mark.parametrize(
    ("text", "container"),
    [
        (READ, {}),
        (f"def main():\n  {READ.splitlines()[1]}\nimport os\nif __name__ == '__main__':\n  main()\n", {}),
        (READ, {"command": ["bash", "-c", "cd /scripts && python train.py"]}),
        (READ, {"command": ["python", "train.py"], "workingDir": "/scripts"}),
        ("x = '\\d'\n" + READ, {}),
    ],
)
def test_a_required_variable_is_found(tmp_path: Path, text: str, container: dict[str, Any]) -> None:
    (found,) = list_findings(tmp_path, build_documents(text, **container), "DIST037")
    line = (tmp_path / "job.yaml").read_text().splitlines()[found["line"] - 1]
    assert "LOCAL_RANK" in line


def test_places_are_counted_in_characters(tmp_path: Path) -> None:
    documents = build_documents("import os\nsize = 'größe'; rank = os.environ['LOCAL_RANK']\n")
    text = yaml.dump_all(documents, allow_unicode=True, default_style="|", sort_keys=False)
    (tmp_path / "job.yaml").write_text(text)
    run = podplan("check", "--format", "json", "job.yaml", cwd=tmp_path)
    (found,) = [one for one in json.loads(run.out)["findings"] if one["rule"] == "DIST037"]
    line = text.splitlines()[found["line"] - 1]
    assert line[found["column"] - 1 :].startswith("os.environ['LOCAL_RANK']")


@pytest.mark.parametrize(
    ("text", "container"),
    [
        (READ, {"env": [{"name": "LOCAL_RANK", "value": "0"}]}),
        (READ, {"envFrom": [{"configMapRef": {"name": "more"}}]}),
        (READ, {"command": ["python", "/other/train.py"]}),
        (READ, {"command": ["bash", "-c", ". /env.sh; python /scripts/train.py"]}),
        (f"def unused():\n  {READ.splitlines()[1]}\nimport os\n", {}),
        (f"import os\ndef main():\n  if os.sep:\n    return\n  {READ.splitlines()[1]}\nmain()\n", {}),
        ("import os\nnames = [os.environ['LOCAL_RANK'] for _ in ()]\n", {}),
        (READ + "print 'Python 2'\n", {}),
        ("(" * 5000 + READ, {}),
        ("1+" * 20000 + "1\n" + READ, {}),
        ("with a" + ".b" * 20000 + ":\n  " + "pass\n", {}),
        (READ + "#" * 60_000, {}),
    ],
)
def test_nothing_is_found_where_it_is_not_certain(
    tmp_path: Path, text: str, container: dict[str, Any]
) -> None:
    if text.startswith("1+"):  # how deep a tree may be depends on the version of Python
        list_findings(tmp_path, build_documents(text, **container), "DIST037")
        return
    assert list_findings(tmp_path, build_documents(text, **container), "DIST037") == []


def test_nccl_needs_a_gpu(tmp_path: Path) -> None:
    text = "import torch.distributed as dist\ndist.init_process_group(backend='nccl')\n"
    assert list_findings(tmp_path, build_documents(text), "RES019") == []
    (found,) = list_findings(tmp_path, build_documents(text, resources={}), "RES019")
    assert "init_process_group" in (tmp_path / "job.yaml").read_text().splitlines()[found["line"] - 1]


def test_the_mount_of_a_script_is_elsewhere(tmp_path: Path) -> None:
    documents = build_documents(READ, script="train.py", workingDir="/srv/train")
    (found,) = list_findings(tmp_path, documents, "VOL017")
    assert found["message"].startswith("train.py is resolved in /srv/train")


def test_a_word_of_the_only_line_is_found_by_its_place() -> None:
    made = "cd /src && torchrun --node_rank=10 a.py"
    written = "cd /src && torchrun --node_rank=$(rank) a.py"
    start = made.index("--node_rank")
    found = range_before(made, written, (start, start + len("--node_rank=10")))
    assert found is not None
    assert written[slice(*found)] == "--node_rank=$(rank)"
    assert range_before(made, f"{written} b", (start, start + 3)) == (0, len(written) + 2)
