"""Hooks that never end or last too long, probes of other ports, and signals that a shell keeps: forms."""

from __future__ import annotations

from typing import Any

import pytest

from podplan.launchers.durations import iter_durations
from podplan.launchers.exit_status import find_hidden_status
from podplan.launchers.processes import build_container_process, build_words_process
from tests.policy_examples import findings

Data = dict[str, Any]


def said(containers: list[Data], code: str, **spec: Any) -> list[str]:
    listed = [
        {"image": "registry.example.com/a:1", "name": f"c{at}", **one} for at, one in enumerate(containers)
    ]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {"containers": listed, **spec},
    }
    return [found.message for found in findings({"object": pod}, code) if found.rule == code]


@pytest.mark.parametrize(
    ("script", "seconds"),
    [
        ("touch x; for i in $(seq 240); do [ -e s ] && exit 0; sleep 1; done", 240),
        ("for i in `seq 1 2 100`; do sleep 2; done", 100),
        ("for i in {1..60}; do sleep 5; done", 300),
        ("for ((i=0; i<240; i++)); do sleep 1; done", 240),
        ("for i in 1 2 3 4 5; do sleep 20; done", 100),
        ("n=0; while [ $n -lt 48 ]; do sleep 5; n=$((n+1)); done", 240),
        ('i=0\nwhile [ ! -f /done ] && [ "$i" -lt 240 ]\ndo\n sleep 1\n i=$((i + 1))\ndone', 240),
        ("i=0; until [ -e x ] || [ $i -ge 300 ]; do sleep 1; i=$(expr $i + 1); done", 300),
        ("while true; do i=$((i+1)); [ $i -gt 99 ] && break; sleep 1; done", 99),
        ("while [ $SECONDS -lt 200 ]; do sleep 3; done", 200),
        ("timeout 300 sh -c 'until [ -f /x ]; do sleep 2; done'", 300),
        ("timeout -k 5 2m ./save", 120),
        ("python -c 'import time; time.sleep(120)'", 120),
        ("if [ -e x ]; then sleep 100; else sleep 50; fi", 100),
        ("./save --timeout 90", 90),
        ("until [ -e saved ]; do sleep 1; done", 0),
        ("kill -TERM 1; while kill -0 1; do sleep 1; done", 0),
        ("sleep 10 & sleep 5", 5),
        ("sleep 5 || sleep 100", 5),
        ("for i in $FILES; do rm $i; done", 0),
        ("while [ 5 -lt 10 ]; do sleep 1; done", 0),
    ],
)
def test_how_long_a_script_may_take(script: str, seconds: int) -> None:
    found = iter_durations(build_words_process(["sh", "-c", script], ("command",)))
    assert max((one.seconds for one in found), default=0) == seconds


@pytest.mark.parametrize(
    ("command", "is_endless"),
    [
        (["tensorboard", "--logdir=/runs"], True),
        (["python", "-m", "http.server"], True),
        (["sh", "-c", "mkdir -p /a && tail -f /a/log"], True),
        (["sh", "-c", "while true; do nvidia-smi; sleep 5; done"], True),
        (["sh", "-c", "tensorboard --logdir=/runs &"], False),
        (["sh", "-c", "until nc -z localhost 80; do sleep 1; done"], False),
        (["timeout", "60", "tail", "-f", "/a"], False),
        (["python", "warm_up.py"], False),
    ],
)
def test_a_post_start_hook_has_to_end(command: list[str], is_endless: bool) -> None:
    hook = {"lifecycle": {"postStart": {"exec": {"command": command}}}}
    assert bool(said([hook], "LIFE023")) is is_endless


@pytest.mark.parametrize(
    "command",
    [
        ["bash", "-c", "python t.py --save-on-sigterm; python merge.py"],
        ["bash", "-c", "python a.py && python t.py --exit-signal-handler && python b.py"],
        ["sh", "-c", "python t.py --checkpoint_on_preempt=true 2>&1 | tee log"],
        ["bash", "-c", "for i in 1 2; do python t.py --graceful-shutdown; done"],
        ["bash", "-c", "torchrun t.py --handle-signals & wait $!"],
        ["env", "A=1", "bash", "-c", "python t.py --save-on-sigterm; exit $?"],
    ],
)
def test_a_shell_keeps_the_signal(command: list[str]) -> None:
    assert said([{"command": command}], "LIFE024")


@pytest.mark.parametrize(
    "command",
    [
        ["python", "t.py", "--save-on-sigterm"],
        ["bash", "-c", "python t.py --save-on-sigterm"],  # bash may replace itself with it
        ["bash", "-c", "cd /a; exec python t.py --save-on-sigterm"],
        ["bash", "-c", "trap 'kill $!' TERM; python t.py --save-on-sigterm & wait $!; wait $!"],
        ["dumb-init", "bash", "-c", "python t.py --save-on-sigterm; echo"],
        ["bash", "-c", "python t.py --save-on-sigterm=false; echo"],
        ["bash", "-c", "python t.py --signal-length=9 --preemptible; echo"],
        ["bash", "-c", "python t.py; python merge.py"],
    ],
)
def test_a_shell_keeps_no_signal_that_somebody_needs(command: list[str]) -> None:
    assert not said([{"command": command}], "LIFE024")


