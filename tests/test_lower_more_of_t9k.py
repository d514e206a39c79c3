"""TensorFlowTrainingJob, XGBoostTrainingJob, MPIJob and BeamJob: what their controllers make of a CR."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podplan.kinds.registry import find_kind
from podplan.schema.identity import identify_dialect
from tests.lowered_objects import job, objects
from tests.lowering_jobs import BEAM, MPI, MPI_OLD


def environment(container: dict[str, Any]) -> dict[str, str]:
    return {entry["name"]: entry.get("value", "") for entry in container.get("env", [])}


def test_tf_config_is_what_a_log_of_a_real_job_shows() -> None:
    pod = "{spec: {containers: [{name: tensorflow}]}}"
    cr = job(
        "TensorFlowTrainingJob",
        f"replicaSpecs: [{{type: ps, template: {pod}}}, {{type: worker, replicas: 2, template: {pod}}}]",
        "mnist",
        namespace="demo1",
        uid="f7989e9b-7c73-4224-93ac-5f538d4ca82c",
    )
    lowered = objects(cr)
    worker = lowered.pod("mnist-1f409-worker-1")
    config = json.loads(environment(worker["spec"]["containers"][0])["TF_CONFIG"])
    assert config == {
        "cluster": {
            "ps": ["mnist-1f409-ps-0.demo1.svc:2222"],
            "worker": ["mnist-1f409-worker-0.demo1.svc:2222", "mnist-1f409-worker-1.demo1.svc:2222"],
        },
        "task": {"type": "worker", "index": 1},
        "environment": "cloud",
    }
    roles = {name: pod["metadata"]["labels"].get("job-role") for name, pod in lowered.of("Pod").items()}
    assert {name for name, role in roles.items() if role} == {"mnist-1f409-worker-0"}


def test_the_master_of_xgboost_has_rank_0_wherever_it_is_written() -> None:
    pod = "{spec: {containers: [{name: xgboost}, {name: side}]}}"
    cr = job(
        "XGBoostTrainingJob",
        f"replicaSpecs: [{{type: worker, replicas: 2, template: {pod}}}, {{type: master, template: {pod}}}]",
    )
    pods = objects(cr).of("Pod")
    ranks = {
        name: environment(container)["RANK"]
        for name, pod in pods.items()
        for container in pod["spec"]["containers"]
    }
    assert ranks == {"bert-worker-0": "1", "bert-worker-1": "2", "bert-master-0": "0"}
    first = environment(pods["bert-worker-0"]["spec"]["containers"][0])
    assert (first["WORLD_SIZE"], first["MASTER_ADDR"]) == ("3", "bert-master-0")
    assert pods["bert-master-0"]["metadata"]["labels"]["job-role"] == "master"


def test_the_launcher_of_an_mpi_job_has_the_variables_that_mpirun_passes_on() -> None:
    launcher = objects(MPI).pod("bert-launcher")["spec"]["containers"][0]
    assert environment(launcher)["A"] == "b"
    assert " -x A a.out" in launcher["command"][2]


def test_the_launcher_of_older_dialects_has_the_template_without_its_resources() -> None:
    launcher, *others = objects(MPI_OLD).pod("bert-launcher")["spec"]["containers"]
    assert (launcher["name"], launcher["image"], [other["name"] for other in others]) == (
        "launcher",
        "i",
        ["b"],
    )
    assert launcher["resources"]["limits"] == {"cpu": "200m", "memory": "200Mi"}


@pytest.mark.parametrize(
    ("spec", "dialect"),
    [
        ({"mpiConfig": {}}, "replicaSpecs"),
        ({"replicaSpecs": []}, "replicaSpecs"),
        ({"worker": {"cmd": []}}, "worker"),
        ({"worker": {"extraMPIArgs": []}, "mca": {}}, "worker"),
        ({"mpiHome": "/usr"}, "worker"),
        ({"mpiHome": "/usr", "worker": {"processesPerWorker": 1}}, "processes"),
        ({"worker": {"processRecovery": {}}}, "processes"),
    ],
)
def test_the_dialect_of_an_mpi_job_follows_from_its_fields(spec: dict[str, Any], dialect: str) -> None:
    kind = find_kind("batch.tensorstack.dev/v1beta1", "MPIJob")
    assert kind is not None
    assert identify_dialect(kind, spec) == (dialect, [])


@pytest.mark.parametrize(
    ("spec", "path", "message"),
    [
        ({"mca": {}, "replicaSpecs": []}, ("spec", "replicaSpecs"), '"replicaSpecs" and "mca" belong to'),
        ({"mpiConfig": {}, "worker": {}}, ("spec", "worker"), '"worker" and "mpiConfig" belong to'),
        (
            {"worker": {"extraMPIArgs": [], "processesPerWorker": 1}},
            ("spec", "worker", "processesPerWorker"),
            '"worker.processesPerWorker" and "worker.extraMPIArgs" belong to',
        ),
    ],
)
def test_fields_of_two_dialects_of_an_mpi_job_are_told(
    spec: dict[str, Any], path: tuple[str, ...], message: str
) -> None:
    kind = find_kind("batch.tensorstack.dev/v1beta1", "MPIJob")
    assert kind is not None
    dialect, (problem,) = identify_dialect(kind, spec)
    assert (dialect, problem.rule, problem.path) == ("", "SCHEMA009", path)
    assert problem.message.startswith(message)


def test_an_mpi_job_without_any_field_of_a_dialect_is_told() -> None:
    kind = find_kind("batch.tensorstack.dev/v1beta1", "MPIJob")
    assert kind is not None
    dialect, (problem,) = identify_dialect(kind, {"ssh": {}})
    assert (dialect, problem.rule) == ("", "SCHEMA003")


def test_a_suspended_job_of_a_beam_job_has_no_pods() -> None:
    assert list(objects(BEAM).of("Pod")) == ["bert-batchjob-"]
    template = BEAM["spec"]["jobTemplate"]
    suspended = {**template, "spec": {**template["spec"], "suspend": True}}
    lowered = objects({**BEAM, "spec": {**BEAM["spec"], "jobTemplate": suspended}})
    assert not lowered.of("Pod")
    assert list(lowered.of("Job")) == ["bert-batchjob"]
