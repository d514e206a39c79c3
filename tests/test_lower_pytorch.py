from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podplan.kinds.t9k.pytorch_training_job.elastic import divide_by_weight
from tests.lowered_objects import Object, environment, facts_on, group_of, job, lost, lower, names, objects

PLAIN = """
replicaSpecs:
- type: ps
  template:
    spec:
      containers:
      - {name: main, image: a, command: [python], args: [train.py], env: [{name: RANK, value: "7"}]}
- type: worker
  replicas: 2
  template: {spec: {containers: [{name: side, image: b}, {name: python, image: a}]}}
"""
TORCHRUN = """
torchrunConfig: {enabled: true, maxRestarts: 3, procPerNode: "4", extraOptions: [--tee, "3"]}
replicaSpecs:
- type: node
  replicas: 2
  template: {spec: {containers: [{name: main, image: a, command: [ignored], args: [train.py, --lr, "0.1"]}]}}
"""
WORKERS = """
replicaSpecs:
- type: worker
  replicas: {replicas}
  template: {{spec: {{containers: [{{name: main, image: a}}]}}}}
"""


def pytorch(spec: str = PLAIN, **metadata: str) -> Object:
    return job("PyTorchTrainingJob", spec, **metadata)


def elastic(minimum: int, maximum: int, expected: int) -> dict[str, Any]:
    return {"enabled": True, "minReplicas": minimum, "maxReplicas": maximum, "expectedReplicas": expected}


def test_every_replica_has_a_pod_and_a_headless_service_of_the_same_name() -> None:
    replicas = ["bert-ps-0", "bert-worker-0", "bert-worker-1"]
    assert names(pytorch()) == [f"{kind}/{name}" for kind in ("Service", "Pod") for name in replicas]
    assert objects(pytorch())["Service", "bert-worker-1"]["spec"] == {
        "clusterIP": "None",
        "selector": {
            "tensorstack.dev/owner-name": "bert",
            "tensorstack.dev/owner-kind": "PyTorchTrainingJob",
            "replica-type": "worker",
            "replica-index": "1",
        },
        "ports": [{"name": "pytorchjob-port", "port": 23456}],
    }


@pytest.mark.parametrize(
    ("uid", "pod"),
    [
        ("422e8cc7-163f-4d49-9fb8-d059e490a09b", "mnist-12e8d-node-0"),
        ("cffea855-5ce2-496a-8956-f6e76fe2f565", "mnist-40c14-node-0"),
    ],
)
def test_with_a_uid_names_and_addresses_have_the_suffix(uid: str, pod: str) -> None:
    lowered = objects(pytorch(TORCHRUN, name="mnist"), uid=uid)
    assert environment(lowered.container(pod))["MASTER_ADDR"] == pod
    assert ("Service", pod) in lowered


def test_ranks_count_through_the_types_in_order() -> None:
    lowered = objects(pytorch())
    ranks = {name: pod["spec"]["containers"][0]["env"][2] for name, pod in lowered.of("Pod").items()}
    assert ranks == {
        "bert-ps-0": {"name": "RANK", "value": "0"},
        "bert-worker-0": {"name": "RANK", "value": "1"},
        "bert-worker-1": {"name": "RANK", "value": "2"},
    }


def test_the_variables_of_the_controller_stand_before_those_of_the_template() -> None:
    assert objects(pytorch()).container("bert-ps-0")["env"] == [
        {"name": "MASTER_ADDR", "value": "bert-ps-0"},
        {"name": "MASTER_PORT", "value": "23456"},
        {"name": "RANK", "value": "0"},
        {"name": "WORLD_SIZE", "value": "3"},
        {"name": "RANK", "value": "7"},
    ]


def test_every_container_has_the_variables_and_the_training_container_the_port() -> None:
    lowered = objects(pytorch())
    side, python = (lowered.container("bert-worker-0", index) for index in (0, 1))
    assert environment(side) == environment(python)
    assert "ports" not in side or side["ports"] == []
    assert python["ports"] == [{"name": "pytorchjob-port", "containerPort": 23456}]


