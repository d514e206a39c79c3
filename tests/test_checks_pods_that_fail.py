"""Rules about Pods that cannot start, cannot write, or do not end, in every kind and form."""

from __future__ import annotations

from typing import Any

import pytest

from tests.policy_examples import findings

Data = dict[str, Any]
RESOURCES = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}


def container(name: str = "train", **fields: Any) -> Data:
    return {"name": name, "image": "registry.example.com/train:1", "resources": RESOURCES, **fields}


def cr(kind: str, spec: Data) -> Data:
    metadata = {"name": "train", "namespace": "nlp"}
    return {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": kind, "metadata": metadata, "spec": spec}


def generic(pod: Data, replicas: int = 1, **spec: Any) -> Data:
    role = {"type": "worker", "replicas": replicas, "template": {"spec": pod}}
    return cr("GenericJob", {"successRules": [{"worker": [0]}], "replicaSpecs": [role], **spec})


def pytorch(pod: Data, **spec: Any) -> Data:
    role = {"type": "worker", "replicas": 1, "template": {"spec": pod}}
    return cr("PyTorchTrainingJob", {"replicaSpecs": [role], **spec})


def deepspeed(pod: Data, run: list[str] | None = None, **spec: Any) -> Data:
    config = {"run": {"python": run or ["train.py"]}, **spec.pop("config", {})}
    return cr(
        "DeepSpeedJob", {"config": config, "worker": {"replicas": 1, "template": {"spec": pod}}, **spec}
    )


def colossalai(launcher: Data, worker: Data, script: list[str]) -> Data:
    roles = [
        {"type": "launcher", "template": {"spec": launcher}},
        {"type": "worker", "replicas": 2, "template": {"spec": worker}},
    ]
    torch = {"procPerWorker": 1, "script": script}
    return cr("ColossalAIJob", {"torchConfig": torch, "replicaSpecs": roles})


def pod(*containers: Data, **spec: Any) -> Data:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "train"},
        "spec": {"containers": list(containers), **spec},
    }


def said(job: Data, code: str) -> list[str]:
    return [found.message for found in findings({"object": job}, code) if found.rule == code]


SIDECAR = container("logs", command=["sh", "-c", "tail -F /logs/x | ship"])
TRAIN = container(command=["python", "train.py"])


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (generic({"containers": [TRAIN, SIDECAR]}), True),
        (pytorch({"containers": [TRAIN, SIDECAR]}), True),
        (deepspeed({"containers": [container("worker"), SIDECAR]}), True),
        (
            colossalai(
                {"containers": [container("launcher"), SIDECAR]},
                {"containers": [container("worker")]},
                ["a.py"],
            ),
            True,
        ),
        (
            colossalai(
                {"containers": [container("launcher")]},
                {"containers": [container("worker"), SIDECAR]},
                ["a.py"],
            ),
            False,
        ),
        (generic({"containers": [TRAIN], "initContainers": [{**SIDECAR, "restartPolicy": "Always"}]}), False),
        (generic({"containers": [TRAIN], "initContainers": [SIDECAR]}), True),
        (generic({"containers": [TRAIN, SIDECAR], "shareProcessNamespace": True}), False),
        (generic({"containers": [TRAIN, SIDECAR]}, successRules=[{"master": [0]}]), False),
        (generic({"containers": [container(command=["sleep", "inf"]), SIDECAR]}), False),
        (generic({"containers": [TRAIN, SIDECAR]}, runMode={"debug": {"enabled": True}}), False),
    ],
)
def test_containers_that_never_end_count_where_the_job_waits_for_them(job: Data, expected: bool) -> None:
    assert bool(said(job, "LIFE021")) is expected


def test_a_daemon_is_found_in_debug_mode_too() -> None:
    debug = {"debug": {"enabled": True, "replicaSpecs": [{"type": "worker", "command": ["/usr/sbin/sshd"]}]}}
    assert said(pytorch({"containers": [TRAIN]}, runMode=debug), "LIFE020")
    debug["debug"]["replicaSpecs"][0]["command"] = ["/usr/sbin/sshd", "-D"]  # type: ignore[index]
    assert not said(pytorch({"containers": [TRAIN]}, runMode=debug), "LIFE020")


