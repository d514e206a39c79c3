"""MPIJobs of the MPI Operator: what the real operator did with them, and what podplan says it does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from podplan.core.replica_groups import expand_group, fold_group
from podplan.kinds.change_effects import compute_change_effect
from tests.command import podplan
from tests.lowered_objects import lower, objects
from tests.recorded_jobs import by_name, errors, plan
from tests.rows import each_row

FIXTURES = Path(__file__).parents[1] / "fixtures" / "mpi_operator"
RECORDED = [json.loads(line) for line in (FIXTURES / "recorded.jsonl").read_text().splitlines()]
BY_CASE = {row["case"]: row for row in RECORDED}
ADMITTED = [name for name, row in BY_CASE.items() if "stage" not in row]
REFUSED = [name for name, row in BY_CASE.items() if "stage" in row]
REFUSALS = {row["name"]: row for row in yaml.safe_load((FIXTURES / "refusals.yaml").read_text())}
PLACEHOLDER = "a2V5"


def without_keys(listed: dict[tuple[str, str], Any]) -> dict[tuple[str, str], Any]:
    """The ssh keys are random: podplan has a placeholder for each."""
    for (kind, _), one in listed.items():
        if kind == "Secret":
            assert all(value in ("", PLACEHOLDER) for value in one["data"].values())
            one["data"] = sorted(one["data"])
    return listed


@each_row("case", ADMITTED)
def test_an_admitted_job_becomes_what_the_operator_created(case: str) -> None:
    row = BY_CASE[case]
    planned = plan(row["cr"], row["gang-scheduler"])
    assert errors(planned) == []
    created = [one for group in planned.replica_groups for one in expand_group(group)]
    assert without_keys(by_name(created)) == without_keys(by_name(row["objects"]))


@each_row("case", REFUSED)
def test_a_refusal_is_foreseen(case: str) -> None:
    assert errors(plan(BY_CASE[case]["cr"]))


def test_the_records_hold_all_stages_and_gang_schedulers() -> None:
    assert {row.get("stage") for row in RECORDED} == {None, "schema", "operator", "reconcile"}
    assert {row["gang-scheduler"] for row in RECORDED} == {"none", "volcano", "scheduler-plugins"}


@each_row("name", REFUSALS)
def test_a_refusal_says_what_and_where(name: str) -> None:
    row = REFUSALS[name]
    planned = plan(row["cr"])
    assert [
        f"{one.rule} /{'/'.join(map(str, one.path))} {one.message}" for one in planned.diagnostics
    ] == row["errors"]


def mpi_job(workers: int = 2, **spec: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "mpi", "image": "registry.example.com/hpc/pi:4.1"}]}}
    types = {"Launcher": {"replicas": 1, "template": template}}
    types["Worker"] = {"replicas": workers, "template": template}
    metadata = {"name": "pi", "namespace": "hpc"}
    spec = {"mpiReplicaSpecs": types, **spec}
    return {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": metadata, "spec": spec}


def test_many_workers_lower_to_as_much_as_two() -> None:
    few, many = lower(mpi_job(2)), lower(mpi_job(100_000))
    assert [len(group.doc.origins) for group in few] == [len(group.doc.origins) for group in many]
    assert all(len(json.dumps(fold_group(group))) < 8_000 for group in many)
    [config_map] = [fold_group(group) for group in many if group.doc.data["kind"] == "ConfigMap"]
    assert config_map["data"]["hostfile"] == "pi-worker-{0..99999}.pi.hpc.svc slots=1\n"


def test_a_suspended_job_has_no_pods_until_it_goes_on() -> None:
    suspended = mpi_job(runPolicy={"suspend": True})
    kinds = [kind for kind, _ in objects(suspended)]
    assert sorted(kinds) == ["ConfigMap", "Job", "Secret", "Service"]
    assert objects(suspended)["Job", "pi-launcher"]["spec"]["suspend"] is True
    assert objects(suspended, resumed=True) == objects(mpi_job())


def test_a_suspended_job_has_no_pod_group() -> None:
    options = {"behavior_values": {"gang-scheduler": "volcano"}}
    assert ("PodGroup", "pi") in objects(mpi_job(), **options)
    assert ("PodGroup", "pi") not in objects(mpi_job(runPolicy={"suspend": True}), **options)


def test_a_gang_of_fewer_pods_needs_the_resources_of_fewer_workers() -> None:
    cr = mpi_job(4, runPolicy={"schedulingPolicy": {"minAvailable": 3}})
    for type_, amount in (("Launcher", "1"), ("Worker", "4")):
        container = {"name": "mpi", "image": "i:1", "resources": {"requests": {"cpu": amount}}}
        cr["spec"]["mpiReplicaSpecs"][type_]["template"] = {"spec": {"containers": [container]}}
    group = objects(cr, behavior_values={"gang-scheduler": "volcano"})["PodGroup", "pi"]
    assert group["spec"] == {"minMember": 3, "minResources": {"cpu": "9"}}


def test_which_type_a_gang_of_fewer_pods_cuts_is_assumed_where_priorities_differ(tmp_path: Path) -> None:
    (tmp_path / "podplan.toml").write_text('[lowering]\ngang-scheduler = "volcano"\n')
    for priority, is_assumed in (("high", True), ("", False)):
        cr = mpi_job(4, runPolicy={"schedulingPolicy": {"minAvailable": 3}})
        container = {"name": "mpi", "image": "i:1", "resources": {"requests": {"cpu": "4"}}}
        pod = {"containers": [container], **({"priorityClassName": priority} if priority else {})}
        cr["spec"]["mpiReplicaSpecs"]["Worker"]["template"] = {"spec": pod}
        (tmp_path / "cr.yaml").write_text(yaml.safe_dump(cr))
        shown = podplan("why", "cr.yaml", "PodGroup/pi:spec.minResources.cpu", cwd=tmp_path).out
        assert ("mpi-operator.cut-workers" in shown) is is_assumed


def test_the_queue_of_the_gang_may_be_an_annotation() -> None:
    cr = mpi_job()
    cr["metadata"]["annotations"] = {"scheduling.volcano.sh/queue-name": "hpc"}
    group = objects(cr, behavior_values={"gang-scheduler": "volcano"})["PodGroup", "pi"]
    assert group["spec"]["queue"] == "hpc"


def test_a_job_of_another_manager_is_left_alone() -> None:
    cr = mpi_job(0, runPolicy={"managedBy": "example.com/manager", "backoffLimit": -1})
    assert objects(cr) == {}
    assert errors(plan(cr)) == []


def test_flags_of_the_operator_are_lowering_options() -> None:
    values = {"mpi-operator.cluster-domain": "cluster.example"}
    hostfile = objects(mpi_job(1), behavior_values=values)["ConfigMap", "pi-config"]["data"]["hostfile"]
    assert hostfile == "pi-worker-0.pi.hpc.svc.cluster.example slots=1\n"
    values = {"mpi-operator.scheduler-name": "coscheduler", "gang-scheduler": "scheduler-plugins"}
    pod = objects(mpi_job(1), behavior_values=values)["Pod", "pi-worker-0"]
    assert pod["spec"]["schedulerName"] == "coscheduler"


def test_a_job_owns_its_objects_and_the_pods_of_its_launcher() -> None:
    uid = "e2a69076-1c19-46ce-9c70-2cdf20176e01"
    launcher = objects(mpi_job(), uid=uid)["Job", "pi-launcher"]
    for metadata in (launcher["metadata"], launcher["spec"]["template"]["metadata"]):
        [owner] = metadata["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["uid"]) == ("MPIJob", "pi", uid)


def test_an_unknown_uid_is_zeros_where_the_template_has_an_owner() -> None:
    launcher = objects(mpi_job())["Job", "pi-launcher"]
    assert "ownerReferences" not in launcher["metadata"]
    [owner] = launcher["spec"]["template"]["metadata"]["ownerReferences"]
    assert set(owner["uid"]) == {"0", "-"}


def test_only_workers_and_clean_up_change_in_place() -> None:
    assert compute_change_effect(mpi_job(2), mpi_job(3)).level == "in-place"
    assert compute_change_effect(mpi_job(2), mpi_job(2, slotsPerWorker=2)).level == "re-run"
    clean_up = mpi_job(2, runPolicy={"cleanPodPolicy": "All"})
    assert compute_change_effect(mpi_job(2), clean_up).level == "in-place"


def test_a_field_that_the_operator_overwrites_is_no_conflict() -> None:
    """In the network of the node the operator sets dnsPolicy, whatever the template says."""
    job = mpi_job()
    pod = {**job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"], "dnsPolicy": "None"}
    job["spec"]["mpiReplicaSpecs"]["Worker"] = {
        "replicas": 2,
        "template": {"spec": {**pod, "hostNetwork": True}},
    }
    assert errors(plan(job)) == []
    job["spec"]["mpiReplicaSpecs"]["Worker"]["template"] = {"spec": pod}
    assert "dnsPolicy None needs a dnsConfig with at least one nameserver" in str(errors(plan(job)))


WORKER_VOLUMES = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: ring}
spec:
  slotsPerWorker: 1
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          initContainers:
          - name: wait
            image: registry.example.com/mpi:1
            command: [sh, -c, "cat /etc/mpi/hostfile"]
            volumeMounts: [{name: mpi-job-config, mountPath: /etc/mpi}, {name: VOLUME, mountPath: /keys}]
          containers:
          - name: launcher
            image: registry.example.com/mpi:1
            env: [{name: MASTER_ADDR, value: ring-worker-HOST}]
            command: [mpirun, -np, "2", -x, MASTER_ADDR, python, train.py]
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: worker, image: "registry.example.com/mpi:1"}]}}
"""