def test_a_long_grace_period_asks_for_the_signal() -> None:
    piped = {"command": ["bash", "-c", "python t.py | tee log"]}
    assert said([piped], "LIFE024", terminationGracePeriodSeconds=600)
    assert not said([piped], "LIFE024", terminationGracePeriodSeconds=30)
    assert not said([piped], "LIFE024")
    assert not said([piped, {"command": ["a"]}], "LIFE024", terminationGracePeriodSeconds=600)
    assert not said([piped], "LIFE024", terminationGracePeriodSeconds=600, shareProcessNamespace=True)
    hook = {"lifecycle": {"preStop": {"exec": {"command": ["save"]}}}}
    assert not said([piped | hook], "LIFE024", terminationGracePeriodSeconds=600)
    followed = {"command": ["bash", "-c", "python t.py; python merge.py"]}
    assert not said([followed], "LIFE024", terminationGracePeriodSeconds=600)


def probe(port: int | str, action: str = "httpGet", kind: str = "livenessProbe") -> Data:
    return {kind: {action: {"port": port}}}


@pytest.mark.parametrize(
    "container",
    [
        {"command": ["a", "--health-port=9180"], **probe(9108)},
        {"command": ["a", "--health_port", "9180"], **probe(9108, "tcpSocket", "startupProbe")},
        {"args": ["--server.liveness-port=9180"], **probe(9108)},
        {"command": ["sh", "-c", "cd b; a --healthcheck-port 9180"], **probe("9108", kind="readinessProbe")},
        {"env": [{"name": "HEALTH_PORT", "value": "9180"}], **probe(9108)},
        {"command": ["a", "--port=80"], "ports": [{"containerPort": 80}], **probe(8080)},
        {
            "command": ["a", "--health-port=9180"],
            "livenessProbe": {"exec": {"command": ["curl", "-f", "http://localhost:9108/healthz"]}},
        },
    ],
)
def test_a_probe_of_another_port(container: Data) -> None:
    assert len(said([container], "NET012")) == 1


@pytest.mark.parametrize(
    "containers",
    [
        [{"command": ["a", "--health-port=9180"], **probe(9180)}],
        [{"command": ["a", "--port=80"], **probe(8080)}],  # 8080 may be another one of its own
        [{"command": ["a", "--metrics-port=9100"], "ports": [{"containerPort": 9100}], **probe(8080)}],
        [{"command": ["a", "--master_port=29500"], "ports": [{"containerPort": 29500}], **probe(8080)}],
        [
            {
                "command": ["a", "--port=80", "--admin", "0.0.0.0:81"],
                "ports": [{"containerPort": 80}],
                **probe(81),
            }
        ],
        [{"command": ["a", "--health-port=1"], **probe(9400)}, {"ports": [{"containerPort": 9400}]}],
        [{"command": ["a", "--health-port=1"], "livenessProbe": {"httpGet": {"port": 2, "host": "b"}}}],
        [{"command": ["a", "--health-port=1"], "livenessProbe": {"exec": {"command": ["cat", "/a"]}}}],
        [{"command": ["a"], **probe(9108)}],
    ],
)
def test_a_probe_that_may_be_right(containers: list[Data]) -> None:
    assert not said(containers, "NET012")


@pytest.mark.parametrize(
    ("script", "is_hidden"),
    [
        ("set -e\npython prepare.py\nnohup python train.py > log 2>&1 &\necho started", True),
        ("python prepare.py; setsid torchrun train.py & disown", True),
        ("python prepare.py\n{ python train.py; } &\nexit 0", True),
        ("python train.py\npython monitor.py &", False),
        ("tensorboard --logdir=/a & python train.py", False),
        ("python prepare.py; python train.py & wait $!", False),
        ("python prepare.py; python train.py & fg", False),
    ],
)
def test_a_training_left_in_the_background(script: str, is_hidden: bool) -> None:
    assert bool(find_hidden_status(build_container_process({"command": ["bash", "-c", script]}))) is is_hidden


@pytest.mark.parametrize(
    ("words", "is_idle"),
    [
        (["train.py"], True),
        (["train.py", "--per_device_train_batch_size=4"], True),
        (["train.py", "--preprocessing_num_workers=4", "--num_workers=8"], True),
        (["train.py", "--spawn-processes=4"], False),
        (["train.py", "--nprocs", "4"], False),
        (["train.py", "--world-size=4"], False),
        (["train.py", "--n-gpus=4"], False),
        (["train.py", "--trainer.devices=4"], False),
        (["train.py", "--num-procs-per-node=4"], False),
        (["train.py", "--ddp-spawn"], False),
        (["spawn_train.py"], False),
        (["tools/launch.py", "--cfg", "a"], False),
    ],
)
def test_a_script_that_spawns_its_processes(words: list[str], is_idle: bool) -> None:
    limits = {"nvidia.com/gpu": 4, "memory": "1Gi"}
    container = {"name": "a", "image": "a:1", "command": ["python", *words], "resources": {"limits": limits}}
    job = {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "PyTorchTrainingJob",
        "metadata": {"name": "a"},
        "spec": {"replicaSpecs": [{"type": "worker", "template": {"spec": {"containers": [container]}}}]},
    }
    assert ("DIST001" in {one.rule for one in findings({"object": job}, "DIST001")}) is is_idle