@pytest.mark.parametrize("job", [pytorch, generic, deepspeed])
def test_the_daemons_that_controllers_start_are_none_of_them(job: Any) -> None:
    assert not said(job({"containers": [container("worker")]}), "LIFE020")


@pytest.mark.parametrize(
    ("of_pod", "of_container", "refused"),
    [
        ({"runAsNonRoot": True}, {"runAsUser": 0}, True),
        ({"runAsUser": 0}, {"runAsNonRoot": True}, True),
        ({"runAsNonRoot": True, "runAsUser": 0}, {}, True),
        ({"runAsNonRoot": True, "runAsUser": 0}, {"runAsUser": 7}, False),
        ({"runAsNonRoot": True, "runAsUser": 0}, {"runAsNonRoot": False}, False),
        ({"runAsNonRoot": True}, {}, False),
        ({}, {"runAsUser": 0}, False),
        ({"runAsNonRoot": True, "runAsUser": None}, {"runAsUser": "0"}, False),
    ],
)
def test_the_security_context_in_effect_counts(of_pod: Data, of_container: Data, refused: bool) -> None:
    inner = container(securityContext=of_container)
    assert bool(said(pod(inner, securityContext=of_pod), "SEC020")) is refused
    init = pod(container(), initContainers=[{**inner, "name": "init"}], securityContext=of_pod)
    own = bool(said(pod(container(), securityContext=of_pod), "SEC020"))
    assert bool(said(init, "SEC020")) is (refused or own)


@pytest.mark.parametrize(
    ("fields", "effect"),
    [
        ({"livenessProbe": {"httpGet": {"port": "metrics"}}}, "a training that hangs never restarts"),
        ({"readinessProbe": {"tcpSocket": {"port": "metrics"}}}, "never becomes ready"),
        ({"startupProbe": {"httpGet": {"port": "metrics"}}}, "never becomes ready"),
        ({"lifecycle": {"postStart": {"httpGet": {"port": "metrics"}}}}, "kills the container"),
        ({"lifecycle": {"preStop": {"tcpSocket": {"port": "metrics"}}}}, "the container ends without it"),
    ],
)
def test_a_port_is_looked_for_in_its_own_container(fields: Data, effect: str) -> None:
    named: Data = {"ports": [{"name": "metrics", "containerPort": 9400}]}
    (message,) = said(pod(container(**fields), container("other", **named)), "NET011")
    assert effect in message
    assert not said(pod(container(**fields, **named)), "NET011")


@pytest.mark.parametrize("port", [8080, "8080", None, True])
def test_a_port_that_is_no_name_is_left_to_kubernetes(port: Any) -> None:
    assert not said(pod(container(livenessProbe={"httpGet": {"port": port}})), "NET011")


@pytest.mark.parametrize(
    ("volume", "found"),
    [
        ({"secret": {"secretName": "a", "defaultMode": 400}}, True),
        ({"configMap": {"name": "a", "defaultMode": 444}}, True),
        ({"downwardAPI": {"defaultMode": 440}}, True),
        ({"projected": {"defaultMode": 500, "sources": []}}, True),
        ({"secret": {"secretName": "a", "items": [{"key": "k", "path": "p", "mode": 400}]}}, True),
        (
            {
                "projected": {
                    "sources": [
                        {"configMap": {"name": "a", "items": [{"key": "k", "path": "p", "mode": 444}]}}
                    ]
                }
            },
            True,
        ),
        ({"secret": {"secretName": "a", "defaultMode": 256}}, False),
        ({"secret": {"secretName": "a", "defaultMode": 420}}, False),
        ({"secret": {"secretName": "a", "defaultMode": 0}}, False),
    ],
)
def test_modes_of_all_volumes_are_read(volume: Data, found: bool) -> None:
    mounts = [{"name": "v", "mountPath": "/v"}]
    assert (
        bool(said(pod(container(volumeMounts=mounts), volumes=[{"name": "v", **volume}]), "VOL011")) is found
    )


