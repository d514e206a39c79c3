"""Values with placeholders do not keep other commands than check from working, and are named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import podplan
from tests.git import commit, git_in
from tests.test_documents_of_other_tools import JOB, write

TEMPLATE = JOB.replace("{name: train}", '{name: "${NAME}"}').replace("train:1", "train:${TAG}")
NOTE = "podplan: not checked: 1 × document with placeholders: what depends on them\n"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    write(tmp_path, {"job.yaml": TEMPLATE, "count.yaml": JOB.replace("replicas: 1", "replicas: ${COUNT}")})
    return tmp_path


def test_lower_and_why_keep_them(top: Path) -> None:
    lowered = podplan("lower", "job.yaml", cwd=top)
    assert (lowered.code, lowered.err) == (0, NOTE)
    assert 'name: "${NAME}-master-0"' in lowered.out
    assert "image: registry.example.com/train:${TAG}" in lowered.out.replace('"', "")
    why = podplan("why", "job.yaml", "PET_NNODES", cwd=top)
    assert (why.code, why.err) == (0, NOTE)


def test_a_number_of_replicas_must_be_filled_in_first(top: Path) -> None:
    run = podplan("lower", "count.yaml", cwd=top)
    assert (run.code, run.out) == (1, "")
    assert "this looks like a placeholder" in run.err


def test_diff_does_not_call_them_broken(top: Path) -> None:
    (top / "later.yaml").write_text(TEMPLATE.replace("gpu: 8", "gpu: 4"))
    run = podplan("diff", "--base-tree", "job.yaml", "later.yaml", cwd=top)
    assert run.code == 0, run.out + run.err
    assert "8 → 4 GPUs" in run.out


def test_other_commands_pass_over_templates_and_patches(top: Path) -> None:
    write(
        top,
        {
            "chart/Chart.yaml": "name: jobs\n",
            "chart/templates/job.yaml": JOB.replace("train:1", "{{ .Values.image }}").replace(
                "{name: train}", "\n  name: {{ .Release.Name }}"
            ),
            "prod/kustomization.yaml": "resources: [../plain.yaml]\npatches: [{path: more.yaml}]\n",
            "prod/more.yaml": "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: train}\n",
            "plain.yaml": JOB,
        },
    )
    (top / "count.yaml").unlink()
    (top / "job.yaml").unlink()
    lowered = podplan("lower", ".", cwd=top)
    assert (lowered.code, "name: train-master-0" in lowered.out) == (0, True), lowered.err
    imported = podplan("import", ".", "-o", "profiles", cwd=top)
    assert (imported.code, imported.err) == (
        0,
        "podplan: profiles: 1 profile and 0 bases; all render to their CRs; passed over: 1 × Helm template,"
        " 1 × kustomize patch\n",
    )
    git = git_in(top)
    git("init", "-q")
    commit(git, "jobs")
    assert "broken" not in podplan("diff", cwd=top).out


PLACEHOLDERS = (
    "$(params.limit_memory)",
    "$(tasks.x.results.y)",
    "$(params['limit'])",
    "$(context.taskRun.name)",
    "$(workspaces.source.path)",
    "$(model-name)",
    "{{inputs.parameters.x}}",
    "{{=inputs.parameters.x}}",
    "{{workflow.parameters.memory}}",
    "{{ .Values.memory }}",
    "<MEMORY>",
    "${MEMORY}",
    "${MEMORY:-1Gi}",
    "$MEMORY",
    "%s",
    "@MEMORY@",
    "__MEMORY__",
    "IMG_PLACEHOLDER",
    "PLACEHOLDER",
    "REPLACE_ME",
    "YOUR_VALUE",
)
EVERYWHERE = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: VALUE, namespace: VALUE}
spec:
  runPolicy: {activeDeadlineSeconds: VALUE}
  pytorchReplicaSpecs:
    Master:
      replicas: VALUE
      template:
        spec:
          serviceAccountName: VALUE
          containers:
          - name: pytorch
            image: VALUE
            imagePullPolicy: VALUE
            ports: [{name: http, containerPort: VALUE}]
            resources: {limits: {cpu: VALUE, memory: VALUE, nvidia.com/gpu: VALUE}}
          volumes:
          - {name: shm, emptyDir: {medium: Memory, sizeLimit: VALUE}}
          - {name: data, persistentVolumeClaim: {claimName: VALUE}}
"""


@pytest.mark.parametrize("placeholder", PLACEHOLDERS)
def test_placeholders_where_numbers_quantities_and_names_are(tmp_path: Path, placeholder: str) -> None:
    (tmp_path / "job.yaml").write_text(EVERYWHERE.replace("VALUE", f'"{placeholder}"'))
    run = podplan("check", "--isolated", "--format", "concise", "job.yaml", cwd=tmp_path)
    assert run.code == 0, run.out
    assert run.out.startswith("no findings in 1 file")
    assert "1 × document with placeholders" in run.out


