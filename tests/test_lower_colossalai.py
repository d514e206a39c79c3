from __future__ import annotations

from typing import Any

import pytest

from tests.lowered_objects import Object, fact_at, group_of, job, keys_at, lost, lower, names, objects

LAUNCHER = """
launcher: {image: l, workingDir: /work, env: [{name: A, value: b}]}
worker:
  replicas: 2
  procPerWorker: 4
  command: [train.py, --lr, "0.1"]
  torchArgs: [--rdzv_id=x, --standalone]
  template:
    spec:
      restartPolicy: OnFailure
      containers:
      - {name: side, image: b, command: [serve]}
      - {name: worker, image: a, command: [ignored], args: [ignored], env: [{name: C, value: d}]}
"""
REPLICAS = """
torchConfig: {procPerWorker: 4, script: [train.py, --lr, "0.1"], extraArgs: [--rdzv_id=x, --standalone]}
replicaSpecs:
- type: worker
  replicas: 2
  template:
    spec:
      restartPolicy: OnFailure
      containers:
      - {name: side, image: b, command: [serve]}
      - {name: worker, image: a, command: [ignored], args: [ignored], env: [{name: C, value: d}]}
- type: launcher
  template:
    spec:
      containers:
      - {name: launcher, image: l, workingDir: /work, env: [{name: A, value: b}]}
"""
BOTH = pytest.mark.parametrize("spec", [LAUNCHER, REPLICAS], ids=["launcher", "replicaSpecs"])
RUN = [
    "colossalai",
    "run",
    "--hostfile",
    "/t9k/hostfile",
    "--nproc_per_node",
    "4",
    "--extra_launch_args",
    "rdzv_id=x,standalone",
    "train.py",
    "--lr",
    "0.1",
]


def colossalai(spec: str, **metadata: str) -> Object:
    return job("ColossalAIJob", spec, **metadata)


def launcher_entry(cr: Object) -> Any:
    return cr["spec"]["replicaSpecs"][1]


@BOTH
def test_the_objects_of_a_job(spec: str) -> None:
    assert names(colossalai(spec)) == [
        "Secret/bert-ssh",
        "ConfigMap/bert-config",
        "Service/bert-worker-0",
        "Service/bert-worker-1",
        "Pod/bert-launcher",
        "Pod/bert-worker-0",
        "Pod/bert-worker-1",
    ]
    with_uid = names(colossalai(spec, name="mnist"), uid="422e8cc7-163f-4d49-9fb8-d059e490a09b")
    assert "Pod/mnist-12e8d-launcher" in with_uid


def test_both_dialects_say_the_same() -> None:
    assert objects(colossalai(LAUNCHER)) == objects(colossalai(REPLICAS))


@BOTH
def test_the_launcher_runs_colossalai_run_on_the_hostfile(spec: str) -> None:
    lowered = objects(colossalai(spec))
    assert lowered.pod("bert-launcher")["spec"]["containers"] == [
        {
            "name": "launcher",
            "image": "l",
            "workingDir": "/work",
            "env": [{"name": "A", "value": "b"}],
            "command": RUN,
            "volumeMounts": [
                *keys_at("/root/.ssh"),
                {"name": "job-files", "mountPath": "/t9k/hostfile", "subPath": "hostfile"},
            ],
            "resources": {
                "requests": {"cpu": "100m", "memory": "100Mi"},
                "limits": {"cpu": "200m", "memory": "200Mi"},
            },
        }
    ]
    assert lowered["ConfigMap", "bert-config"]["data"] == {"hostfile": "bert-worker-0\nbert-worker-1\n"}


@BOTH
def test_the_workers_run_sshd(spec: str) -> None:
    lowered = objects(colossalai(spec))
    assert lowered.container("bert-worker-1", 1) == {
        "name": "worker",
        "image": "a",
        "command": ["/usr/sbin/sshd", "-D"],
        "env": [{"name": "C", "value": "d"}],
        "volumeMounts": keys_at("/root/.ssh"),
    }
    assert lowered.container("bert-worker-1", 0) == {"name": "side", "image": "b", "command": ["serve"]}
    (volume,) = lowered.pod("bert-worker-1")["spec"]["volumes"]
    assert volume["secret"]["secretName"] == "bert-ssh"
    group = group_of(lower(colossalai(spec)), "Pod", "worker")
    assert [path[-1] for path in lost(group, ("spec", "containers", 1, "command"))] == ["command", "args"]


@BOTH
def test_the_restart_policy_of_all_pods_is_never(spec: str) -> None:
    policies = {pod["spec"]["restartPolicy"] for pod in objects(colossalai(spec)).of("Pod").values()}
    assert policies == {"Never"}