@pytest.mark.parametrize(
    ("command", "grace", "seconds"),
    [
        (["sleep", "60"], None, 60),
        (["sh", "-c", "sleep 20; sleep 20"], None, 40),
        (["sh", "-c", "kill -TERM 1 && sleep 2m"], 60, 120),
        (["python", "save.py", "--timeout", "300"], 120, 300),
        (["curl", "--max-time=90", "http://localhost/save"], None, 90),
        (["sleep", "20"], None, None),
        (["sh", "-c", "[ -f x ] || sleep 600"], None, None),
        (["python", "save.py", "--timeout=300"], 600, None),
        (["python", "save.py", "--step=9000"], None, None),
    ],
)
def test_how_long_a_hook_takes(command: list[str], grace: int | None, seconds: int | None) -> None:
    hook = container(lifecycle={"preStop": {"exec": {"command": command}}})
    given = {} if grace is None else {"terminationGracePeriodSeconds": grace}
    messages = said(pod(hook, **given), "LIFE019")
    assert [f"may take {seconds} seconds" in message for message in messages] == (
        [] if seconds is None else [True]
    )


def fetching(path: str, app: Data, *more: Data, volume: Data | None = None, **mount: Any) -> Data:
    init = container("fetch", command=["fetch"], volumeMounts=[{"name": "v", "mountPath": path, **mount}])
    return pod(app, initContainers=[init, *more], volumes=[{"name": "v", **(volume or {"emptyDir": {}})}])


USES = container(command=["python", "train.py", "--data=/data/train"])


@pytest.mark.parametrize(
    ("object_", "found"),
    [
        (fetching("/data", USES), True),
        (fetching("/data", container(workingDir="/data")), True),
        (fetching("/data", container(env=[{"name": "DATA", "value": "/data/a"}])), True),
        (fetching("/data", USES, volume={"persistentVolumeClaim": {"claimName": "data"}}), True),
        (fetching("/data", TRAIN), True),
        (fetching("/data", TRAIN, volume={"persistentVolumeClaim": {"claimName": "data"}}), False),
        (fetching("/tmp", TRAIN), False),
        (fetching("/data", USES, readOnly=True), False),
        (fetching("/data", {**USES, "volumeMounts": [{"name": "v", "mountPath": "/elsewhere"}]}), False),
        (fetching("/data", TRAIN, container("b", volumeMounts=[{"name": "v", "mountPath": "/in"}])), False),
        (fetching("/dat", container(command=["ls", "/data"])), True),
    ],
)
def test_a_volume_that_only_an_init_container_mounts(object_: Data, found: bool) -> None:
    assert bool(said(object_, "VOL012")) is found


@pytest.mark.parametrize(
    ("job", "place"),
    [
        (
            generic(
                {"containers": [TRAIN]},
                replicaSpecs=[
                    {
                        "type": "worker",
                        "restartPolicy": {"policy": "Always", "limit": 3},
                        "template": {"spec": {"containers": [TRAIN]}},
                    }
                ],
            ),
            True,
        ),
        (
            pytorch(
                {"containers": [TRAIN]},
                replicaSpecs=[
                    {
                        "type": "worker",
                        "restartPolicy": "Always",
                        "template": {"spec": {"containers": [TRAIN]}},
                    }
                ],
            ),
            True,
        ),
        (
            cr(
                "DeepSpeedJob",
                {
                    "config": {"run": {"python": ["a.py"]}},
                    "worker": {"restartPolicy": "Always", "template": {"spec": {"containers": [TRAIN]}}},
                },
            ),
            True,
        ),
        (generic({"containers": [TRAIN], "restartPolicy": "Always"}), False),
        (generic({"containers": [TRAIN]}), False),
    ],
)
def test_always_is_found_where_each_kind_writes_it(job: Data, place: bool) -> None:
    assert bool(said(job, "LIFE018")) is place


