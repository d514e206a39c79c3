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
        {"chart/Chart.yaml": "name: c\n", "chart/templates/job.yaml": JOB},
        {"templates/job.yaml": JOB + "# {{ .x }}\n"},
        {"kustomization.yaml": "resources: [job.yaml]\n", "job.yaml": JOB},
        {"kustomization.yaml": "resources: [other.yaml]\n", "job.yaml": JOB},
        {"job.yaml": JOB.replace("name: train}", 'name: "${NAME}", namespace: <YOUR_NAMESPACE>}')},
        {"job.yaml": JOB.replace("train:1", "${IMAGE:=train}")},
    ],
)
def test_mistakes_beside_them_are_reported(tmp_path: Path, texts: dict[str, str]) -> None:
    assert check(tmp_path, texts)[0] == MISTAKES


def test_a_fragment_that_is_a_resource_is_a_mistake(tmp_path: Path) -> None:
    texts = {"kustomization.yaml": "resources: [job.yaml]\n", "job.yaml": FRAGMENT}
    assert check(tmp_path, texts)[0] == {"SCHEMA003"}
    assert check(tmp_path / "plain", {"job.yaml": FRAGMENT}, ".")[0] == {"SCHEMA003"}


@pytest.mark.parametrize("value", ["${REPLICAS}", "$REPLICAS", "<REPLICAS>", "'{{ replicas }}'", "'%[1]s'"])
def test_placeholders_are_counted(tmp_path: Path, value: str) -> None:
    codes, not_checked = check(tmp_path, {"job.yaml": JOB.replace("replicas: 1", f"replicas: {value}")})
    assert codes == set()
    assert not_checked["document with placeholders: what depends on them"] == 1


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