def test_the_number_of_the_rendezvous_port_is_taken_by_its_name() -> None:
    cr = pytorch()
    for role, number in zip(cr["spec"]["replicaSpecs"], (29500, 29600), strict=True):
        port = {"name": "pytorchjob-port", "containerPort": number}
        role["template"]["spec"]["containers"][-1]["ports"] = [port]
    lowered = objects(cr)
    for name in ("bert-ps-0", "bert-worker-1"):
        assert environment(lowered.container(name))["MASTER_PORT"] == "29500"
        assert lowered["Service", name]["spec"]["ports"] == [{"name": "pytorchjob-port", "port": 29500}]
    off = objects(cr, behavior_values={"pytorch.port-by-name": False})
    assert environment(off.container("bert-ps-0"))["MASTER_PORT"] == "23456"


@pytest.mark.parametrize("port", [{"containerPort": 23456}, {"name": "pytorchjob-port", "containerPort": 9}])
def test_a_rendezvous_port_of_the_container_is_not_doubled(port: Object) -> None:
    cr = pytorch()
    cr["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["ports"] = [port]
    assert objects(cr).container("bert-ps-0")["ports"] == [port]


def test_the_replica_of_rank_0_is_the_master() -> None:
    masters = [
        name for name, pod in objects(pytorch()).of("Pod").items() if "job-role" in pod["metadata"]["labels"]
    ]
    assert masters == ["bert-ps-0"]


def test_a_first_type_without_replicas_leaves_rank_0_to_the_next() -> None:
    cr = pytorch()
    cr["spec"]["replicaSpecs"][0]["replicas"] = 0
    lowered = objects(cr)
    assert environment(lowered.container("bert-worker-1")) == {
        "MASTER_ADDR": "bert-worker-0",
        "MASTER_PORT": "23456",
        "RANK": "1",
        "WORLD_SIZE": "2",
    }
    assert lowered.pod("bert-worker-0")["metadata"]["labels"]["job-role"] == "master"


def test_the_torchrun_line() -> None:
    container = objects(pytorch(TORCHRUN)).container("bert-node-1")
    assert " ".join([*container["command"], *container["args"]]) == (
        "torchrun --nnodes 2 --nproc_per_node 4 --rdzv_backend c10d "
        "--rdzv_endpoint $(MASTER_ADDR):$(MASTER_PORT) --max_restarts 3 --role node --tee 3 "
        "train.py --lr 0.1"
    )
    assert environment(container) == {"MASTER_ADDR": "bert-node-0", "MASTER_PORT": "23456"}


def test_torchrun_is_told_nothing_that_is_not_written() -> None:
    cr = pytorch(TORCHRUN)
    cr["spec"]["torchrunConfig"] = {"enabled": True, "rdzvBackend": "etcd-v2"}
    command = objects(cr).container("bert-node-0")["command"]
    assert " ".join(command) == (
        "torchrun --nnodes 2 --rdzv_backend etcd-v2 --rdzv_endpoint $(MASTER_ADDR):$(MASTER_PORT) --role node"
    )


def test_torchrun_replaces_the_command_and_says_so() -> None:
    path = ("spec", "containers", 0, "command")
    group = group_of(lower(pytorch(TORCHRUN)), "Pod")
    assert lost(group, path) == [("spec", "replicaSpecs", 0, "template", *path)]
    assert facts_on(group, path) == ["pytorch.torchrun"]


def test_torchrun_that_is_not_enabled_changes_nothing() -> None:
    cr = pytorch(TORCHRUN)
    cr["spec"]["torchrunConfig"]["enabled"] = False
    assert objects(cr).container("bert-node-0")["command"] == ["ignored"]


def test_an_elastic_job_has_the_expected_replicas_and_needs_the_fewest() -> None:
    cr = pytorch(TORCHRUN)
    cr["spec"] |= {"elastic": elastic(2, 5, 3), "scheduler": {"t9kScheduler": {}}}
    lowered = objects(cr)
    assert list(lowered.of("Pod")) == ["bert-node-0", "bert-node-1", "bert-node-2"]
    assert lowered["PodGroup", "bert"]["spec"]["minMember"] == 2
    assert lowered.container("bert-node-0")["command"][1:3] == ["--nnodes", "2:5"]


@pytest.mark.parametrize(
    ("written", "pods", "nodes"),
    [
        ({}, 3, "3"),
        ({"minReplicas": 2}, 3, "2:3"),
        ({"minReplicas": 5}, 3, "5:5"),
        ({"maxReplicas": 5}, 3, "3:5"),
        ({"maxReplicas": 2}, 3, "2:2"),
        ({"minReplicas": 2, "maxReplicas": 4}, 3, "2:4"),
        ({"expectedReplicas": 4}, 4, "4"),
        ({"expectedReplicas": 4, "minReplicas": 2}, 4, "2:4"),
        ({"expectedReplicas": 4, "maxReplicas": 6}, 4, "4:6"),
    ],
)
def test_the_bounds_of_an_elastic_job_that_says_some_of_them(
    written: dict[str, int], pods: int, nodes: str
) -> None:
    cr = pytorch(TORCHRUN)
    cr["spec"] |= {"elastic": {"enabled": True, **written}, "scheduler": {"t9kScheduler": {}}}
    cr["spec"]["replicaSpecs"][0]["replicas"] = 3
    lowered = objects(cr)
    assert len(lowered.of("Pod")) == pods
    assert lowered.container("bert-node-0")["command"][1:3] == ["--nnodes", nodes]


BOUNDS = st.none() | st.integers(0, 6)


@given(BOUNDS, BOUNDS, BOUNDS, st.integers(0, 6), st.booleans(), st.sampled_from(["replicas", "other-bound"]))
def test_the_pod_group_waits_for_as_many_pods_as_torchrun(
    least: int | None, most: int | None, expected: int | None, replicas: int, enabled: bool, missing: str
) -> None:
    cr = pytorch(TORCHRUN)
    bounds = {"minReplicas": least, "maxReplicas": most, "expectedReplicas": expected}
    section = {"enabled": enabled} | {key: value for key, value in bounds.items() if value is not None}
    cr["spec"] |= {"elastic": section, "scheduler": {"t9kScheduler": {}}}
    cr["spec"]["replicaSpecs"][0]["replicas"] = replicas
    lowered = objects(cr, behavior_values={"elastic.missing-bound": missing})
    fewest = lowered["PodGroup", "bert"]["spec"]["minMember"]
    for name in lowered.of("Pod"):
        assert int(lowered.container(name)["command"][2].partition(":")[0]) == fewest


def test_empty_strings_of_torchrun_config_count_as_not_written() -> None:
    cr = pytorch(TORCHRUN)
    cr["spec"]["torchrunConfig"] = {"enabled": True, "rdzvBackend": "", "procPerNode": ""}
    command = objects(cr).container("bert-node-0")["command"]
    assert command[command.index("--rdzv_backend") + 1] == "c10d"
    assert "--nproc_per_node" not in command


def test_elastic_means_nothing_without_torchrun() -> None:
    cr = pytorch()
    cr["spec"] |= {"elastic": elastic(5, 9, 7), "scheduler": {"t9kScheduler": {}}}
    lowered = objects(cr)
    assert len(lowered.of("Pod")) == 3
    assert lowered["PodGroup", "bert"]["spec"]["minMember"] == 3


@pytest.mark.parametrize(
    ("total", "weights", "expected"),
    [
        (4, [1], [4]),
        (5, [1, 1], [3, 2]),
        (10, [1, 2, 3], [2, 3, 5]),
        (10, [3, 3, 3], [4, 3, 3]),
        (3, [0, 1], [0, 3]),
        (3, [0, 0], [3, 0]),
        (0, [2, 1], [0, 0]),
        (2, [1, 1, 1], [1, 1, 0]),
        (100, [1, 1, 97], [1, 1, 98]),
    ],
)
def test_shares_go_to_the_largest_remainder_first(
    total: int, weights: list[int], expected: list[int]
) -> None:
    assert divide_by_weight(total, weights) == expected


def test_the_types_of_an_elastic_job_share_by_weight() -> None:
    cr = pytorch(PLAIN)
    cr["spec"] |= {"torchrunConfig": {"enabled": True}, "elastic": elastic(2, 9, 8)}
    cr["spec"]["replicaSpecs"][1]["scalingWeight"] = 3
    assert [len([n for n in objects(cr).of("Pod") if role in n]) for role in ("ps", "worker")] == [2, 6]


def test_debug_mode_keeps_the_variables() -> None:
    cr = pytorch(TORCHRUN)
    cr["spec"]["runMode"] = {"debug": {"enabled": True}}
    container = objects(cr).container("bert-node-0")
    assert container["command"] == ["sleep", "inf"]
    assert "args" not in container
    assert environment(container)["MASTER_ADDR"] == "bert-node-0"
    of_main = ("spec", "replicaSpecs", 0, "template", "spec", "containers", 0)
    assert lost(group_of(lower(cr), "Pod"), ("spec", "containers", 0, "command")) == [
        (*of_main, "command"),
        (*of_main, "args"),
    ]


def test_debug_mode_leaves_sidecars_alone() -> None:
    cr = pytorch()
    cr["spec"]["replicaSpecs"][1]["template"]["spec"]["containers"][0]["command"] = ["serve"]
    cr["spec"]["runMode"] = {"debug": {"enabled": True}}
    lowered = objects(cr)
    assert lowered.container("bert-worker-0", 0)["command"] == ["serve"]
    assert lowered.container("bert-worker-0", 1)["command"] == ["sleep", "inf"]


def test_a_paused_job_keeps_services_and_tensorboard() -> None:
    cr = pytorch()
    cr["spec"] |= {
        "runMode": {"pause": {"enabled": True}},
        "scheduler": {"t9kScheduler": {}},
        "tensorboardSpec": {"image": "tb", "trainingLogFilesets": ["t9k://pvc/logs/run"]},
    }
    lowered = objects(cr)
    assert {kind for kind, _ in lowered} == {"Service", "TensorBoard"}
    assert lowered["TensorBoard", "bert"]["spec"] == cr["spec"]["tensorboardSpec"]


def test_a_resumed_job_keeps_torchrun_under_new_args() -> None:
    cr = pytorch(TORCHRUN)
    resume = {"type": "node", "args": ["train.py", "--resume"], "command": []}
    cr["spec"]["runMode"] = {"pause": {"enabled": True, "resumeSpecs": [resume]}}
    container = objects(cr, resumed=True).container("bert-node-0")
    assert container["command"][0] == "torchrun"
    assert container["args"] == ["train.py", "--resume"]


def test_skip_init_container_while_debugging() -> None:
    cr = pytorch(TORCHRUN)
    cr["spec"]["replicaSpecs"][0]["template"]["spec"]["initContainers"] = [{"name": "i", "image": "b"}]
    assert "initContainers" in objects(cr).pod("bert-node-0")["spec"]
    sets = [{"type": "node", "skipInitContainer": True}]
    cr["spec"]["runMode"] = {"debug": {"enabled": True, "replicaSpecs": sets}}
    assert "initContainers" not in objects(cr).pod("bert-node-0")["spec"]


def test_the_configuration_may_move_the_rendezvous() -> None:
    values = {"pytorch.master-port": 29500, "pytorch.master-port-name": "rdzv"}
    lowered = objects(pytorch(), behavior_values=values)
    assert environment(lowered.container("bert-ps-0"))["MASTER_PORT"] == "29500"
    assert lowered["Service", "bert-ps-0"]["spec"]["ports"] == [{"name": "rdzv", "port": 29500}]
    assert lowered.container("bert-ps-0")["ports"] == [{"name": "rdzv", "containerPort": 29500}]


def test_no_replicas_no_pods() -> None:
    assert names(pytorch(WORKERS.format(replicas=0))) == []


def test_ten_thousand_replicas_are_as_much_work_as_two() -> None:
    sizes = [
        [len(group.doc.origins) for group in lower(pytorch(WORKERS.format(replicas=replicas)))]
        for replicas in (2, 10_000)
    ]
    assert sizes[0] == sizes[1]