@pytest.mark.parametrize(
    ("command", "env", "found"),
    [
        (["python", "a.py", "--requeue-exit-code=85"], [], True),
        (["python", "a.py", "--preempt_exit_code", "3"], [], True),
        (["bash", "-c", "python a.py --resume-exit-code 85"], [], True),
        (["python", "a.py"], [{"name": "REQUEUE_EXIT_CODE", "value": "85"}], True),
        (["python", "a.py", "--requeue-exit-code=143"], [], False),
        (["python", "a.py", "--resume=3", "--retry=5", "--exit-code=85"], [], False),
    ],
)
def test_exit_codes_that_ask_for_a_restart(command: list[str], env: list[Data], found: bool) -> None:
    role = {
        "type": "worker",
        "restartPolicy": "ExitCode",
        "template": {"spec": {"containers": [container(command=command, env=env)]}},
    }
    assert bool(said(cr("PyTorchTrainingJob", {"replicaSpecs": [role]}), "LIFE022")) is found


WAIT = "until nc -z {} 29500; do sleep 1; done"


def waiting(script: str, replicas: int = 2, **fields: Any) -> Data:
    init = container("wait", command=["sh", "-c", script], **fields)
    return generic(
        {"initContainers": [init], "containers": [TRAIN]},
        replicas,
        service={"ports": [{"name": "a", "port": 29500}]},
    )


@pytest.mark.parametrize(
    ("job", "found"),
    [
        (waiting(WAIT.format("train-worker-0")), True),
        (waiting(WAIT.format("train-worker-0.nlp.svc")), True),
        (waiting(WAIT.format("$(service.worker[0].host)")), True),
        (waiting("HOST=train-worker-1\n" + WAIT.format("$HOST")), True),
        (waiting("while ! nc -w 3 -z train-worker-0 29500; do :; done"), True),
        (waiting("until (echo > /dev/tcp/train-worker-0/29500) 2>/dev/null; do sleep 1; done"), True),
        (waiting("until curl -sf http://train-worker-0:29500/; do sleep 1; done"), True),
        (waiting(WAIT.format("localhost"), 1), True),
        (waiting(WAIT.format("train-worker-0"), restartPolicy="Always"), False),
        (waiting(WAIT.format("train-worker-7")), False),
        (waiting(WAIT.format("db.example.com")), False),
        (waiting("until nslookup train-worker-0; do sleep 1; done"), False),
        (waiting("[ $RANK = 0 ] || " + WAIT.format("train-worker-0")), False),
        (waiting("if [ $RANK != 0 ]; then " + WAIT.format("train-worker-0") + "; fi"), False),
        (waiting("timeout 60 sh -c '" + WAIT.format("train-worker-0") + "'"), False),
        (
            waiting(
                "until nc -z train-worker-0 29500; do n=$((n+1)); [ $n -gt 60 ] && exit 1; sleep 1; done"
            ),
            True,
        ),
        (waiting("for i in 1 2 3; do nc -z train-worker-0 29500 && break; sleep 1; done"), False),
    ],
)
def test_an_init_container_that_waits_for_its_own_pod(job: Data, found: bool) -> None:
    assert bool(said(job, "DIST018")) is found


def test_two_types_that_wait_for_each_other() -> None:
    roles: list[Data] = [
        {
            "type": a,
            "template": {
                "spec": {
                    "initContainers": [container("wait", command=["sh", "-c", WAIT.format(f"train-{b}-0")])],
                    "containers": [TRAIN],
                }
            },
        }
        for a, b in (("ps", "worker"), ("worker", "ps"))
    ]
    service = {"ports": [{"name": "a", "port": 29500}]}
    job = cr("GenericJob", {"service": service, "replicaSpecs": roles})
    assert len(said(job, "DIST018")) == 2
    del roles[0]["template"]["spec"]["initContainers"]
    assert said(job, "DIST018") == []


