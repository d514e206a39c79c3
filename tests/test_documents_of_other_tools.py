"""Templates, patches and placeholders are not checked, but counted; nothing else is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import podplan

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: Never
      template:
        spec:
          containers:
          - name: pytorch
            image: registry.example.com/train:1
            command: [torchrun, --nproc_per_node=4, train.py]
            resources: {limits: {nvidia.com/gpu: 8}}
"""
FRAGMENT = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Master: {replicas: 1}
"""
RAY_JOB = """\
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: "{{ .Release.Name }}"}
spec:
  entrypoint: python train.py
  rayClusterSpec:
    headGroupSpec:
      template: {spec: {containers: [{name: head, image: "head:1", resources: {limits: {cpu: many}}}]}}
"""
QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: q}
spec:
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: f, resources: [{name: memory, nominalQuota: 1}]}]
"""
PATCH = FRAGMENT.replace("replicas: 1", "$patch: delete")
KUSTOMIZE_PATCH = {"kustomize patch": 1}


def write(top: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)


def check(top: Path, texts: dict[str, str], *paths: str) -> tuple[set[str], dict[str, int]]:
    """Return the codes of errors and warnings, and what was not checked."""
    write(top, texts)
    run = podplan("check", "--format", "json", *paths, cwd=top)
    report = json.loads(run.out)
    codes = {one["rule"] for one in report["findings"] if one["severity"] != "info"}
    not_checked = report["summary"]["notChecked"]
    return codes, {key: n for key, n in not_checked.items() if "(" not in key and not key.startswith("rules")}


MISTAKES = {"DIST001", "RES001"}


def test_the_job_of_these_tests_has_mistakes(tmp_path: Path) -> None:
    assert check(tmp_path, {"job.yaml": JOB})[0] == MISTAKES


@pytest.mark.parametrize(
    ("texts", "not_checked"),
    [
        (
            {"chart/templates/job.yaml": JOB.replace("replicas: 1", "replicas: one # {{ .x }}")},
            "Helm template",
        ),
        ({"chart/templates/sub/job.yaml": JOB.replace(":1\n", ":{{ .Values.tag }}\n")}, "Helm template"),
        ({"chart/templates/job.yaml": JOB}, "Helm template"),
        ({"chart/templates/ray.yaml": RAY_JOB}, "Helm template"),
        ({"chart/templates/queue.yaml": QUEUE}, "Helm template"),
        (
            {"elsewhere/job.yaml": JOB.replace("replicas: 1", "replicas: {{ replicas }}")},
            "part of a template",
        ),
        ({"elsewhere/job.yaml": "{% if gpus %}\n" + JOB}, "template"),
        (
            {
                "kustomization.yaml": "patches: [{path: a/patch.yaml, target: {kind: PyTorchJob}}]\n",
                "a/patch.yaml": FRAGMENT,
            },
            "kustomize patch",
        ),
        (
            {"a/kustomization.yml": "patchesStrategicMerge: [patch.yaml]\n", "a/patch.yaml": JOB},
            "kustomize patch",
        ),
        ({"a/kustomization.yaml": "resources: [../b]\n", "a/patch.yaml": FRAGMENT}, "kustomize patch"),
        ({"patch.yaml": PATCH}, "kustomize patch"),
        (
            {"secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nsops: {mac: x}\n"},
            "encrypted by sops",
        ),
        (
            {"kustomization.yaml": "generators: [job.yaml]\n", "job.yaml": FRAGMENT},
            "kustomize function configuration",
        ),
        (
            {"job.yaml": JOB.replace("{name: train}", "{annotations: {config.kubernetes.io/function: x}}")},
            "kustomize function configuration",
        ),
    ],
)
def test_documents_of_other_tools_are_counted(
    tmp_path: Path, texts: dict[str, str], not_checked: str
) -> None:
    codes, counts = check(tmp_path, {"chart/Chart.yaml": "name: c\n", **texts})
    assert (codes, counts[not_checked]) == (set(), 1)


@pytest.mark.parametrize(
    "texts",
    [
        {"templates/job.yaml": JOB + "# {{ .x }}\n"},
        {"chart/Chart.yaml": "name: c\n", "chart/files/job.yaml": JOB},
        {"kustomization.yaml": "resources: [job.yaml]\n", "job.yaml": JOB},
        {"kustomization.yaml": "resources: [other.yaml]\n", "job.yaml": JOB},
        {"job.yaml": JOB.replace("name: train}", 'name: "${NAME}", namespace: <YOUR_NAMESPACE>}')},
        {"job.yaml": JOB.replace("train:1", "${IMAGE:=train}")},
    ],
)
def test_mistakes_beside_them_are_reported(tmp_path: Path, texts: dict[str, str]) -> None:
    assert check(tmp_path, texts)[0] == MISTAKES


