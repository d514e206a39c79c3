"""``-k DIR`` checks what kustomize builds, at the lines of its files; findings name templates of Helm."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.command import podplan
from tests.test_documents_of_other_tools import JOB, write

TEXTS = {
    "base/kustomization.yaml": "resources: [job.yaml]\n",
    "base/job.yaml": "# the job\n" + JOB,
    "prod/kustomization.yaml": "resources: [../base]\nnamePrefix: big-\npatches: [{path: more.yaml}]\n",
    "prod/more.yaml": """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: -3
      template: {spec: {containers: [{name: pytorch, image: "registry.example.com/train:1"}]}}
""",
}
WORKER = """\
    Worker:
      replicas: -3
      template:
        spec:
          containers:
          - image: registry.example.com/train:1
            name: pytorch
"""
# A double of kustomize, which puts the origin relative to the folder that it is called with.
DOUBLE = f"""\
#!{sys.executable}
import json, pathlib, sys
asked = json.loads((pathlib.Path(sys.argv[2]) / "kustomization.yaml").read_text())
assert asked["buildMetadata"] == ["originAnnotations"]
text = (pathlib.Path(__file__).parent / "built.yaml").read_text()
print(text.replace("@FOLDER@", asked["resources"][0]))
"""


def build_with_double(top: Path, built: str) -> dict[str, str]:
    """Return the environment of a run whose kustomize prints ``built``."""
    tools = top.parent / "tools"
    tools.mkdir()
    (tools / "built.yaml").write_text(built)
    (tools / "kustomize").write_text(DOUBLE)
    (tools / "kustomize").chmod(0o755)
    return {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture
def top(tmp_path: Path) -> Path:
    write(tmp_path / "top", TEXTS)
    return tmp_path / "top"


def places(out: str) -> set[tuple[str, str, int]]:
    return {(one["rule"], one["file"], one["line"]) for one in json.loads(out)["findings"]}


ORIGIN = "config.kubernetes.io/origin: 'path: @FOLDER@/../base/job.yaml'"


def test_findings_are_in_the_files_that_kustomize_reads(top: Path) -> None:
    built = JOB.replace("{name: train}", f"{{name: big-train, annotations: {{{ORIGIN}}}}}") + WORKER
    environment = build_with_double(top, built)
    run = podplan("check", "-k", "prod", "--format", "json", cwd=top, env=environment)
    assert ("SCHEMA005", "prod/more.yaml", 7) in places(run.out)
    assert "origin" not in run.out
    (top.parent / "tools/built.yaml").write_text(built.replace(WORKER, ""))
    run = podplan("check", "-k", "prod", "--format", "json", cwd=top, env=environment)
    assert ("DIST001", "base/job.yaml", 15) in places(run.out)
    lowered = podplan("lower", "-k", "prod", cwd=top, env=environment)
    assert "name: big-train-master-0" in lowered.out


@pytest.mark.skipif(not shutil.which("kustomize") and not shutil.which("kubectl"), reason="needs kustomize")
def test_with_the_real_kustomize(top: Path) -> None:
    assert ("SCHEMA005", "prod/more.yaml", 7) in places(
        podplan("check", "-k", "prod", "--format", "json", cwd=top).out
    )
    assert ("DIST001", "base/job.yaml", 15) in places(
        podplan("check", "-k", "base", "--format", "json", cwd=top).out
    )
    write(top, {"remote/kustomization.yaml": "resources: [https://example.com/x/y//z?ref=v1]\n"})
    assert "kustomize fails" in podplan("check", "-k", "remote", cwd=top).err
    assert sorted(path.name for path in top.rglob("*") if path.is_file()) == [
        "job.yaml",
        *["kustomization.yaml"] * 3,
        "more.yaml",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-k", "nowhere"), "nowhere: there is no kustomization.yaml in this folder"),
        (("-k", "prod", "base"), "-k DIR replaces the paths; give one of them"),
        (("-k", "prod", "--fix"), "what kustomize builds cannot be fixed; fix the files that it reads"),
        (("-k", "prod", "--base", "main"), "-k does not compare revisions"),
    ],
)
def test_wrong_requests(top: Path, arguments: tuple[str, ...], message: str) -> None:
    run = podplan("check", *arguments, cwd=top)
    assert (run.code, run.out) == (2, "")
    assert message in run.err


def test_without_kustomize(top: Path) -> None:
    run = podplan("check", "-k", "prod", cwd=top, env={**os.environ, "PATH": "/nowhere"})
    assert run.code == 2
    assert "neither is installed" in run.err


def test_findings_name_the_templates_of_a_chart(top: Path) -> None:
    rendered = f"---\n# Source: jobs/templates/train.yaml\n{JOB}"
    other = JOB.replace("name: train}", "name: other}")
    run = podplan(
        *("check", "--format", "concise", "-"),
        cwd=top,
        stdin=f"{rendered}---\n# Source: jobs/charts/sub/templates/other.yaml\n{other}".encode(),
    )
    lines = [line for line in run.out.splitlines() if "DIST001" in line]
    assert [line.rpartition(" (in ")[2] for line in lines] == [
        "jobs/templates/train.yaml)",
        "jobs/charts/sub/templates/other.yaml)",
    ]