def test_pods_that_name_their_node_are_counted_together() -> None:
    limits = {"limits": {"nvidia.com/gpu": 4, "memory": "1Gi"}}
    roles: list[Data] = [
        {
            "type": type_,
            "replicas": number,
            "template": {"spec": {"nodeName": "gpu-1", "containers": [{**TRAIN, "resources": limits}]}},
        }
        for type_, number in (("master", 1), ("worker", 2))
    ]
    job = cr("PyTorchTrainingJob", {"replicaSpecs": roles})
    assert all("3 Pods with 12 GPUs to the node gpu-1" in message for message in said(job, "SCHED014"))
    assert len(said(job, "SCHED014")) == 2
    roles[1]["template"]["spec"]["nodeName"] = "gpu-2"
    assert said(job, "SCHED014") == []
    limits["limits"] = {"nvidia.com/mig-1g.10gb": 7, "memory": "1Gi"}
    assert said(job, "SCHED014") == []


@pytest.mark.parametrize(("gpus", "found"), [(16, False), (4, True)])
def test_the_inventory_knows_how_many_gpus_a_node_has(gpus: int, found: bool) -> None:
    limits = {"limits": {"nvidia.com/gpu": 4, "memory": "1Gi"}}
    spec = {"nodeName": "gpu-1", "containers": [{**TRAIN, "resources": limits}]}
    role = {"type": "worker", "replicas": 2, "template": {"spec": spec}}
    inventory = {"nodes": {"large": {"allocatable": {"nvidia.com/gpu": gpus}}}}
    example = {"object": cr("PyTorchTrainingJob", {"replicaSpecs": [role]}), "inventory": inventory}
    assert ("SCHED014" in [one.rule for one in findings(example, "SCHED014")]) is found


def test_efa_needs_no_locked_memory() -> None:
    def with_device(name: str) -> Data:
        return pytorch({"containers": [{**TRAIN, "resources": {"limits": {name: 1, "memory": "1Gi"}}}]})

    assert said(with_device("rdma/hca"), "NET003")
    assert not said(with_device("vpc.amazonaws.com/efa"), "NET003")


@pytest.mark.parametrize(
    ("mode", "help_"),
    [
        (644, "644 is decimal; write 0644 for the mode in octal, or 420"),
        (755, "755 is decimal; write 0755 for the mode in octal, or 493"),
        (880, ""),
        (4644, ""),
        (-1, ""),
    ],
)
def test_a_mode_that_kubernetes_refuses_is_told_in_octal(mode: int, help_: str) -> None:
    volume = {"name": "v", "secret": {"secretName": "a", "defaultMode": mode}}
    (found,) = [
        one
        for one in findings({"object": pod(container(), volumes=[volume])}, "VOL011")
        if "Mode" in one.message
    ]
    assert (found.rule, found.help) == ("SCHEMA005", help_)


@pytest.mark.parametrize("odd", [None, [], {}, "x", 3, True, 1e9, [[]], [{}], {"a": []}])
def test_odd_values_end_no_check(odd: Any) -> None:
    fields = (
        "command",
        "args",
        "env",
        "image",
        "ports",
        "securityContext",
        "volumeMounts",
        "lifecycle",
        "livenessProbe",
    )
    for field in fields:
        for code in (
            "LIFE017",
            "LIFE019",
            "LIFE020",
            "SEC020",
            "SEC021",
            "NET011",
            "VOL010",
            "VOL012",
            "IMG005",
        ):
            findings(
                {"object": pod(container(**{field: odd}), initContainers=[container("i", **{field: odd})])},
                code,
            )
    volume = {"name": "v", "secret": {"secretName": "a", "defaultMode": odd, "items": odd}}
    findings({"object": pod(container(), volumes=[volume], securityContext=odd)}, "VOL011")
    for policy in (odd, {"policy": odd}):
        role = {"type": "worker", "restartPolicy": policy, "template": {"spec": {"containers": [TRAIN]}}}
        findings({"object": cr("GenericJob", {"successRules": odd, "replicaSpecs": [role]})}, "LIFE018")


