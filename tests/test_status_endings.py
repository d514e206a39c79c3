"""podplan status for kinds whose controller reports conditions: what the real training operator did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import LoweringOptions
from podplan.pipeline import JobPlan, PipelineSettings, lower_plan
from podplan.tools.status.observed_job import build_observed_job
from podplan.tools.status.reconcile import reconcile_job
from podplan.tools.status.replica_states import apply_declared_states
from podplan.tools.status.replicas import list_replicas
from podplan.tools.status.result import StatusResult
from podplan.tools.status.serializer import build_status
from podplan.workspace.documents import classify_document
from podplan.workspace.loader import Loader
from tests.lowered_objects import job
from tests.lowering_jobs import PYTORCH_JOB
from tests.rows import each_row

FIXTURES = Path(__file__).parents[1] / "fixtures" / "training_operator"
ENDINGS = {
    row["case"]: row for row in map(json.loads, (FIXTURES / "endings.jsonl").read_text("utf-8").splitlines())
}


def predict(
    cr: dict[str, Any], *flags: str, elapsed: int | None = None, others: str = "Running"
) -> StatusResult:
    """The status of a job whose Pods run but for those of ``flags``."""
    document = TracedDocument("job.yaml", cr)
    settings = PipelineSettings(lowering_options=LoweringOptions(resumed=True))
    plan = lower_plan(JobPlan(classify_document(document), cr=document), settings, Loader())
    replicas = list_replicas(plan.replica_groups, others)
    observed = build_observed_job(cr, replicas, LoweringOptions(), elapsed)
    label = observed.kind_spec.owner_label
    states = apply_declared_states(observed.name, plan.replica_groups, replicas, None, flags, label)
    return reconcile_job(observed._replace(replicas=tuple(states)))


def with_policy(**policy: Any) -> dict[str, Any]:
    return {**PYTORCH_JOB, "spec": {**PYTORCH_JOB["spec"], "runPolicy": policy}}


def types_of(result: StatusResult) -> list[str]:
    return [one.type for one in result.conditions if one.status]


@each_row("case", ENDINGS)
def test_the_status_is_what_the_operator_reported(case: str) -> None:
    row = ENDINGS[case]
    result = predict(row["cr"], *(f"{pod}={code}" for pod, code in row["pods"].items()))
    if row.get("deletes_job"):
        assert any("the job itself is deleted at once" in one.text for one in result.decisions)
        return
    status = build_status(result)
    conditions = [[one["type"], one["status"], one["reason"], one["message"]] for one in status["conditions"]]
    assert conditions == row["conditions"]
    assert status["replicaStatuses"] == row["replicaStatuses"]
    changed = [one for one in result.replicas if one.is_deleted or one.is_restarted]
    assert sorted(one.observed.name for one in changed) == row["deleted"]
    assert sorted(one.observed.name for one in changed if one.is_restarted) == row["created"]


def test_the_endings_are_of_all_kinds() -> None:
    assert len({row["cr"]["kind"] for row in ENDINGS.values()}) == 6


@pytest.mark.parametrize(
    ("policy", "flags", "elapsed", "types"),
    [
        ({"suspend": True}, (), None, ["Created", "Suspended"]),
        ({"activeDeadlineSeconds": 60}, (), 60, ["Created", "Failed"]),
        ({"activeDeadlineSeconds": 60}, (), 59, ["Created", "Running"]),
        ({"backoffLimit": 0}, ("worker-0=1",), None, ["Created", "Failed"]),
        ({"backoffLimit": 0}, (), None, ["Created", "Running"]),
        ({}, ("master-0=Pending",), None, ["Created"]),
        ({}, ("master-0=Deleted",), None, ["Created"]),
    ],
)
def test_the_run_policy_decides(
    policy: dict[str, Any], flags: tuple[str, ...], elapsed: int | None, types: list[str]
) -> None:
    assert types_of(predict(with_policy(**policy), *flags, elapsed=elapsed)) == types


def test_a_job_that_is_resumed_runs() -> None:
    result = predict(with_policy(suspend=True))
    job_state = result.job._replace(options=LoweringOptions(resumed=True))
    assert reconcile_job(job_state).phase == "Running"
    assert [one.phase for one in result.replicas] == ["Deleted"] * len(result.replicas)


def test_restarts_of_containers_use_up_the_limit() -> None:
    cr = with_policy(backoffLimit=3)
    replicas = predict(cr).job.replicas
    for restarts, phase in ((2, "Running"), (3, "Failed")):
        observed = predict(cr).job._replace(replicas=(replicas[0]._replace(restarts=restarts), *replicas[1:]))
        assert reconcile_job(observed).phase == phase


def test_any_worker_of_an_elastic_job_ends_it() -> None:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "i"}]}}
    spec = {
        "elasticPolicy": {"minReplicas": 1},
        "pytorchReplicaSpecs": {"Worker": {"replicas": 3, "template": template}},
    }
    elastic = job("PyTorchJob", json.dumps(spec), api_version="kubeflow.org/v1")
    assert predict(elastic, "worker-2=0").phase == "Succeeded"
    assert predict(elastic, "worker-2=Running").phase == "Running"


def test_a_time_to_live_is_told() -> None:
    result = predict(with_policy(ttlSecondsAfterFinished=600), "master-0=0")
    assert any("the job itself is deleted 600 s after its end" in one.text for one in result.decisions)


def by_exit_code(kind: str, field: str, container: str, type_: str, **policy: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": container, "image": "i"}]}}
    entry = {"replicas": 1, "restartPolicy": "ExitCode", "template": template}
    spec = {"runPolicy": policy, field: {type_: entry}}
    return job(kind, json.dumps(spec), api_version="kubeflow.org/v1")


def test_a_pod_without_an_exit_code_is_created_again() -> None:
    """The operator starts from a number above all codes, and finds no container that has ended."""
    result = predict(by_exit_code("JAXJob", "jaxReplicaSpecs", "jax", "Worker"), "worker-0=Evicted")
    assert [one.is_restarted for one in result.replicas] == [True]
    assert result.phase != "Failed"


@pytest.mark.parametrize(
    ("kind", "field", "container", "type_", "is_deleted"),
    [
        ("PyTorchJob", "pytorchReplicaSpecs", "pytorch", "Master", False),
        ("TFJob", "tfReplicaSpecs", "tensorflow", "Chief", True),
        ("XGBoostJob", "xgbReplicaSpecs", "xgboost", "Master", False),
        ("JAXJob", "jaxReplicaSpecs", "jax", "Worker", False),
        ("PaddleJob", "paddleReplicaSpecs", "paddle", "Master", False),
    ],
)
def test_a_final_exit_code_leaves_no_time_of_the_end(
    kind: str, field: str, container: str, type_: str, is_deleted: bool
) -> None:
    cr = by_exit_code(kind, field, container, type_, ttlSecondsAfterFinished=0)
    result = predict(cr, f"{type_.lower()}-0=1")
    [text] = [one.text for one in result.decisions if one.text.startswith("the job itself")]
    assert text.startswith(
        "the job itself is deleted at once" if is_deleted else "the job itself is never deleted"
    )
    if is_deleted:
        return
    [behavior] = [one.behavior for one in result.decisions if one.text == text]
    assert behavior.id == "status.training-operator.no-end-time"


RECORDED = {
    (row["case"]): row
    for row in map(json.loads, (FIXTURES / "recorded.jsonl").read_text("utf-8").splitlines())
}
STATUSES = {
    row["case"]: row["status"]
    for row in map(json.loads, (FIXTURES / "statuses.jsonl").read_text("utf-8").splitlines())
}


@each_row("case", [name for name in STATUSES if name.endswith("main-replicas-0")])
def test_a_main_type_without_replicas_succeeds_as_recorded(case: str) -> None:
    """A Pod of the main type is created all the same, and no phase of it matters."""
    for others in ("Running", "Failed", "Succeeded"):
        result = predict(RECORDED[case]["cr"], others=others)
        reported = build_status(result)["conditions"]
        assert [(one["type"], one["reason"], one["message"]) for one in reported] == [
            (one["type"], one["reason"], one["message"]) for one in STATUSES[case]["conditions"]
        ]
    assert "has 0 replicas" in result.headline
    success = next(one for one in result.decisions if one.topic == "success")
    assert (success.behavior.id, success.behavior.basis) == (
        "status.training-operator.empty-main",
        "verified",
    )


def test_workers_without_replicas_decide_by_the_source_alone() -> None:
    template = {"spec": {"containers": [{"name": "tensorflow", "image": "i"}]}}
    spec = json.dumps({"tfReplicaSpecs": {"Worker": {"replicas": 0, "template": template}}})
    result = predict(job("TFJob", spec, api_version="kubeflow.org/v1"))
    success = next(one for one in result.decisions if one.topic == "success")
    assert result.phase == "Succeeded"
    assert success.behavior.basis == "documented"


def test_a_limit_on_restarts_names_what_reaches_it() -> None:
    assert predict(with_policy(backoffLimit=0)).phase == "Running"
    failed = predict(with_policy(backoffLimit=0), "worker-0=1")
    assert "worker-0" in failed.headline
    assert "restarted 0 times" not in failed.headline
    assert failed.headline.endswith("and backoffLimit is 0")
    assert predict(with_policy(backoffLimit=-1)).headline == (
        "backoffLimit is -1, which any number of restarts exceeds, also none"
    )
