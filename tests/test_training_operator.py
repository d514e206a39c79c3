"""Jobs of the training operator: what the real operator did with them, and what podplan says it does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from podplan.core.errors import UsageError
from podplan.core.replica_groups import ReplicaGroup, expand_group, fold_group
from podplan.kinds.common.quantities import canonicalize_quantity, sum_quantities
from podplan.kinds.common.structural_template import validate_template
from podplan.kinds.kubeflow.pytorch_job.init_container import build_init_containers
from tests.lowered_objects import job, lower, objects
from tests.lowering_jobs import PYTORCH_JOB
from tests.recorded_jobs import by_name, errors, plan
from tests.rows import each_row

FIXTURES = Path(__file__).parents[1] / "fixtures" / "training_operator"
RECORDED = [json.loads(line) for line in (FIXTURES / "recorded.jsonl").read_text().splitlines()]
BY_CASE = {row["case"]: row for row in RECORDED}
ADMITTED = [name for name, row in BY_CASE.items() if "stage" not in row]
REFUSED = [name for name, row in BY_CASE.items() if "stage" in row]
REFUSALS = {row["name"]: row for row in yaml.safe_load((FIXTURES / "refusals.yaml").read_text())}


@each_row("case", ADMITTED)
def test_an_admitted_job_becomes_what_the_operator_created(case: str) -> None:
    row = BY_CASE[case]
    planned = plan(row["cr"], row["gang-scheduler"])
    assert errors(planned) == []
    created = [one for group in planned.replica_groups for one in expand_group(group)]
    assert by_name(created) == by_name(row["objects"])


@each_row("case", REFUSED)
def test_a_refusal_is_foreseen(case: str) -> None:
    assert errors(plan(BY_CASE[case]["cr"]))


def test_the_records_hold_all_kinds_and_stages() -> None:
    kinds = {row["cr"]["kind"] for row in RECORDED}
    assert kinds == {"PyTorchJob", "TFJob", "XGBoostJob", "JAXJob", "PaddleJob", "MPIJob"}
    assert {row.get("stage") for row in RECORDED} == {None, "schema", "webhook", "reconcile", "loop"}
    assert {row["gang-scheduler"] for row in RECORDED} == {"none", "volcano", "scheduler-plugins"}


@each_row("name", REFUSALS)
def test_a_refusal_says_what_and_where(name: str) -> None:
    row = REFUSALS[name]
    assert errors(plan(row["cr"])) == row["errors"]


def replicated(kind: str, field: str, container: str, count: int, first: str = "") -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": container, "image": "i"}]}}
    types = {**({first: {"replicas": 1, "template": template}} if first else {})}
    types["Worker"] = {"replicas": count, "template": template}
    return job(kind, json.dumps({field: types}), api_version="kubeflow.org/v1")


KINDS = (
    ("PyTorchJob", "pytorchReplicaSpecs", "pytorch", "Master"),
    ("TFJob", "tfReplicaSpecs", "tensorflow", ""),
    ("XGBoostJob", "xgbReplicaSpecs", "xgboost", "Master"),
    ("JAXJob", "jaxReplicaSpecs", "jax", ""),
    ("PaddleJob", "paddleReplicaSpecs", "paddle", "Master"),
    ("MPIJob", "mpiReplicaSpecs", "mpi", "Launcher"),
)


@pytest.mark.parametrize(("kind", "field", "container", "first"), KINDS)
def test_many_workers_lower_to_as_much_as_two(kind: str, field: str, container: str, first: str) -> None:
    def sizes(groups: list[ReplicaGroup]) -> list[int]:
        return [len(group.doc.origins) for group in groups]

    few = lower(replicated(kind, field, container, 3, first))
    many = lower(replicated(kind, field, container, 100_000, first))
    assert sizes(few) == sizes(many)
    assert all(len(json.dumps(fold_group(group))) < 8_000 for group in many)


def test_a_folded_text_names_its_own_index_as_a_range() -> None:
    workers = lower(replicated("TFJob", "tfReplicaSpecs", "tensorflow", 4))[-1]
    [variable] = fold_group(workers)["spec"]["containers"][0]["env"]
    assert '"bert-worker-{1..3}.default.svc:2222"' in variable["value"]
    assert '"index":{1..3}}' in variable["value"]


def test_no_replicas_of_the_type_that_decides_still_make_its_pod() -> None:
    """The job is done at once; with another type the operator would create and delete a Pod without end."""
    assert ("Pod", "bert-worker-0") in objects(replicated("JAXJob", "jaxReplicaSpecs", "jax", 0))
    assert errors(plan(replicated("JAXJob", "jaxReplicaSpecs", "jax", 0))) == []
    lowered = objects(replicated("PaddleJob", "paddleReplicaSpecs", "paddle", 0, "Master"))
    assert sorted(name for kind, name in lowered if kind == "Pod") == ["bert-master-0"]


def test_types_that_the_operator_does_not_know_do_not_make_a_cluster() -> None:
    pods = objects(replicated("TFJob", "tfReplicaSpecs", "tensorflow", 1, "Boss"))
    assert "env" not in pods["Pod", "bert-worker-0"]["spec"]["containers"][0]


def test_a_suspended_job_has_pods_once_it_goes_on() -> None:
    cr = {**PYTORCH_JOB, "spec": {**PYTORCH_JOB["spec"], "runPolicy": {"suspend": True}}}
    assert objects(cr) == {}
    assert objects(cr, resumed=True) == objects(PYTORCH_JOB)


def test_a_job_owns_its_objects() -> None:
    pod = objects(PYTORCH_JOB, uid="e2a69076-1c19-46ce-9c70-2cdf20176e01")["Pod", "bert-master-0"]
    [owner] = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("PyTorchJob", "bert", True)


@pytest.mark.parametrize("template", ["[{name: '{{if .X}}a{{end}}'}]", "name: not-a-list"])
def test_an_init_template_that_podplan_cannot_fill_in_is_refused(template: str) -> None:
    with pytest.raises(UsageError, match="init-template"):
        objects(PYTORCH_JOB, behavior_values={"training-operator.init-template": template})
    assert build_init_containers is not None


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("1000m", "1"),
        ("0.5", "500m"),
        (2, "2"),
        ("1024Mi", "1Gi"),
        ("0.5Gi", "512Mi"),
        ("1.5Gi", "1536Mi"),
        ("512Ki", "512Ki"),
        ("10000", "10k"),
        ("1e3", "1e3"),
        ("0", "0"),
        ("soon", "soon"),
    ],
)
def test_quantities_are_written_as_go_does(written: Any, canonical: Any) -> None:
    assert canonicalize_quantity(written) == canonical


def test_quantities_add_up_in_the_form_of_the_first() -> None:
    assert sum_quantities([("2", 1), ("1250m", 2)]) == "4500m"
    assert sum_quantities([("512Gi", 4)]) == "2Ti"


def test_a_template_in_a_custom_resource_has_unique_keys() -> None:
    container = {"name": "a", "env": [{"name": "A"}, {"name": "A"}], "resources": {"limits": {"cpu": 0.5}}}
    template = {"spec": {"containers": [container], "imagePullSecrets": [{"name": "r"}, {"name": "r"}]}}
    assert [one.rule for one in validate_template(template, ())] == ["SCHEMA007", "SCHEMA007", "SCHEMA002"]
    assert list(validate_template("nothing", ())) == []