def check_volumes(folder: Path, volume: str, host: int) -> str:
    text = WORKER_VOLUMES.replace("VOLUME", volume).replace("HOST", str(host))
    (folder / "job.yaml").write_text(text)
    return podplan("check", "--isolated", "--format", "concise", "job.yaml", cwd=folder).out


def test_volumes_that_the_operator_adds_can_be_mounted(tmp_path: Path) -> None:
    assert "SCHEMA008" not in check_volumes(tmp_path, "ssh-auth", 0)
    assert 'SCHEMA008 the Pod has no volume "ssh-keys"' in check_volumes(tmp_path, "ssh-keys", 0)


def test_workers_find_each_other_by_the_search_domain(tmp_path: Path) -> None:
    assert "DIST010" not in check_volumes(tmp_path, "ssh-auth", 1)
    assert "DIST010 ring-worker-2 does not resolve" in check_volumes(tmp_path, "ssh-auth", 2)


def test_clean_up_of_a_job_of_the_training_operator_may_be_beside_run_policy(tmp_path: Path) -> None:
    worker = '{containers: [{name: mpi, image: "registry.example.com/mpi:1", command: [sleep, 365d]}]}'
    launcher = worker.replace("[sleep, 365d]", '[mpirun, -np, "2", python, train.py]')
    worker = worker.replace("}]}", ", resources: {limits: {nvidia.com/gpu: 1}}}]}")
    text = f"""\
apiVersion: kubeflow.org/v1
kind: MPIJob
metadata: {{name: ring}}
spec:
  cleanPodPolicy: Running
  mpiReplicaSpecs:
    Launcher: {{template: {{spec: {launcher}}}}}
    Worker: {{replicas: 2, template: {{spec: {worker}}}}}
"""
    (tmp_path / "job.yaml").write_text(text)
    (tmp_path / "none.yaml").write_text(text.replace("Running", "None").replace("ring", "kept"))
    found = podplan("check", "--isolated", "--format", "concise", ".", cwd=tmp_path).out
    assert "none.yaml:4:1: warning LIFE031" in found
    assert "job.yaml:4:1: warning LIFE031" not in found
    ended = podplan("status", "job.yaml", "--pod", "launcher=Succeeded", cwd=tmp_path).out
    assert "cleanPodPolicy is Running" in ended
    assert "job.yaml:5:19  spec.cleanPodPolicy" in ended