WORDS = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: replaced-by-kustomize}
spec:
  parallelism: V_PODS
  template:
    spec:
      restartPolicy: Never
      serviceAccountName: V_SERVICE_ACCOUNT
      containers:
        - name: main
          image: V_IMAGE_URL
          command: [sh, -c, 'test "$V_KEY"']
          env: [{name: V_KEY, value: V_KEY}]
        - {name: log, image: replaced-by-kustomize, command: [cat]}
"""


def test_words_that_sed_and_kustomize_replace(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": WORDS, "b.yaml": WORDS})
    run = podplan("check", "--isolated", "--format", "concise", ".", cwd=tmp_path)
    assert run.out.startswith("no findings in 2 files"), run.out
    assert "2 × document with placeholders" in run.out


@pytest.mark.parametrize(
    ("written", "mistake", "rule"),
    [
        ("image: V_IMAGE_URL", "image: IMAGE:V1", "IMG005"),
        ("restartPolicy: Never", "restartPolicy: ON_FAILURE", "SCHEMA004"),
        ("V_SERVICE_ACCOUNT", "Trainer_Account", "SCHEMA006"),
        ("V_SERVICE_ACCOUNT", "G_1", "SCHEMA006"),
    ],
)
def test_other_capitals_are_mistakes(tmp_path: Path, written: str, mistake: str, rule: str) -> None:
    job = WORDS.replace(written, mistake).replace("V_PODS", "1")
    write(tmp_path, {"job.yaml": job})
    assert f"error {rule}" in podplan("check", "--isolated", "--format", "concise", ".", cwd=tmp_path).out


def test_a_template_file_defines_no_second_job(tmp_path: Path) -> None:
    write(tmp_path, {"job.tpl.yaml": JOB, "job.yaml": JOB, "job.template.yml": JOB})
    assert "NAME002" not in podplan("check", "--isolated", ".", cwd=tmp_path).out
    write(tmp_path, {"more.yaml": JOB})
    assert "NAME002" in podplan("check", "--isolated", ".", cwd=tmp_path).out


@pytest.mark.parametrize("value", ["$(MEMORY)", "one", "{memory}"])
def test_values_that_nobody_fills_in_are_errors(tmp_path: Path, value: str) -> None:
    (tmp_path / "job.yaml").write_text(EVERYWHERE.replace("VALUE", f'"{value}"'))
    run = podplan("check", "--isolated", "--format", "concise", "job.yaml", cwd=tmp_path)
    assert run.code == 1
    assert "SCHEMA002 replicas must be an integer" in run.out


def test_parameters_of_a_workflow_in_a_command_line(tmp_path: Path) -> None:
    line = (
        '[torchrun, "--nproc_per_node=$(params.processes)", "--nnodes={{inputs.parameters.nodes}}", train.py]'
    )
    job = JOB.replace("[torchrun, --nproc_per_node=4, train.py]", line)
    assert job != JOB
    (tmp_path / "job.yaml").write_text(job)
    run = podplan("check", "--isolated", "--format", "concise", "job.yaml", cwd=tmp_path)
    assert run.code == 0, run.out
    assert "nnodes" not in run.out


QUEUED = """\
apiVersion: batch/v1
kind: Job
metadata: {name: "${NAME}-train", namespace: team, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  parallelism: 1
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {pool: gold}
      containers:
        - {name: main, image: "${IMAGE}", command: [echo, $HOME], resources: {requests: {cpu: 1}}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: q, namespace: team}
spec: {clusterQueue: cq}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: f}
spec: {nodeLabels: {pool: gold}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: cq}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [cpu]
      flavors: [{name: f, resources: [{name: cpu, nominalQuota: 4}]}]
"""


@pytest.mark.parametrize(
    ("written", "filled", "verdict"),
    [
        ("parallelism: 1", "parallelism: 1", "admitted"),
        ("parallelism: 1", "parallelism: ${N}", "unknown"),
        ("cpu: 1}", 'cpu: "${N}"}', "unknown"),
        ("pool: gold}\n      containers", 'pool: "${N}"}\n      containers', "unknown"),
        ("namespace: team, labels", 'namespace: "${N}", labels', "unknown"),
        ("queue-name: q", 'queue-name: "${N}"', "unknown"),
    ],
)
def test_plan_and_check_pass_over_the_same(tmp_path: Path, written: str, filled: str, verdict: str) -> None:
    """A value that decides is unknown in the plan, and not checked in check; any other decides nothing."""
    write(tmp_path, {"job.yaml": QUEUED.replace(written, filled)})
    run = podplan("plan", "--format", "json", cwd=tmp_path)
    [job] = json.loads(run.out)["jobs"]
    assert (run.code, job["verdict"], job["errors"]) == (0, verdict, []), run.out + run.err
    if verdict == "unknown":
        assert job["message"] == "another tool fills in ${N}, on which the verdict depends"
    checked = podplan("check", "--fail-on", "error", cwd=tmp_path)
    assert checked.code == 0, checked.out
    assert "SCHED08" not in checked.out
    assert "document with placeholders" in checked.out
