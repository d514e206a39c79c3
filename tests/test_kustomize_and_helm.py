"""``-k DIR`` checks what kustomize builds, at the lines of its files; findings name templates of Helm."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.command import podplan
from tests.git import commit, git_in
from tests.golden_cases import FIXTURES
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


# Where a tool is required, its tests fail without it.
REAL = pytest.mark.skipif(
    not (shutil.which("kustomize") or shutil.which("kubectl") or os.environ.get("PODPLAN_REQUIRE_KUBECTL")),
    reason="no kustomize",
)
REAL_HELM = pytest.mark.skipif(
    not (shutil.which("helm") or os.environ.get("PODPLAN_REQUIRE_HELM")), reason="no helm"
)
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


def test_a_finding_names_the_kustomization_that_states_its_value(top: Path) -> None:
    patched = JOB.replace("{name: train}", f"{{name: train, annotations: {{{ORIGIN}}}}}") + WORKER
    patch = "[{target: {kind: PyTorchJob}, patch: '[]'}]"
    write(top, {"prod/kustomization.yaml": f"resources: [../base]\npatches: {patch}\n"})
    environment = build_with_double(top, patched.replace("replicas: 1", "replicas: -1"))
    run = podplan("check", "-k", "prod", "--format", "json", cwd=top, env=environment)
    [finding] = [
        one
        for one in json.loads(run.out)["findings"]
        if one["file"] == "base/job.yaml" and "-1" in one["message"]
    ]
    assert [(one["file"], one["line"]) for one in finding["related"]] == [("prod/kustomization.yaml", 2)]
    assert "prod/kustomization.yaml:2" in podplan("check", "-k", "prod", cwd=top, env=environment).out


@REAL
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


SCRIPTED_JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        spec:
          containers:
          - name: pytorch
            image: registry.example.com/train:1
            command: [bash, /scripts/run.sh]
            resources: {limits: {nvidia.com/gpu: 2}}
            volumeMounts: [{name: scripts, mountPath: /scripts}]
          volumes: [{name: scripts, configMap: {name: scripts}}]
"""
GENERATOR = "resources: [job.yaml]\nconfigMapGenerator: [{name: scripts, files: [run.sh]}]\n"


@REAL
def test_a_generated_script_is_checked(tmp_path: Path) -> None:
    script = "torchrun --standalone --nproc_per_node=4 train.py\n"
    kept = GENERATOR + "generatorOptions: {disableNameSuffixHash: true}\n"
    write(tmp_path, {"job.yaml": SCRIPTED_JOB, "run.sh": script, "kustomization.yaml": kept})
    run = podplan("check", "-k", ".", "--format", "json", cwd=tmp_path)
    rules = {one["rule"]: one["file"] for one in json.loads(run.out)["findings"]}
    assert rules["DIST005"] == "kustomize build ."
    assert "NAME007" not in rules


@REAL
def test_a_hash_is_not_added_in_a_custom_resource(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": SCRIPTED_JOB, "run.sh": "true\n", "kustomization.yaml": GENERATOR})
    assert ("NAME007", "job.yaml", 15) in places(
        podplan("check", "-k", ".", "--format", "json", cwd=tmp_path).out
    )
    path = "spec/pytorchReplicaSpecs/Master/template/spec/volumes/configMap/name"
    names = (
        f"nameReference: [{{kind: ConfigMap, version: v1, fieldSpecs: [{{kind: PyTorchJob, path: {path}}}]}}]"
    )
    with_names = GENERATOR + "configurations: [names.yaml]\n"
    write(tmp_path, {"names.yaml": names, "kustomization.yaml": with_names})
    assert "NAME007" not in podplan("check", "-k", ".", cwd=tmp_path).out


@pytest.mark.long
@REAL
def test_diff_compares_what_kustomize_builds(top: Path) -> None:
    patch = top / "prod/more.yaml"
    patch.write_text(TEXTS["prod/more.yaml"].replace("-3", "3"))
    (top / "prod/train.py").write_text("print()\n")
    with (top / "prod/kustomization.yaml").open("a") as stream:
        stream.write("configMapGenerator: [{name: scripts, files: [train.py]}]\n")
    git = git_in(top)
    git("init", "-q")
    commit(git, "a job")
    shutil.copytree(top, top.parent / "before")
    patch.write_text(patch.read_text().replace("replicas: 3", "replicas: 5"))
    run = podplan("diff", "-k", "prod", cwd=top)
    assert "impact  GPUs unchanged (8), +2 Pods (4 → 6)" in run.out, run.out + run.err
    assert "kustomize build prod: 4 → 6 Pods" in run.out
    assert "WORLD_SIZE].value: 4 → 6\n    in 4 Pods of big-train, prod/more.yaml:7\n" in run.out
    with_revision = podplan("diff", "-k", "prod", "HEAD", cwd=top)
    assert (with_revision.code, with_revision.err) == (
        2,
        "podplan: -k DIR replaces the paths; to compare with HEAD, write --base HEAD\n",
    )
    assert podplan("diff", "-k", "base", cwd=top).out.endswith(
        "no change: both sides make the same objects\n"
    )
    two_folders = podplan("diff", "-k", "prod", "--base-tree", "../before/prod", cwd=top)
    assert "+2 Pods (4 → 6)" in two_folders.out
    (top / "new").mkdir()
    (top / "new/kustomization.yaml").write_text("resources: [../base]\n")
    assert "+ created   PyTorchJob train" in podplan("diff", "-k", "new", cwd=top).out
    nothing = podplan("diff", "-k", "nowhere", cwd=top)
    assert (nothing.code, nothing.err) == (
        3,
        "podplan: nowhere: no kustomization in this folder, before or after\n",
    )


@REAL
def test_cmp_hands_over_what_kustomize_builds(top: Path) -> None:
    generate = "cmp", "generate", "-k", "prod"
    refused = podplan(*generate, cwd=top)
    assert (refused.code, refused.out) == (1, "")
    assert "prod/more.yaml:7" in refused.err
    (top / "prod/more.yaml").write_text(TEXTS["prod/more.yaml"].replace("-3", "3"))
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: board}\nspec: {ports: [{port: 6006}]}\n"
    job = JOB.replace("nproc_per_node=4", "nproc_per_node=8")
    (top / "base/job.yaml").write_text(f"{job}---\n{service}")
    run = podplan(*generate, cwd=top)
    assert run.code == 0, run.err
    assert {(one["kind"], one["metadata"]["name"]) for one in yaml.safe_load_all(run.out)} == {
        ("PyTorchJob", "big-train"),
        ("Service", "big-board"),
    }
    assert "origin" not in run.out


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


@REAL_HELM
def test_with_the_real_helm(tmp_path: Path) -> None:
    chart = FIXTURES / "first-steps" / "chart"
    pipe = ["sh", "-c", 'helm template "$1" "$2" | "$3" -m podplan check --format concise -', "sh"]
    done = subprocess.run(
        [*pipe, "nightly", str(chart), sys.executable],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    [line] = [line for line in done.stdout.splitlines() if "DIST001" in line]
    assert line.endswith("(in jobs/templates/train.yaml)")
    shutil.copytree(chart, tmp_path / "broken")
    (tmp_path / "broken/Chart.yaml").write_text("name: jobs\n")
    failed = subprocess.run(
        [*pipe, "nightly", "broken", sys.executable],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert failed.returncode == 3
    assert failed.stderr.endswith("podplan: standard input is empty, so nothing is checked\n")
