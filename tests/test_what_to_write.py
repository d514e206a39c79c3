"""Help that is made for the manifest at hand: it names its containers, types, ports and numbers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.policy_examples import findings
from tests.test_checks_distributed import Data, cr, generic, pytorch, resources, template


def helps(data: Data, code: str) -> list[str]:
    return [found.help for found in findings({"object": data}, code) if found.rule == code]


def colossal(**config: Any) -> Data:
    """A ColossalAIJob of two workers with four GPUs each, all variables on the workers."""
    worker: Data = {"name": "worker", "image": "t:1", "resources": resources(4)}
    worker["env"] = [{"name": "SEED", "value": "1"}]
    launcher = {"name": "launcher", "image": "t:1"}
    roles = [
        {"type": "launcher", "template": {"spec": {"containers": [launcher]}}},
        {"type": "worker", "replicas": 2, "template": {"spec": {"containers": [worker]}}},
    ]
    return cr("ColossalAIJob", {"torchConfig": config, "replicaSpecs": roles})


def deepspeed(variable: Data, **config: Any) -> Data:
    made = template(4, [])
    del made["spec"]["containers"][0]["command"]
    made["spec"]["containers"][0]["env"] = [{"name": "TOKEN", "valueFrom": variable}]
    run = {"run": {"python": ["train.py"]}, **config}
    return cr("DeepSpeedJob", {"config": run, "worker": {"replicas": 2, "template": made}})


FEWER = "so that 4 processes start in each Pod, or request fewer GPUs"


@pytest.mark.parametrize(
    ("data", "instead"),
    [
        (pytorch(2, 4, "torchrun --nproc_per_node=2 train.py"), "write --nproc_per_node=4"),
        (pytorch(2, 4, "python train.py"), 'write torchrunConfig: {enabled: true, procPerNode: "4"}'),
        (colossal(script=["train.py"], procPerWorker=2), "write torchConfig.procPerWorker: 4"),
        (colossal(script=["train.py"]), "write torchConfig.procPerWorker: 4"),
        (deepspeed({}, slotsPerWorker=2), "write config.slotsPerWorker: 4"),
        (deepspeed({}), "write config.slotsPerWorker: 4"),
        (pytorch(2, 4, "deepspeed --num_gpus=2 train.py"), "write --num_gpus=4"),
        (deepspeed({}, otherArgs=["--num_gpus=2"]), "write --num_gpus=4"),
        (
            pytorch(2, 4, "accelerate launch --num_processes=4 --num_machines=2 train.py"),
            "start more processes with accelerate",
        ),
    ],
)
def test_idle_gpus_say_how_to_use_them(data: Data, instead: str) -> None:
    assert helps(data, "DIST001") == [f"{instead}, {FEWER}"]


@pytest.mark.parametrize("config", [{"procPerNode": "2"}, {}])
def test_idle_gpus_of_torchrun_that_the_controller_starts(config: Data) -> None:
    data = pytorch(2, 4, "")
    container = data["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]
    del container["command"]
    container["args"] = ["train.py"]
    data["spec"]["torchrunConfig"] = {"enabled": True, **config}
    instead = 'write torchrunConfig.procPerNode: "4"'
    assert helps(data, "DIST001") == [f"{instead}, {FEWER}"]


@pytest.mark.parametrize(
    ("data", "code", "help"),
    [
        (
            colossal(procPerWorker=4),
            "CA001",
            "write torchConfig.script: [SCRIPT.py, ARGUMENT, …] (run: in a profile)",
        ),
        (
            pytorch(2, 4, "torchrun --nproc_per_node=4"),
            "TORCH001",
            "write the script after the options of torchrun (run: in a profile)",
        ),
        (pytorch(2, 4, "torchrun --nproc_per_node=4 --no_such_option=1 train.py"), "TORCH001", ""),
    ],
)
def test_a_launcher_without_a_script_says_where_it_goes(data: Data, code: str, help: str) -> None:
    assert helps(data, code) == [help]


def test_variables_without_a_service_say_which_ports_it_needs() -> None:
    data = generic({"w": 2}, "serve $(service.port[http]) $(service.port[grpc]) $(service.port[http])")
    del data["spec"]["service"]
    ports = "[{name: http, port: PORT}, {name: grpc, port: PORT}]"
    assert helps(data, "GEN002") == [f"write spec.service: {{ports: {ports}}} (ports: in a profile)"]
    data = generic({"w": 2}, "echo $(service.w[0].host)")
    del data["spec"]["service"]
    ports = "[{name: NAME, port: PORT}]"
    assert helps(data, "GEN002") == [f"write spec.service: {{ports: {ports}}} (ports: in a profile)"]
    assert helps(generic({"w": 2}, "echo $(replicas[x])"), "GEN002") == [""]


def test_success_rules_are_shown_for_a_type_of_the_job() -> None:
    data = generic({"trainer": 2, "reader": 1}, "train")
    del data["spec"]["successRules"]
    help = "list the replicas that must complete, such as successRules: [{trainer: [0]}]"
    assert helps(data, "GEN005") == [help]


def test_a_variable_of_the_workers_says_where_the_launcher_has_its_own() -> None:
    data = colossal(script=["train.py"], procPerWorker=4)
    place = "spec.replicaSpecs[launcher].template.spec.containers[launcher].env"
    assert helps(data, "SSH001") == [f"set SEED on the launcher too, in {place}"]


@pytest.mark.parametrize(
    ("variable", "source", "help"),
    [
        (
            {"secretKeyRef": {"name": "hub", "key": "a"}},
            'the Secret "hub"',
            'mount the Secret "hub" as a volume, and read the value from its file',
        ),
        (
            {"configMapKeyRef": {"name": "hub", "key": "a"}},
            'the ConfigMap "hub"',
            'mount the ConfigMap "hub" as a volume, and read the value from its file',
        ),
        (
            {"fieldRef": {"fieldPath": "metadata.name"}},
            "a field of the Pod",
            "mount a downwardAPI volume with it, and read its file",
        ),
    ],
)
def test_a_variable_from_elsewhere_says_from_where(variable: Data, source: str, help: str) -> None:
    data = deepspeed(variable, slotsPerWorker=4)
    [found] = [one for one in findings({"object": data}, "SSH009") if one.rule == "SSH009"]
    assert f"TOKEN, which comes from {source}, reaches" in found.message
    assert found.help == help


@pytest.mark.parametrize(("size", "rest"), [("16Gi", "nothing"), ("12Gi", "4Gi")])
def test_shared_memory_says_what_is_left(size: str, rest: str) -> None:
    data = pytorch(1, 1, "python train.py", volumeMounts=[{"name": "shm", "mountPath": "/dev/shm"}])
    pod = data["spec"]["replicaSpecs"][0]["template"]["spec"]
    pod["volumes"] = [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": size}}]
    [found] = [one for one in findings({"object": data}, "RES006") if one.rule == "RES006"]
    assert found.message.endswith(f"which leaves {rest} for the processes")
    assert "at most 8Gi, half of the memory limit" in found.help