@BOTH
@pytest.mark.parametrize(
    ("options", "handed_on"),
    [
        (["--a=1"], "a=1"),
        (["--a=1", "--b"], "a=1,b"),
        (["a=1"], "a=1"),
        (["--log-dir=/x-y"], "log-dir=/x-y"),
        ([], None),
        (None, None),
    ],
)
def test_options_of_torchrun_are_handed_on(spec: str, options: Any, handed_on: str | None) -> None:
    cr = colossalai(spec)
    holder, key = ("worker", "torchArgs") if spec == LAUNCHER else ("torchConfig", "extraArgs")
    cr["spec"][holder][key] = options
    words = [] if handed_on is None else ["--extra_launch_args", handed_on]
    assert objects(cr).container("bert-launcher")["command"][6:] == [*words, "train.py", "--lr", "0.1"]


@BOTH
def test_one_process_per_worker_unless_written(spec: str) -> None:
    cr = colossalai(spec)
    del cr["spec"]["worker" if spec == LAUNCHER else "torchConfig"]["procPerWorker"]
    assert objects(cr).container("bert-launcher")["command"][4:6] == ["--nproc_per_node", "1"]
    path = ("spec", "containers", 0, "command", 5)
    assert fact_at(group_of(lower(colossalai(spec)), "Pod", "launcher"), path) is None
    fact = fact_at(group_of(lower(cr), "Pod", "launcher"), path)
    assert fact is not None
    assert (fact.id, fact.basis) == ("colossalai.processes", "documented")


@BOTH
def test_written_resources_stay(spec: str) -> None:
    cr = colossalai(spec)
    resources = {"limits": {"cpu": "2"}}
    if spec == LAUNCHER:
        cr["spec"]["launcher"]["resources"] = resources
    else:
        launcher_entry(cr)["template"]["spec"]["containers"][0]["resources"] = resources
    assert objects(cr).container("bert-launcher")["resources"] == resources


@pytest.mark.parametrize("launcher", [None, {}])
def test_a_launcher_that_says_nothing_runs_from_the_image_of_the_workers(launcher: Any) -> None:
    cr = colossalai(LAUNCHER)
    cr["spec"]["launcher"] = launcher
    container = objects(cr).container("bert-launcher")
    assert (container["name"], container["image"], container["command"]) == ("launcher", "a", RUN)
    fact = fact_at(group_of(lower(cr), "Pod", "launcher"), ("spec", "containers", 0, "image"))
    assert (fact.id, fact.basis) == ("colossalai.launcher-image", "assumed") if fact else False


@pytest.mark.parametrize(
    "template",
    [None, {}, {"spec": None}, {"spec": {}}, {"spec": {"containers": []}}, {"spec": {"containers": None}}],
)
def test_a_launcher_entry_without_containers_gets_one(template: Any) -> None:
    cr = colossalai(REPLICAS)
    launcher_entry(cr)["template"] = template
    container = objects(cr).container("bert-launcher")
    assert (container["name"], container["image"], container["command"]) == ("launcher", "a", RUN)


def test_a_launcher_needs_no_entry() -> None:
    cr = colossalai(REPLICAS)
    del cr["spec"]["replicaSpecs"][1]
    assert objects(cr).container("bert-launcher")["image"] == "a"


def test_a_launcher_entry_keeps_the_rest_of_its_pod() -> None:
    cr = colossalai(REPLICAS)
    launcher_entry(cr)["template"] = {
        "metadata": {"labels": {"team": "vision"}},
        "spec": {
            "nodeSelector": {"disk": "ssd"},
            "containers": [
                {"name": "log", "image": "b"},
                {"name": "launcher", "image": "l", "command": ["x"], "args": ["y"]},
            ],
        },
    }
    pod = objects(cr).pod("bert-launcher")
    assert pod["metadata"]["labels"]["team"] == "vision"
    assert pod["spec"]["nodeSelector"] == {"disk": "ssd"}
    log, launcher = pod["spec"]["containers"]
    assert log == {"name": "log", "image": "b"}
    assert launcher["command"] == RUN
    assert "args" not in launcher
    group = group_of(lower(cr), "Pod", "launcher")
    assert [path[-1] for path in lost(group, ("spec", "containers", 1, "command"))] == ["command", "args"]


def test_there_is_one_launcher_or_none() -> None:
    cr = colossalai(REPLICAS)
    launcher_entry(cr)["replicas"] = 3
    assert [name for name in names(cr) if "launcher" in name] == ["Pod/bert-launcher"]
    launcher_entry(cr)["replicas"] = 0
    assert [name for name in names(cr) if "launcher" in name] == []


def test_workers_that_are_not_mentioned_are_not_there() -> None:
    cr = colossalai(REPLICAS)
    del cr["spec"]["replicaSpecs"][0]
    assert names(cr) == ["Secret/bert-ssh", "ConfigMap/bert-config", "Pod/bert-launcher"]