@pytest.mark.parametrize("text", [RAY_JOB, QUEUE])
def test_other_kinds_have_mistakes_outside_of_charts(tmp_path: Path, text: str) -> None:
    assert check(tmp_path, {"templates/object.yaml": text})[0]


def test_a_plain_template_is_checked_if_it_is_named(tmp_path: Path) -> None:
    template = "chart/templates/job.yaml"
    texts = {"chart/Chart.yaml": "name: c\n", template: JOB}
    assert check(tmp_path, texts, template) == (MISTAKES, {})
    assert "kind: Pod" in podplan("lower", template, cwd=tmp_path).out
    assert check(tmp_path, texts, "--affected-by", template) == (
        set(),
        {"Helm template": 1, "no apiVersion": 1},
    )
    in_folder = podplan("lower", "chart", cwd=tmp_path)
    assert (in_folder.code, in_folder.out) == (3, "")
    assert "1 × Helm template" in in_folder.err
    write(tmp_path, {template: JOB + "{{- if .Values.more }}\n---\n" + FRAGMENT + "{{ end }}\n"})
    assert "1 × Helm template" in podplan("lower", "chart", cwd=tmp_path).err
    write(tmp_path, {template: JOB})
    write(tmp_path / "before", {template: JOB.replace("nproc_per_node=4", "nproc_per_node=8")})
    named = podplan("diff", "--base-tree", f"before/{template}", template, cwd=tmp_path)
    assert "1 needs re-creation" in named.out
    write(tmp_path, {template: JOB.replace(":1\n", ":{{ .Values.tag }}\n")})
    assert check(tmp_path, {}, template) == (set(), {"Helm template": 1})


def test_a_fragment_that_is_a_resource_is_a_mistake(tmp_path: Path) -> None:
    texts = {"kustomization.yaml": "resources: [job.yaml]\n", "job.yaml": FRAGMENT}
    assert check(tmp_path, texts)[0] == {"SCHEMA003"}
    assert check(tmp_path / "plain", {"job.yaml": FRAGMENT}, ".")[0] == {"SCHEMA003"}


@pytest.mark.parametrize("value", ["${REPLICAS}", "$REPLICAS", "<REPLICAS>", "'{{ replicas }}'", "'%[1]s'"])
def test_placeholders_are_counted(tmp_path: Path, value: str) -> None:
    codes, not_checked = check(tmp_path, {"job.yaml": JOB.replace("replicas: 1", f"replicas: {value}")})
    assert codes == set()
    assert not_checked["document with placeholders: what depends on them"] == 1
    assert not_checked["lowered objects: another tool completes the CR"] == 1
    assert "lowered objects: the CR has errors" not in not_checked


def test_an_error_beside_a_placeholder_is_one_of_the_cr(tmp_path: Path) -> None:
    text = JOB.replace("replicas: 1", "replicas: ${REPLICAS}").replace("Never", "5")
    codes, not_checked = check(tmp_path, {"job.yaml": text})
    assert codes == {"SCHEMA002"}
    assert not_checked["lowered objects: the CR has errors"] == 1


@pytest.mark.parametrize("value", ["five", "$(REPLICAS)", "${{ replicas }}", "a < b", "5$"])
def test_other_texts_are_no_placeholders(tmp_path: Path, value: str) -> None:
    codes, _ = check(tmp_path, {"job.yaml": JOB.replace("replicas: 1", f"replicas: {value}")})
    assert codes == {"SCHEMA002"}


def test_variables_of_a_shell_are_no_placeholders(tmp_path: Path) -> None:
    texts = {"job.yaml": JOB.replace("train.py]", "train.py, $LR]")}
    assert check(tmp_path, texts)[0] > MISTAKES


def test_jobs_with_a_placeholder_as_their_name_are_not_the_same(tmp_path: Path) -> None:
    job = JOB.replace("name: train}", 'name: "job-${NAME}"}')
    assert check(tmp_path, {"a.yaml": job, "b.yaml": job})[0] == MISTAKES


def test_a_pod_template_of_spark_is_counted(tmp_path: Path) -> None:
    pod = "apiVersion: v1\nkind: Pod\nspec: {nodeSelector: {pool: spark}}\n"
    write(tmp_path, {"driver-pod-template.yaml": pod, "pod.yaml": pod})
    run = podplan("check", "--isolated", "--format", "concise", ".", cwd=tmp_path)
    assert "pod.yaml:3:7: error SCHEMA003" in run.out
    assert "driver-pod-template" not in run.out
    assert "1 × Pod template of another tool" in run.out