def test_blocks_in_blocks_have_an_end() -> None:
    for opens, closes in (
        ("(", ")"),
        ("{ ", "; }"),
        ("if true; then ", "; fi"),
        ("while true; do ", "; done"),
    ):
        line = f"{opens * 3000}python train.py{closes * 3000}"
        findings({"object": generic({"containers": [container(command=["bash", "-c", line])]})}, "LIFE017")


def test_a_long_value_is_no_exit_code() -> None:
    env = [{"name": "REQUEUE_EXIT_CODE", "value": "8" * 5000}]
    role = {
        "type": "worker",
        "restartPolicy": "ExitCode",
        "template": {"spec": {"containers": [container(env=env)]}},
    }
    assert said(cr("PyTorchTrainingJob", {"replicaSpecs": [role]}), "LIFE022") == []


@pytest.mark.parametrize(
    ("rules", "found"), [([{"worker": [0]}], True), ([{"trainer": [0]}], False), ([], True)]
)
def test_a_server_that_no_success_rule_waits_for_may_be_restarted(rules: list[Data], found: bool) -> None:
    role = {
        "type": "worker",
        "restartPolicy": {"policy": "Always"},
        "template": {"spec": {"containers": [TRAIN]}},
    }
    assert bool(said(cr("GenericJob", {"successRules": rules, "replicaSpecs": [role]}), "LIFE018")) is found


def by_shell(script: str, *, call: tuple[str, ...] = ("bash", "-c"), **fields: Any) -> Data:
    """A Pod whose container runs a string of the shell."""
    return pod(container(command=[*call, script], **fields))


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("sshd -D; mpirun -np 2 python train.py", True),
        ("set -e\nsleep infinity\ntorchrun train.py", True),
        ("tail -f /dev/null\nif true; then python train.py; fi", True),
        ("while true; do sleep 10; done; python train.py", True),
        ("tensorboard --logdir=/l | tee /l/log; python train.py", True),
        ("sshd; mpirun -np 2 python train.py", False),
        ("sshd -D & mpirun -np 2 python train.py", False),
        ("tensorboard --logdir=/l | tee /l/log & python train.py", False),
        ("tail -f log | grep -m1 ready; python train.py", False),
        ("timeout 9 tail -f log; python train.py", False),
        ("[ -f /debug ] && sleep infinity; python train.py", False),
        ("if [ -f /debug ]; then sleep infinity; fi; python train.py", False),
        ("serve() { sleep infinity; }; python train.py", False),
        ("(sleep 60; pkill sshd) & sshd -D; python train.py", False),
        ("while true; do test -f /go && break; done; python train.py", False),
        ("python train.py; sleep infinity", False),
        ("sshd -D; echo done", False),
        ("sshd -t -D; python train.py", False),
    ],
)
def test_trainings_behind_what_never_ends(script: str, found: bool) -> None:
    assert bool(said(by_shell(script), "EXEC017")) is found


SECRET = [{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ('set -x; login "$TOKEN"', True),
        ("set -euxo pipefail\nlogin --key=${TOKEN}", True),
        ("set -o xtrace; login $TOKEN", True),
        ("set -x; { login $TOKEN; }", True),
        ("set -x; export KEY=$TOKEN; train", True),
        ('set -x; if [ -n "$TOKEN" ]; then train; fi', True),
        ("set -x; login ${TOKEN:-none}", True),
        ("set -e; login $TOKEN", False),
        ("set -x; set +x; login $TOKEN", False),
        ("set -x; { set +x; } 2>/dev/null; login $TOKEN", False),
        ("login $TOKEN; set -x; train", False),
        ("if [ -n '' ]; then set -x; fi; login $TOKEN", False),
        ("(set -x; train); login $TOKEN", False),
        ("set -x; login '$TOKEN'", False),
        ("set -x; login ${TOKEN:+given} ${#TOKEN}", False),
        ("set -x; login $TOKENS", False),
        ("exec 2>/dev/null; set -x; login $TOKEN", False),
        ("set -x; login", False),
    ],
)
def test_secrets_that_the_shell_prints(script: str, found: bool) -> None:
    assert bool(said(by_shell(script, env=SECRET), "SEC024")) is found
    literal = [{"name": "TOKEN", "value": "none"}]
    assert not said(by_shell(script, env=literal), "SEC024")


