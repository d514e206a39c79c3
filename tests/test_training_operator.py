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
from podplan.kinds.kubeflow.jax_job.spec import SPEC as JAX_JOB
from podplan.kinds.kubeflow.paddle_job.spec import SPEC as PADDLE_JOB
from podplan.kinds.kubeflow.pytorch_job.init_container import build_init_containers
from podplan.kinds.spec import find_other_manager
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


def test_a_type_in_other_letters_replaces_the_one_of_the_operator() -> None:
    cr = replicated("TFJob", "tfReplicaSpecs", "tensorflow", 1)
    types = cr["spec"]["tfReplicaSpecs"]
    types["worker"] = {**types["Worker"], "replicas": 3}
    groups = lower(cr)
    pods = [
        one["metadata"]["name"] for group in groups for one in expand_group(group) if one["kind"] == "Pod"
    ]
    assert pods == ["bert-worker-0", "bert-worker-1", "bert-worker-2"]


def test_dynamic_workers_without_servers_have_no_list_of_them() -> None:
    cr = replicated("TFJob", "tfReplicaSpecs", "tensorflow", 2)
    cr["spec"]["enableDynamicWorker"] = True
    [variable] = objects(cr)["Pod", "bert-worker-1"]["spec"]["containers"][0]["env"]
    address = '"bert-worker-1.default.svc:2222"'
    task = '"task":{"type":"worker","index":1}'
    assert variable["value"] == f'{{"cluster":{{"worker":{{"1":{address}}},"ps":null}},{task}}}'


def test_an_autoscaler_is_made_before_the_job_fails() -> None:
    cr = replicated("PyTorchJob", "pytorchReplicaSpecs", "pytorch", 2)
    cr["spec"] |= {"elasticPolicy": {"maxReplicas": 4, "metrics": []}, "runPolicy": {"backoffLimit": -1}}
    assert list(objects(cr)) == [("HorizontalPodAutoscaler", "bert")]
    cr["spec"]["runPolicy"]["suspend"] = True
    assert objects(cr) == {}


@pytest.mark.parametrize("count", [0, 3])
def test_a_gang_of_nobody_states_no_number(count: int) -> None:
    cr = replicated("JAXJob", "jaxReplicaSpecs", "jax", 2)
    policy = {"minAvailable": count, "priorityClass": ""}
    cr["spec"]["runPolicy"] = {"schedulingPolicy": policy}
    spec = objects(cr, behavior_values={"gang-scheduler": "volcano"})["PodGroup", "bert"]["spec"]
    assert spec == {**({"minMember": 3} if count else {}), "queue": "default"}


def test_a_job_without_replica_types_has_a_pod_group_alone() -> None:
    cr = job("TFJob", "tfReplicaSpecs: {}", api_version="kubeflow.org/v1")
    assert objects(cr) == {}
    assert list(objects(cr, behavior_values={"gang-scheduler": "volcano"})) == [("PodGroup", "bert")]


@pytest.mark.parametrize("kind", ["JAXJob", "MPIJob"])
def test_sizes_of_volumes_are_written_as_go_does(kind: str) -> None:
    _, field, container, first = next(row for row in KINDS if row[0] == kind)
    cr = replicated(kind, field, container, 1, first)
    entry = cr["spec"][field]["Worker"]
    volumes = [
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1024Mi"}},
        {"name": "tmp", "emptyDir": {}},
    ]
    entry["template"] = {"spec": {**entry["template"]["spec"], "volumes": volumes}}
    written = objects(cr)["Pod", "bert-worker-0"]["spec"]["volumes"][:2]
    assert written == [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}, volumes[1]]


@pytest.mark.parametrize(("kind", "kept"), [("JAXJob", True), ("MPIJob", False)])
def test_pods_of_an_mpi_job_get_no_finalizers(kind: str, kept: bool) -> None:
    _, field, container, first = next(row for row in KINDS if row[0] == kind)
    cr = replicated(kind, field, container, 1, first)
    for entry in cr["spec"][field].values():
        entry["template"] = {**entry["template"], "metadata": {"finalizers": ["example.com/keep"]}}
    pods = [one for (kind, _), one in objects(cr).items() if kind == "Pod"]
    assert all(("finalizers" in pod["metadata"]) == kept for pod in pods)


@pytest.mark.parametrize("bound", ["minReplicas", "maxReplicas"])
def test_a_paddle_job_with_a_bound_needs_no_workers(bound: str) -> None:
    """Without any bound the operator takes the number of the workers and crashes."""
    cr = replicated("PaddleJob", "paddleReplicaSpecs", "paddle", 1, "Master")
    del cr["spec"]["paddleReplicaSpecs"]["Worker"]
    assert errors(plan({**cr, "spec": {**cr["spec"], "elasticPolicy": {bound: 1}}})) == []
    [error] = errors(plan({**cr, "spec": {**cr["spec"], "elasticPolicy": {bound: None}}}))
    assert error.startswith("SCHEMA009 /spec/elasticPolicy elasticPolicy needs the replica type Worker")


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


def test_no_other_controller_runs_a_jax_job() -> None:
    cr = {"spec": {"runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue"}}}
    assert find_other_manager(JAX_JOB, cr) == ""
    assert find_other_manager(PADDLE_JOB, cr) == "kueue.x-k8s.io/multikueue"
