"""Which processes never end by themselves, and which leave only a daemon behind."""

from __future__ import annotations

import pytest

from podplan.launchers.endings import find_endless, find_only_daemon, sleep_seconds
from podplan.launchers.processes import build_container_process


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("tail -f x", "tail -f x"),
        ("tail -fn0 x", "tail -fn0 x"),
        ("touch x && tail -n +1 -F x | ship", "tail -n +1 -F x"),
        ("tail -F x & wait", "tail -F x"),
        ("exec tail --follow=name x", "tail --follow=name x"),
        ("sleep infinity", "sleep infinity"),
        ("sleep 9999d", "sleep 9999d"),
        ("while true; do date; sleep 3; done", "while true"),
        ("while sleep 30; do rsync a b; done", "while sleep 30"),
        ("until false; do date; done", "until false"),
        ("trap 'exit 0' TERM; while :; do sleep 5; done", "while :"),
        ("(cd x; tail -f y)", "tail -f y"),
        ("exec tensorboard --logdir x", "tensorboard --logdir x"),
        ("python -m http.server 80", "python -m http.server 80"),
        ("/usr/sbin/sshd -De", "/usr/sbin/sshd -De"),
        ("python3 -m tensorboard.main --logdir=x", "python3 -m tensorboard.main --logdir=x"),
        ("nvidia-smi dmon", "nvidia-smi dmon"),
        ("nvidia-smi --query-gpu=name -l 5", "nvidia-smi --query-gpu=name -l 5"),
        ("watch -n 5 nvidia-smi", "watch -n 5 nvidia-smi"),
        ("nginx -g 'daemon off;'", "nginx -g daemon off;"),
        ("redis-server --port 1", "redis-server --port 1"),
        ("mlflow server", "mlflow server"),
        ("vllm serve m", "vllm serve m"),
        ("uvicorn a:b", "uvicorn a:b"),
        ("[ -z x ] && exit 0; sleep inf", "sleep inf"),
    ],
)
def test_what_never_ends(line: str, text: str) -> None:
    found = find_endless(build_container_process({"command": ["bash", "-c", line]}))
    assert found is not None
    assert found.text == text


@pytest.mark.parametrize(
    "line",
    [
        "python t.py",
        "tail -n 3 x",
        "tail --pid=1 -f x",
        "timeout 3h tail -f x",
        "tail -F x | grep -m1 done",
        "tail -F x & python t.py",
        "(tail -f x) &",
        "sleep 3600",
        "until [ -f done ]; do sleep 1; done",
        "while true; do [ -f done ] && break; sleep 3; done",
        "while ! nc -z a 1; do sleep 1; done",
        "python t.py || sleep infinity",
        "if [ -n x ]; then sleep infinity; fi",
        "f() { sleep infinity; }; python t.py",
        "exit 0; sleep infinity",
        "exec python t.py; sleep infinity",
        "tensorboard --version",
        "nvidia-smi",
        "nvidia-smi dmon -c 10",
        "nvidia-smi -L",
        "watch -g ls",
        "nginx -t",
        "redis-server --daemonize yes",
        "mlflow run x",
        "gunicorn a:b -D",
        "python -m train",
        "python -m uvicorn --version",
        "/usr/sbin/sshd",
        "/usr/sbin/sshd -t",
    ],
)
def test_what_may_end(line: str) -> None:
    assert find_endless(build_container_process({"command": ["bash", "-c", line]})) is None


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("python t.py; sleep inf", True),
        ("cp a b; sleep inf", False),
        ("until nc -z a 1; do x; done; sleep inf", False),
    ],
)
def test_a_training_before_it_is_told(line: str, after: bool) -> None:
    found = find_endless(build_container_process({"command": ["bash", "-c", line]}))
    assert found is not None
    assert found.after_training is after


@pytest.mark.parametrize(
    ("command", "instead"),
    [
        (["/usr/sbin/sshd"], "-D"),
        (["/usr/sbin/sshd", "-p", "2222", "-f", "/etc/Ddi"], "-D"),
        (["sh", "-c", "mkdir -p /run/sshd && /usr/sbin/sshd && echo up"], "-D"),
        (["tini", "--", "/usr/sbin/sshd", "-oPermitRootLogin=yes"], "-D"),
        (["sh", "-c", "service ssh start"], "the program of the service itself in the foreground"),
        (["ray", "start", "--head"], "--block"),
        (["nginx"], "-g 'daemon off;'"),
        (["supervisord"], "--nodaemon"),
    ],
)
def test_a_daemon_alone(command: list[str], instead: str) -> None:
    found = find_only_daemon(build_container_process({"command": command}))
    assert found is not None
    assert found.instead == instead


@pytest.mark.parametrize(
    "command",
    [
        ["/usr/sbin/sshd", "-D"],
        ["/usr/sbin/sshd", "-o", "Port=22", "-D"],
        ["/usr/sbin/sshd", "-t"],
        ["sh", "-c", "/usr/sbin/sshd $OPTIONS"],
        ["sh", "-c", "/usr/sbin/sshd; python t.py"],
        ["sh", "-c", "/usr/sbin/sshd; sleep infinity"],
        ["sh", "-c", "[ -n x ] || /usr/sbin/sshd"],
        ["ray", "start", "--head", "--block"],
        ["nginx", "-g", "daemon off;"],
        ["supervisord", "-c", "/etc/supervisord.conf"],
        ["python", "t.py"],
        [],
    ],
)
def test_what_stays_or_is_not_alone(command: list[str]) -> None:
    assert find_only_daemon(build_container_process({"command": command})) is None


def test_the_seconds_of_sleep_add_up() -> None:
    assert sleep_seconds(["1m", "30"]) == 90
    assert sleep_seconds(["0.5", "$TIME"]) == 0
