"""The status of jobs that Jobs decide over: what real controllers reported, and the names of their Pods."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from podplan.core.replica_groups import LoweringOptions
from podplan.pipeline import JobPlan, PipelineSettings, lower_plan
from podplan.tools.status.jobs import _parse_indexes
from podplan.tools.status.observed_job import build_observed_job
from podplan.tools.status.reconcile import reconcile_job
from podplan.tools.status.replica_states import apply_declared_states
from podplan.tools.status.replicas import list_replicas
from podplan.tools.status.result import StatusResult
from podplan.tools.status.serializer import build_status
from podplan.workspace.documents import classify_documents
from podplan.workspace.loader import Loader
from podplan.yaml import parse_yaml
from podplan.yaml.writer import emit_documents
from tests.command import podplan
from tests.rows import each_row

FIXTURES = Path(__file__).parents[1] / "fixtures"
RECORDED = {
    f"{folder} {row['case']}": row
    for folder in ("jobset", "trainer", "mpi_operator")
    for row in map(json.loads, (FIXTURES / folder / "statuses.jsonl").read_text("utf-8").splitlines())
}
SWEEP = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: sweep, namespace: nlp}
spec:
  replicatedJobs:
  - name: trial
    replicas: 12
    template:
      spec:
        parallelism: 2
        completions: 2
        template: {spec: {containers: [{name: main, image: "registry.example.com/trial:1.4"}]}}
"""


QUEUE = """\
apiVersion: batch/v1
kind: Job
metadata: {name: sweep-trial, namespace: nlp}
spec:
  parallelism: 2
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: "r.example.com/t:1"}]}}
"""
INDEXED = SWEEP.replace("replicas: 12", "replicas: 2").replace(
    "2\n        template", "2\n        completionMode: Indexed\n        template"
)


