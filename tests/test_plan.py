"""podplan plan: the demo repository in every format, and what holds for any repository."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from podplan.cli.plan import plan_paths
from podplan.kubernetes import DEFAULT_VERSION
from podplan.redaction import hints
from podplan.report import plan_json, plan_markdown, plan_svg, plan_text
from podplan.schema.catalog import build_schema
from podplan.tools.plan.comparison import compare_plans
from podplan.tools.plan.model import Plan
from tests.command import podplan
from tests.git import commit, git_in

KUEUE = Path(__file__).parents[1] / "fixtures" / "kueue"
JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  namespace: team
  labels: {kueue.x-k8s.io/queue-name: queue}
spec:
  parallelism: 2
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: registry.example.com/train:1
        resources: {requests: {cpu: 4}}
"""
QUEUES = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: shared}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {name: any, resources: [{name: cpu, nominalQuota: 10}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: queue, namespace: team}
spec: {clusterQueue: shared}
"""


def plan_files(folder: Path, monkeypatch: pytest.MonkeyPatch, **texts: str) -> Plan:
    """The plan of a repository with these files."""
    (folder / ".git").mkdir()
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    monkeypatch.chdir(folder)
    return plan_paths((".",), isolated=True)[0]


def test_golden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_regression: FileRegressionFixture
) -> None:
    shutil.copytree(KUEUE / "demo", tmp_path, dirs_exist_ok=True)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    plan, _ = plan_paths((".",), isolated=True)
    formats: dict[str, Any] = {"txt": plan_text, "md": plan_markdown, "json": plan_json, "svg": plan_svg}
    for suffix, module in formats.items():
        golden = KUEUE / f"demo.{suffix}"
        file_regression.check(module.render(plan), fullpath=golden, encoding="utf-8", newline="")


def test_jobs_that_are_alike_are_one_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_jobs(*names: str, queue: str = "queue-name: queue", cpu: int = 1) -> str:
        job = JOB.replace("queue-name: queue", queue).replace("cpu: 4", f"cpu: {cpu}")
        return "---\n".join(job.replace("name: train\n", f"name: {name}\n") for name in names)

    plan = plan_files(
        tmp_path,
        monkeypatch,
        queues=QUEUES,
        alike=write_jobs("a", "b", "c", "d"),
        large=write_jobs("large", cpu=99),
        unqueued=write_jobs("e", "f", "g", queue="none: queue"),
    )
    text, table = plan_text.render(plan), plan_markdown.render(plan)
    assert (
        "+ admitted     4 × Job, queue queue → shared\n"
        "               8 Pods\n"
        "               cpu from any\n"
        "               alike.yaml:4 and 3 more (-v lists them)\n"
    ) in text
    assert "<code>4 × Job</code><br>alike.yaml:4 and 3 more | queue → shared | 8 Pods |" in table
    assert all(f"Job team/{name}\n" in text for name in "efg"), "three are no group"
    assert "Job team/large" in text, "one with another verdict is in no group"
    assert plan_text.render(plan, lists_jobs=True).count("+ admitted") == 4
    assert len(json.loads(plan_json.render(plan))["jobs"]) == 8


def test_the_json_has_its_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = jsonschema.Draft202012Validator(build_schema("Plan", DEFAULT_VERSION))
    schema.validate(json.loads((KUEUE / "demo.json").read_text()))
    plan = plan_files(tmp_path, monkeypatch, queues=QUEUES, job=JOB)
    changed = plan_json.build_document(compare_plans(Plan((), ()), plan, "main"))
    schema.validate(changed)
    assert changed["jobs"][0]["change"] == "added"
    changed["jobs"][0]["verdict"] = "accepted"
    assert not schema.is_valid(changed)


def test_without_queues_in_git_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [job] = plan_files(tmp_path, monkeypatch, job=JOB).jobs
    assert (job.verdict, job.message) == ("unknown", "git holds no queues")


def test_jobs_that_fit_alone_may_not_fit_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    second = JOB.replace("name: train", "name: tune")
    plan = plan_files(tmp_path, monkeypatch, queues=QUEUES, job=JOB, second=second)
    assert [job.verdict for job in plan.jobs] == ["admitted", "admitted"]
    [line] = plan.quotas
    assert (line.used, line.nominal, line.jobs) == (16_000, 10_000, 2)
    assert "2 jobs together exceed it by 6: some wait" in plan_text.render(plan)


def test_two_queues_cannot_borrow_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = QUEUES.replace("namespaceSelector: {}", "namespaceSelector: {}\n  cohortName: pool")
    second = first.split("---", 1)[1].replace("shared", "other").replace("name: queue", "name: second")
    plan = plan_files(
        tmp_path,
        monkeypatch,
        queues=f"{first}---\n{second}",
        one=JOB.replace("cpu: 4", "cpu: 8"),
        two=JOB.replace("cpu: 4", "cpu: 8")
        .replace("queue-name: queue", "queue-name: second")
        .replace("train", "t2"),
    )
    assert [job.verdict for job in plan.jobs] == ["admitted", "admitted"]
    assert plan_text.render(plan).count("cohort pool has 20, and its queues request 32: some wait") == 2


def test_of_a_job_that_is_admitted_in_part_that_part_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = JOB.replace("cpu: 4", "cpu: 4, nvidia.com/gpu: 2").replace("parallelism: 2", "parallelism: 8")
    job = job.replace("  labels:", '  annotations: {kueue.x-k8s.io/job-min-parallelism: "1"}\n  labels:')
    job = job.replace(
        "cpu: 4, nvidia.com/gpu: 2}}", "cpu: 4, nvidia.com/gpu: 2}, limits: {nvidia.com/gpu: 2}}"
    )
    queues = QUEUES.replace("[cpu]", "[cpu, nvidia.com/gpu]").replace(
        "nominalQuota: 10}", "nominalQuota: 10}, {name: nvidia.com/gpu, nominalQuota: 10}"
    )
    plan = plan_files(tmp_path, monkeypatch, queues=queues, job=job)
    assert [(job.verdict, job.pods, job.gpus) for job in plan.jobs] == [("admitted", 2, 4)]


def test_a_shortage_is_at_the_line_of_the_quota(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [job] = plan_files(tmp_path, monkeypatch, queues=QUEUES, job=JOB.replace("cpu: 4", "cpu: 6")).jobs
    assert job.verdict == "pending"
    assert job.place is not None
    assert (job.place.file, job.place.line) == ("queues.yaml", 13)


def test_labels_of_a_namespace_that_is_not_in_git_are_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queues = QUEUES.replace("namespaceSelector: {}", "namespaceSelector: {matchLabels: {tier: gold}}")
    [job] = plan_files(tmp_path, monkeypatch, queues=queues, job=JOB).jobs
    assert job.verdict == "unknown"


def test_of_several_definitions_none_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    overlay = QUEUES.replace("nominalQuota: 10", "nominalQuota: 20")
    [job] = plan_files(tmp_path, monkeypatch, base=QUEUES, overlay=overlay, job=JOB).jobs
    assert job.verdict == "unknown"
    wanted = "ClusterQueue shared is in base.yaml and overlay.yaml, so it is unclear which one counts"
    assert job.message == wanted


def test_a_queue_of_the_same_name_elsewhere_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = (
        QUEUES.split("---")[2].replace("namespace: team", "namespace: other").replace("shared", "Bad Name!")
    )
    plan = plan_files(tmp_path, monkeypatch, queues=f"{QUEUES}---{other}", job=JOB)
    assert [job.verdict for job in plan.jobs] == ["admitted"]


MANAGER = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: kueue-manager-config, namespace: kueue-system}
data:
  controller_manager_config.yaml: |
    apiVersion: config.kueue.x-k8s.io/v1beta2
    kind: Configuration
    integrations: {frameworks: [batch/job]}
"""


def test_a_configuration_that_is_not_known_decides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_files(tmp_path, monkeypatch, queues=QUEUES, job=JOB, manager=MANAGER.replace("]}", "]"))
    assert [job.message for job in plan.jobs] == ["the configuration of Kueue in manager.yaml is not YAML"]
    (tmp_path / "manager.yaml").write_text(MANAGER)
    (tmp_path / "second.yaml").write_text(MANAGER.replace("batch/job", "pod"))
    [job] = plan_paths((".",), isolated=True)[0].jobs
    assert (job.verdict, job.message) == (
        "unknown",
        "the configurations of Kueue in manager.yaml and second.yaml differ",
    )


def test_the_webhook_of_a_kind_is_not_that_of_kueue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = JOB.replace("batch/v1", "kubeflow.org/v1").replace("kind: Job", "kind: PyTorchJob")
    head, _, template = job.partition("  parallelism: 2\n")
    indented = "".join(f"    {line}\n" for line in template.splitlines())
    text = f"{head}  pytorchReplicaSpecs:\n    Worker:\n      replicas: 0\n{indented}"
    text = text.replace("name: main", "name: pytorch")
    plan = plan_files(tmp_path, monkeypatch, queues=QUEUES, job=text)
    [planned] = plan.jobs
    assert (planned.verdict, planned.refused_by) == ("admitted", "the webhook of the training operator")
    assert planned.refused_by in planned.errors[0]
    assert (planned.usage, plan.quotas) == ({}, ())
    shown = plan_text.render(plan)
    assert "1 job: 1 refused;" in shown
    assert "the webhook of the training operator refuses the job; Kueue alone: admitted" in shown
    assert "❌ refused" in plan_markdown.render(plan)
    schema = jsonschema.Draft202012Validator(build_schema("Plan", DEFAULT_VERSION))
    document = plan_json.build_document(plan)
    schema.validate(document)
    assert document["jobs"][0]["refusedBy"] == planned.refused_by
    assert podplan("plan", "--exit-code").code == 1


LARGE = JOB.replace("cpu: 4", "cpu: 8")
CHECK = """\
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: budget}
spec: {controllerName: example.com/budget}
status: {conditions: [{type: Active, status: "True"}]}
"""
# queues, job, and whether the pending job never fits
PENDING = {
    "too large": (QUEUES, LARGE, True),
    "not covered": (QUEUES, JOB.replace("cpu: 4", "memory: 4Gi"), True),
    "a cohort that git has only a part of": (
        QUEUES.replace("namespaceSelector: {}", "namespaceSelector: {}\n  cohortName: pool"), LARGE, False
    ),
    "a check": (
        QUEUES.replace(
            "namespaceSelector: {}",
            "namespaceSelector: {}\n  admissionChecksStrategy: {admissionChecks: [{name: budget}]}",
        ) + CHECK,
        JOB, False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PENDING)
def test_a_pending_job_waits_or_never_fits(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queues, text, never = PENDING[name]
    plan = plan_files(tmp_path, monkeypatch, queues=queues, job=text)
    [job] = plan.jobs
    assert (job.verdict, job.never_fits) == ("pending", never), job.message
    assert plan_json.build_document(plan)["jobs"][0]["neverFits"] is never
    shown = plan_text.render(plan)
    assert ("1 pending (1 never admitted)" in shown, "never admitted: " in shown) == (never, never)


def test_an_object_that_kueue_refuses_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queues = QUEUES.replace("nominalQuota: 10", "nominalQuota: -1")
    [job] = plan_files(tmp_path, monkeypatch, queues=queues, job=JOB).jobs
    assert job.verdict == "rejected"
    shown = podplan("check", "--isolated", "--format", "json", ".")
    [finding] = [one for one in json.loads(shown.out)["findings"] if one["rule"] == "SCHEMA013"]
    assert (finding["file"], finding["line"]) == ("queues.yaml", 13)


def test_a_field_of_the_former_version_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queues = QUEUES.replace("namespaceSelector: {}", "namespaceSelector: {}\n  cohort: pool")
    plan_files(tmp_path, monkeypatch, queues=queues, job=JOB)
    shown = podplan("check", "--isolated", "--format", "json", ".")
    [finding] = [one for one in json.loads(shown.out)["findings"] if one["rule"] == "SCHEMA012"]
    assert (finding["line"], finding["help"]) == (10, "write cohortName")
    (tmp_path / "queues.yaml").write_text(queues.replace("v1beta2", "v1beta1"))
    assert "SCHEMA012" not in podplan("check", "--isolated", ".").out


def test_changes_since_a_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git = git_in(tmp_path)
    git("init", "-q", "-b", "main")
    second = JOB.replace("name: train", "name: tune")
    for name, text in {"queues": QUEUES, "job": JOB, "second": second}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    commit(git, "base")
    (tmp_path / "queues.yaml").write_text(QUEUES.replace("nominalQuota: 10", "nominalQuota: 7"))
    (tmp_path / "second.yaml").unlink()
    (tmp_path / "third.yaml").write_text(
        JOB.replace("name: train", "name: small").replace("cpu: 4", "cpu: 1")
    )
    monkeypatch.chdir(tmp_path)
    shown = json.loads(podplan("plan", "--base", "HEAD", "--format", "json").out)
    changes = {one["name"]: (one["change"], one["baseVerdict"], one["verdict"]) for one in shown["jobs"]}
    assert changes == {
        "train": ("changed", "admitted", "pending"),
        "small": ("added", None, "admitted"),
        "tune": ("removed", "admitted", "admitted"),
    }
    text = podplan("plan", "--base", "HEAD").out
    assert "1 added, 1 changed, 1 removed" in text
    assert "(changed, was admitted)" in text
    assert podplan("plan", "--base", "HEAD", "--exit-code").code == 1
    assert "change  HEAD (" in podplan("plan", "--base", "HEAD..").out
    assert podplan("plan", "--base", "nope").code == 2


def test_exit_codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan_files(tmp_path, monkeypatch, queues=QUEUES, job=JOB.replace("cpu: 4", "cpu: 6"))
    assert podplan("plan", ".").code == 0
    assert podplan("plan", "--exit-code", ".").code == 1
    assert podplan("plan", "queues.yaml").code == 3
    assert podplan("plan", "-").code == 2


def test_a_file_that_is_not_planned_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan_files(tmp_path, monkeypatch, queues=QUEUES, job=JOB)
    (tmp_path / "notes.yaml").write_text("a: b: c\n")
    said = podplan("plan", ".")
    assert (said.code, said.err) == (0, "podplan: not checked: 1 × not YAML\n")
    (tmp_path / "wrong.yaml").write_text(JOB.replace("name: train", "name: wrong").replace("main", "Main"))
    said = podplan("plan", ".")
    assert said.code == 1
    assert "SCHEMA" in said.err
    assert "1 × not YAML" in said.err
    assert "Job team/train" in said.out


def test_a_long_chain_of_cohorts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each lends what is below it; the job borrows from the last."""
    cohort = "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: Cohort\nmetadata: {{name: c{0}}}\n"
    chain = [cohort.format(number) + f"spec: {{parentName: c{number + 1}}}\n" for number in range(2000)]
    quota = QUEUES.split("resourceGroups:")[1].split("---")[0]
    top = cohort.format(2000) + f"spec:\n  resourceGroups:{quota}"
    queues = QUEUES.replace("namespaceSelector: {}", "namespaceSelector: {}\n  cohortName: c0")
    plan = plan_files(
        tmp_path,
        monkeypatch,
        queues=queues + "".join(chain) + top,
        job=JOB.replace("cpu: 4", "cpu: 10"),
    )
    assert [job.verdict for job in plan.jobs] == ["admitted"]


def test_a_check_of_jobs_does_not_load_it(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(
        JOB.replace("labels: {kueue.x-k8s.io/queue-name: queue}", "labels: {}")
    )
    program = (
        "import sys\nfrom podplan.cli.check_run import check_paths\ncheck_paths(['job.yaml'])\n"
        "loaded = [n for n in sys.modules if n.startswith(('podplan.cluster.', 'podplan.tools.plan'))]\n"
        "loaded.remove('podplan.cluster.kinds')\n"
        "sys.exit(' '.join(loaded) or 0)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


def test_objects_of_the_cluster_are_where_the_configuration_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    for folder, quota in {"east": "nominalQuota: 10", "west": "nominalQuota: 4"}.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "queues.yaml").write_text(QUEUES.replace("nominalQuota: 10", quota))
    (tmp_path / "job.yaml").write_text(JOB)
    monkeypatch.chdir(tmp_path)
    verdicts = {"": "unknown", "east": "admitted", "west": "pending"}
    for folder, verdict in verdicts.items():
        objects = f'[inventory]\nobjects = ["{folder}"]\n' if folder else ""
        (tmp_path / "podplan.toml").write_text(objects)
        [job] = plan_paths((".",))[0].jobs
        assert (folder, job.verdict) == (folder, verdict)
        assert podplan("check", "--no-cache", "--select", "SCHED08", ".").code == (folder == "west")
        shown = podplan("inventory", ".").out
        assert ("west/queues.yaml" in shown) == (folder != "east")


def test_facts_and_contradictions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_regression: FileRegressionFixture
) -> None:
    shutil.copytree(KUEUE / "facts", tmp_path, dirs_exist_ok=True)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    facts = podplan("inventory", "--format", "text", ".").out
    assert "hunter2" not in facts
    findings = podplan(
        "check", "-v", "--isolated", "--no-cache", "--preset", "default", "--format", "concise", "."
    ).out
    text = f"{facts}\n{findings}"
    golden = KUEUE / "facts.txt"
    file_regression.check(text, fullpath=golden, encoding="utf-8", newline="")


def test_objects_that_state_facts_are_not_called_unchecked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from podplan.cluster.kinds import FACT_KINDS, KINDS
    from podplan.tools.inventory.object_facts import _READERS

    kinds = {
        (group, kind) for table in (KINDS, FACT_KINDS) for group, names in table.items() for kind in names
    }
    # A Secret is checked, and a Deployment or a ConfigMap is read only for what some of them contain.
    assert {one for one in _READERS if one[1] not in ("Secret", "Deployment", "ConfigMap")} <= kinds
    documents = [
        "{apiVersion: v1, kind: LimitRange, metadata: {name: a}, spec: {limits: []}}",
        "{apiVersion: v1, kind: Namespace, metadata: {name: a}}",
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}",
    ]
    (tmp_path / "objects.yaml").write_text("\n---\n".join(documents))
    monkeypatch.chdir(tmp_path)
    shown = podplan("check", "--isolated", "--no-cache", ".").out
    assert "Deployment (apps/v1)" in shown
    assert "LimitRange" not in shown
    assert "Namespace" not in shown


def test_the_text_of_a_file_is_searched_once_whatever_jobs_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [JOB.replace("name: train", f"name: train-{number}") for number in range(20)]
    searched: list[str] = []
    monkeypatch.setattr(hints, "may_hold_token", searched.append)
    plan_files(tmp_path, monkeypatch, queues=QUEUES, jobs="---\n".join(jobs))
    assert len([text for text in searched if "train-19" in text]) <= 2  # to parse it, and to report it


def test_a_profile_is_planned_in_each_environment(tmp_path: Path) -> None:
    (tmp_path / "queues.yaml").write_text(QUEUES)
    (tmp_path / "job.yaml").write_text(
        "apiVersion: podplan/v1\nkind: JobProfile\nmetadata: {name: resnet, namespace: team}\n"
        "spec:\n  job: PyTorchJob\n  image: a:1\n  run: [a.py]\n  schedule: {queue: queue, by: kueue}\n"
        "  resources: {requests: {cpu: 4}}\n  roles: [{name: Worker, replicas: 2}]\n"
        "  environments: {dev: {}, prod: {roles: [{name: Worker, replicas: 9}]}}\n"
    )

    def list_jobs(*flags: str) -> list[tuple[str, str]]:
        shown = podplan("plan", *flags, "--format", "json", cwd=tmp_path)
        return [(one["variant"], one["verdict"]) for one in json.loads(shown.out)["jobs"]]

    both = [("dev", "admitted"), ("prod", "pending")]
    assert list_jobs() == list_jobs("-e", "all") == both
    assert list_jobs("-e", "prod") == both[1:]


def test_a_label_that_kueue_does_not_read_is_a_name_of_a_queue(tmp_path: Path) -> None:
    (tmp_path / "queues.yaml").write_text(QUEUES)
    template = "{template: {spec: {containers: [{name: mpi, image: 'a:1'}]}}}"
    job = (
        "apiVersion: kubeflow.org/v1\nkind: MPIJob\nmetadata: {name: a, namespace: team, labels: LABELS}\n"
        f"spec: {{mpiReplicaSpecs: {{Launcher: {template}}}}}\n"
    )
    for labels, reason in (
        ("{kueue.x-k8s.io/queue-name: queue}", "               Kueue does not manage its kind\n"),
        ("{}", "the job names no queue, and Kueue does not manage its kind\n"),
    ):
        (tmp_path / "job.yaml").write_text(job.replace("LABELS", labels))
        assert reason in podplan("plan", cwd=tmp_path).out