@BOTH
def test_keys_and_sshd_where_the_job_says(spec: str) -> None:
    cr = colossalai(spec)
    cr["spec"]["ssh"] = {"authMountPath": "/keys", "sshdPath": "/opt/sshd"}
    lowered = objects(cr)
    for name, index in (("bert-launcher", 0), ("bert-worker-0", 1)):
        assert lowered.container(name, index)["volumeMounts"][:1] == keys_at("/keys")
        assert "defaultMode" not in lowered.pod(name)["spec"]["volumes"][0]["secret"]
    assert lowered.container("bert-worker-0", 1)["command"] == ["/opt/sshd", "-D"]
    cr["spec"]["ssh"] = {"authMountPath": "/root/.ssh"}
    assert objects(cr).pod("bert-worker-0")["spec"]["volumes"][0]["secret"]["defaultMode"] == 0o600


@BOTH
def test_a_gang_of_the_launcher_and_the_workers(spec: str) -> None:
    cr = colossalai(spec)
    cr["spec"]["scheduler"] = {"t9kScheduler": {"queue": "q", "priority": 9}}
    lowered = objects(cr)
    assert lowered["PodGroup", "bert"]["spec"] == {"minMember": 3, "priority": 9, "queue": "q"}
    roles = {
        name: pod["metadata"]["labels"]["scheduler.tensorstack.dev/role"]
        for name, pod in lowered.of("Pod").items()
    }
    assert roles == {"bert-launcher": "launcher", "bert-worker-0": "worker", "bert-worker-1": "worker"}


@BOTH
def test_debug_mode_by_type(spec: str) -> None:
    cr = colossalai(spec)
    cr["spec"]["runMode"] = {"debug": {"enabled": True}}
    lowered = objects(cr)
    assert lowered.container("bert-launcher")["command"] == ["sleep", "inf"]
    assert lowered.container("bert-worker-0", 1)["command"] == ["sleep", "inf"]
    cr["spec"]["runMode"]["debug"]["replicaSpecs"] = [{"type": "launcher", "command": ["bash"]}]
    lowered = objects(cr)
    assert lowered.container("bert-launcher")["command"] == ["bash"]
    assert lowered.container("bert-worker-0", 1)["command"] == ["sleep", "inf"]


@BOTH
def test_a_paused_job_keeps_all_but_pods_and_gang(spec: str) -> None:
    cr = colossalai(spec)
    cr["spec"] |= {"runMode": {"pause": {"enabled": True}}, "scheduler": {"t9kScheduler": {}}}
    assert {kind for kind, _ in objects(cr)} == {"Secret", "ConfigMap", "Service"}


@BOTH
def test_a_resumed_job_runs_what_its_resume_specs_say(spec: str) -> None:
    cr = colossalai(spec)
    resume = [{"type": "launcher", "command": ["bash"], "args": ["-c", "again"]}]
    cr["spec"]["runMode"] = {"pause": {"enabled": True, "resumeSpecs": resume}}
    lowered = objects(cr, resumed=True)
    assert lowered.container("bert-launcher")["command"] == ["bash"]
    assert lowered.container("bert-launcher")["args"] == ["-c", "again"]
    assert lowered.container("bert-worker-0", 1)["command"] == ["/usr/sbin/sshd", "-D"]


@BOTH
def test_skip_init_container(spec: str) -> None:
    cr = colossalai(spec)
    worker = cr["spec"]["worker"] if spec == LAUNCHER else cr["spec"]["replicaSpecs"][0]
    worker["template"]["spec"]["initContainers"] = [{"name": "i", "image": "b"}]
    assert "initContainers" in objects(cr).pod("bert-worker-0")["spec"]
    sets = [{"type": "worker", "skipInitContainer": True}]
    cr["spec"]["runMode"] = {"debug": {"enabled": True, "replicaSpecs": sets}}
    assert "initContainers" not in objects(cr).pod("bert-worker-0")["spec"]


@BOTH
def test_without_a_container_called_worker_the_first_one_runs_sshd(spec: str) -> None:
    cr = colossalai(spec)
    worker = cr["spec"]["worker"] if spec == LAUNCHER else cr["spec"]["replicaSpecs"][0]
    worker["template"]["spec"]["containers"][1]["name"] = "main"
    assert objects(cr).container("bert-worker-0", 0)["command"] == ["/usr/sbin/sshd", "-D"]


@BOTH
def test_ten_thousand_workers_are_as_much_work_as_two(spec: str) -> None:
    few, many = colossalai(spec), colossalai(spec)
    holder = many["spec"]["worker"] if spec == LAUNCHER else many["spec"]["replicaSpecs"][0]
    holder["replicas"] = 10_000
    sizes = [[len(group.doc.origins) for group in lower(cr)] for cr in (few, many)]
    assert sizes[0] == sizes[1]
    hostfile = group_of(lower(many), "ConfigMap").doc.data["data"]["hostfile"]
    assert hostfile == "bert-worker-{0..9999}\n"