@each_row(
    ("text", "names", "replicas"),
    [
        (INDEXED, ["sweep-trial-0-1", "trial-0-1", "trial-1"], ["trial-1"]),
        (INDEXED, ["sweep-trial-1-0", "trial-1-0", "sweep-trial-1-0-x7k2p"], ["trial-2"]),
        (INDEXED, ["sweep-trial-1-{0..1}", "trial-1-{0..1}"], ["trial-2", "trial-3"]),
        (QUEUE, ["sweep-trial"], ["pod-0", "pod-1"]),  # Pods without an index have one name
    ],
)
def test_names_as_lower_prints_them(
    text: str, names: Sequence[str], replicas: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(text)
    for name in names:
        run = podplan("status", str(file), "--pod", f"{name}=137")
        ended = [line for line in run.out.splitlines() if "ended with 137" in line]
        assert [line.split()[1] for line in ended] == replicas, name
    run = podplan("status", str(file), "--pod", "sweep-trial-0-7=137")
    assert (run.code, run.out) == (2, "")
    assert 'there is no Pod "sweep-trial-0-7"' in run.err


@each_row("managed", ["kueue.x-k8s.io/multikueue", "acme.example.com/runs", ""])
def test_a_job_of_another_controller_has_no_pods_and_is_counted(managed: str, tmp_path: Path) -> None:
    text = SWEEP.replace("spec:\n", f"spec:\n  managedBy: {managed}\n", 1) if managed else SWEEP
    (tmp_path / "sweep.yaml").write_text(text)
    status = podplan("status", str(tmp_path / "sweep.yaml")).out
    assert (f"managedBy gives it to {managed}" in status) is bool(managed)
    summary = json.loads(podplan("check", "--no-cache", "--format", "json", str(tmp_path)).out)["summary"]
    reason = "Pods: managedBy gives the job to another controller"
    assert summary["notChecked"].get(reason, 0) == bool(managed)


def predict(
    cr: dict[str, Any], others: Sequence[Any] = (), pods: str = "", flags: tuple[str, ...] = ()
) -> StatusResult:
    """The status of a job whose Pods run, but for initializers, which have completed."""
    source = parse_yaml(emit_documents([cr, *others]).encode(), "job.yaml")
    reader = Loader()
    reader.add_stream(source)
    item = next(iter(classify_documents(source)))
    settings = PipelineSettings(lowering_options=LoweringOptions(resumed=True))
    plan = lower_plan(JobPlan(item, cr=item.doc), settings, reader)
    replicas = [
        one._replace(phase="Succeeded", is_declared=True) if one.type.endswith("-initializer") else one
        for one in list_replicas(plan.replica_groups, "Running")
    ]
    states = parse_yaml(pods.encode(), "pods.yaml") if pods else None
    observed = build_observed_job(item.doc.data, replicas, LoweringOptions(), None, plan.replica_groups)
    label = observed.kind_spec.owner_label
    seen = apply_declared_states(observed.name, plan.replica_groups, replicas, states, flags, label)
    return reconcile_job(observed._replace(replicas=tuple(seen)))


def sort_jobs(status: dict[str, Any]) -> dict[str, Any]:
    """A status with its Jobs by name: controllers report them in any order."""
    return {
        key: sorted(value, key=lambda one: one["name"]) if key.lower().endswith("jobsstatus") else value
        for key, value in status.items()
        if key != "restarts"
    }


@each_row("case", RECORDED)
def test_the_status_is_what_a_controller_reported(case: str) -> None:
    row = RECORDED[case]
    result = predict(row["cr"], row.get("others", []))
    assert sort_jobs(build_status(result)) == sort_jobs(row["status"])


def test_pods_count_through_the_jobs_of_a_replicated_job() -> None:
    result = predict(yaml.safe_load(SWEEP))
    names = [(one.observed.short_name, one.observed.name) for one in result.replicas]
    assert names[:3] == [
        ("trial-0", "sweep-trial-0-0-"),
        ("trial-1", "sweep-trial-0-1-"),
        ("trial-2", "sweep-trial-1-0-"),
    ]
    assert names[-1] == ("trial-23", "sweep-trial-11-1-")


def test_pods_with_exclusive_placement_have_names_of_their_own() -> None:
    cr = yaml.safe_load(SWEEP)
    cr["metadata"]["annotations"] = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}
    names = [one.observed.name for one in predict(cr).replicas]
    assert names == [one.observed.name for one in predict(yaml.safe_load(SWEEP)).replicas]


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: sweep-trial-3-1-x7k2p, namespace: nlp, labels: {jobset.sigs.k8s.io/jobset-name: sweep}}
status: {phase: Failed, containerStatuses: [{name: main, state: {terminated: {exitCode: 3}}}]}
"""


def test_the_pods_of_kubectl_have_random_characters() -> None:
    result = predict(yaml.safe_load(SWEEP), pods=POD)
    (failed,) = [one for one in result.replicas if one.observed.phase == "Failed"]
    assert (failed.observed.short_name, failed.observed.exit_code) == ("trial-7", 3)


@pytest.mark.parametrize(
    ("flags", "phase"),
    [
        (("trial=Succeeded",), "Succeeded"),
        (("trial-0=1",), "Running"),
        (("trial-0=Deleted",), "Running"),
    ],
)
def test_a_set_ends_with_its_jobs(flags: tuple[str, ...], phase: str) -> None:
    assert predict(yaml.safe_load(SWEEP), flags=flags).phase == phase


@pytest.mark.parametrize(
    ("text", "indexes"), [("0", {0}), ("0,2-4", {0, 2, 3, 4}), ("", set()), ("a-b", set()), ("1-", set())]
)
def test_indexes_of_a_success_policy(text: str, indexes: set[int]) -> None:
    assert _parse_indexes(text) == indexes


JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: shards, namespace: nlp}
spec:
  parallelism: 2
  completions: 2
  backoffLimit: 2
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "registry.example.com/shard:1.4"}]
"""


def list_pods(*pods: tuple[str, str, int]) -> str:
    """The output of kubectl: name, phase and hour of creation of each Pod."""
    items = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "creationTimestamp": f"2026-11-20T{hour:02}:00:00Z"},
            "status": {"phase": phase},
        }
        for name, phase, hour in pods
    ]
    return yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items})


@pytest.mark.parametrize(
    ("phases", "phase", "restarts"),
    [
        (("Running", "Running"), "Running", 0),
        (("Failed", "Running", "Failed", "Running"), "Running", 2),
        (("Failed", "Failed", "Failed", "Running"), "Failed", 2),
        (("Succeeded", "Failed", "Succeeded"), "Succeeded", 1),
    ],
)
def test_failed_pods_of_a_job_stay_beside_new_ones(
    phases: tuple[str, ...], phase: str, restarts: int
) -> None:
    pods = list_pods(*((f"shards-{number}abcd", phase, number) for number, phase in enumerate(phases)))
    result = predict(yaml.safe_load(JOB), pods=pods)
    assert result.phase == phase
    assert sum(one.restarts for one in result.job.replicas) == restarts