def test_shells_that_are_called_with_a_trace() -> None:
    for call in (("bash", "-xc"), ("bash", "-x", "-c"), ("sh", "-exc"), ("bash", "-o", "xtrace", "-c")):
        assert said(by_shell("login $TOKEN", call=call, env=SECRET), "SEC024"), call
    assert not said(by_shell("login $TOKEN", call=("bash", "-ec"), env=SECRET), "SEC024")


READ_ONLY = {"readOnlyRootFilesystem": True}


@pytest.mark.parametrize(
    ("script", "mount", "found"),
    [
        ("pip install a", "/ckpt", True),
        ("pip3 install -r requirements.txt", "/tmp", True),
        ("python3 -m pip install -q a", "/data/x", True),
        ("apt-get update && apt-get install -y git", "/tmp", True),
        ("apk add git", "/root", True),
        ("pip install --target /tmp/a a", "/tmp", False),
        ("pip install --target=/tmp/a a", "/tmp", False),
        ("pip install --user a", "/tmp", False),
        ("pip install a", "/root", False),
        ("pip install a", "/opt/conda", False),
        ("pip install a", "/workspace", False),
        ("export PIP_TARGET=/tmp/a; pip install a", "/tmp", False),
        (". /tmp/e/bin/activate; pip install a", "/tmp", False),
        ("/tmp/e/bin/pip install a", "/tmp", False),
        ("pip install a || true", "/tmp", False),
        ("pip list", "/tmp", False),
        ("pip download a", "/tmp", False),
        ("apt-get install -y git", "/usr", False),
        ("python train.py install", "/tmp", False),
    ],
)
def test_packages_that_cannot_be_installed(script: str, mount: str, found: bool) -> None:
    mounts = [{"name": "v", "mountPath": mount}]
    given = by_shell(script, securityContext=READ_ONLY, volumeMounts=mounts)
    assert bool(said(given, "EXEC018")) is found
    assert not said(by_shell(script, volumeMounts=mounts), "EXEC018")


@pytest.mark.parametrize(
    ("init", "main", "found"),
    [(8, 4, True), (4, 4, False), (2, 4, False), (0, 4, False), (4, 0, False)],
)
def test_gpus_of_init_containers(init: int, main: int, found: bool) -> None:
    def with_gpus(name: str, number: int, **fields: Any) -> Data:
        limits = {"limits": {"nvidia.com/gpu": number} if number else {"memory": "1Gi"}}
        return container(name, **{**fields, "resources": limits})

    inits = [with_gpus("check", init)]
    assert bool(said(pod(with_gpus("train", main), initContainers=inits), "RES025")) is found
    sidecar = with_gpus("server", 8, restartPolicy="Always")
    assert not said(pod(with_gpus("train", main), initContainers=[sidecar, *inits]), "RES025")


@pytest.mark.parametrize(
    ("command", "port", "found"),
    [
        (["/usr/sbin/sshd", "-De", "-p", "22"], 2222, True),
        (["/usr/sbin/sshd", "-D", "-p2022"], 22, True),
        (["/usr/sbin/sshd", "-D", "-oPort=2022"], 22, True),
        (["bash", "-c", "mkdir -p /run/sshd; exec /usr/sbin/sshd -D -p 22"], 2222, True),
        (["/usr/sbin/sshd", "-De", "-p", "22"], 22, False),
        (["/usr/sbin/sshd", "-De"], 2222, False),
        (["/usr/sbin/sshd", "-De", "-p", "22", "-p", "2022"], 2222, False),
        (["bash", "-c", "./server & /usr/sbin/sshd -D -p 22"], 8080, False),
    ],
)
def test_probes_of_sshd(command: list[str], port: int, found: bool) -> None:
    given = pod(container(command=command, readinessProbe={"tcpSocket": {"port": port}}))
    assert bool(said(given, "NET012")) is found
