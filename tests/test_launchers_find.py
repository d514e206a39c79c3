"""Launchers found in containers: behind shells, wrappers and python; with their places in the container."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from podplan.launchers.commands import DeepSpeedCommand, TorchrunCommand
from podplan.launchers.discovery import DiscoveredPrograms, find_programs
from tests.containers import container, in_bash, only

FIXTURES = Path(__file__).parent.parent / "fixtures"


def test_torchrun_over_command_and_args() -> None:
    command = ["torchrun", "--nnodes", "2", "--rdzv_backend", "c10d"]
    command += ["--rdzv_endpoint", "$(MASTER_ADDR):$(MASTER_PORT)", "--role", "node"]
    env = {"MASTER_ADDR": "job-0", "MASTER_PORT": "29500"}
    found = only(find_programs(container(command, "train.py", "--lr", "1", env=env)))
    facts = found.parsed
    assert isinstance(facts, TorchrunCommand)
    assert (facts.node_range, facts.backend, facts.host, facts.port) == ((2, 2), "c10d", "job-0", 29500)
    assert found.options["nnodes"].path == ("command", 2)
    assert found.options["rdzv_endpoint"].path == ("command", 6)
    assert (found.script, found.arguments[0].path) == (facts.command_line.script, ("args", 1))
    assert found.errors == ()


def test_the_shell_line_of_a_deepspeed_job() -> None:
    text = "/usr/sbin/sshd -D & deepspeed --hostfile=/t9k/hostfile --no_local_rank 'my train.py' --fp16"
    found = in_bash(text)
    facts = found.parsed
    assert isinstance(facts, DeepSpeedCommand)
    assert (facts.hostfile, sorted(facts.flags)) == ("/t9k/hostfile", ["no_local_rank"])
    assert found.script is not None
    assert (found.script.text, text[found.script.start : found.script.end]) == (
        "my train.py",
        "'my train.py'",
    )
    assert (found.operator_before, found.operator_after, found.is_conditional) == ("&", "", False)


PROGRAMS: list[tuple[list[str], str, str | None]] = [
    (["python", "train.py", "--lr", "1"], "python", "train.py"),
    (["/usr/bin/python3.11", "-u", "-W", "ignore", "-X", "dev", "train.py"], "python", "train.py"),
    (["python", "-m", "pkg.train", "--x"], "python", "pkg.train"),
    (["python", "-c", "import torch"], "python", None),
    (["python", "-um", "torch.distributed.run", "a.py"], "torchrun", "a.py"),
    (["python", "-m", "torch.distributed.launch", "--use_env", "a.py"], "torch.distributed.launch", "a.py"),
    (["python", "-m", "accelerate.commands.launch", "a.py"], "accelerate", "a.py"),
    (["accelerate", "launch", "--num_processes", "2", "a.py"], "accelerate", "a.py"),
    (["accelerate-launch", "a.py"], "accelerate", "a.py"),
    (["accelerate", "env"], "other", None),
    (["ds", "a.py"], "deepspeed", "a.py"),
    (["colossalai", "run", "--nproc_per_node", "8", "a.py"], "colossalai", "a.py"),
    (["colossalai", "check"], "other", None),
    (["/opt/venv/bin/torchrun", "a.py"], "torchrun", "a.py"),
    (["env", "-u", "X", "A=1", "B=2", "torchrun", "a.py"], "torchrun", "a.py"),
    (["nohup", "time", "-p", "nice", "-n", "5", "torchrun", "a.py"], "torchrun", "a.py"),
    (["timeout", "-k", "5", "1h", "torchrun", "a.py"], "torchrun", "a.py"),
    (["numactl", "--cpunodebind=0", "-m", "0", "python", "a.py"], "python", "a.py"),
    (["conda", "run", "-n", "x", "--no-capture-output", "python", "a.py"], "python", "a.py"),
    (["uv", "run", "--with", "torch", "torchrun", "a.py"], "torchrun", "a.py"),
    (["tini", "-g", "--", "torchrun", "a.py"], "torchrun", "a.py"),
    (["env", "-S", "A=b torchrun a.py"], "torchrun", "a.py"),
    (["env", "-S", "torchrun 'a", "b"], "other", None),
    (["bash", "-exo", "pipefail", "-c", "torchrun a.py"], "torchrun", "a.py"),
    (["bash", "--login", "-c", "exec torchrun a.py"], "torchrun", "a.py"),
    (["sh", "-c", "bash -c 'torchrun a.py'"], "torchrun", "a.py"),
    (["sh", "-c", 'exec "$@"', "sh", "torchrun", "a.py"], "torchrun", "a.py"),
    (["sh", "-c", '"$0" "$@"', "torchrun", "a.py"], "torchrun", "a.py"),
    (["bash", "run.sh", "x"], "script", "run.sh"),
    (["./run.sh"], "script", None),
    (["make", "train"], "other", None),
]


@pytest.mark.parametrize(("command", "launcher", "script"), PROGRAMS, ids=lambda value: str(value))
def test_programs(command: list[str], launcher: str, script: str | None) -> None:
    found = only(find_programs(container(command)))
    assert (found.launcher, found.script.text if found.script else None) == (launcher, script)


@pytest.mark.parametrize(
    "command", [["sleep", "inf"], ["sh", "-c", "cd /x; ls | wc -l"], [], ["bash"], ["env"]]
)
def test_what_starts_nothing(command: list[str]) -> None:
    assert find_programs(container(command)) == DiscoveredPrograms((), ())


def test_words_behind_positional_references_have_their_own_place() -> None:
    found = only(find_programs(container(["sh", "-c", 'exec torchrun "$@"', "sh"], "--nnodes=2", "a.py")))
    assert found.options["nnodes"].path == ("args", 0)
    assert found.program_word.path == ("command", 2)


def test_places_are_those_before_the_kubelet_replaces() -> None:
    text = "torchrun --rdzv_endpoint=$(HOST):$(PORT) --nnodes=$(N) a.py"
    found = in_bash(text, HOST="a-long-name-of-a-host", PORT="1", N="2")
    nodes = found.options["nnodes"]
    assert (nodes.value, text[nodes.word.start : nodes.word.end]) == ("2", "--nnodes=$(N)")
    assert found.script is not None
    assert text[found.script.start : found.script.end] == "a.py"
    (word,) = only(find_programs(container(["python", "a.py", "$(N)"], env={"N": "2000000"}))).arguments
    assert (word.text, word.start, word.end) == ("2000000", 0, len("$(N)"))


def test_variables_of_the_line_reach_the_launcher() -> None:
    found = in_bash(
        "export PET_NNODES=4; N=$A PET_RDZV_BACKEND=c10d torchrun --nproc_per_node=$A a.py", A="8"
    )
    facts = found.parsed
    assert isinstance(facts, TorchrunCommand)
    assert (facts.node_range, facts.processes, facts.backend) == ((4, 4), "8", "c10d")
    assert facts.value_origins == {
        "nnodes": "PET_NNODES",
        "rdzv_backend": "PET_RDZV_BACKEND",
        "nproc_per_node": "--nproc_per_node",
    }


def test_what_is_not_known_is_none_and_no_error() -> None:
    found = in_bash("torchrun --nnodes=$N --nproc_per_node=${P:-8} --max_restarts $R $MORE --unknown a.py")
    facts = found.parsed
    assert isinstance(facts, TorchrunCommand)
    assert (facts.node_range, facts.processes, facts.max_restarts) == (None, None, None)
    assert not facts.command_line.is_certain
    assert found.errors == ()


@pytest.mark.parametrize(("value", "nodes"), [("4", (4, 4)), ("$N", None)])
def test_variables_that_env_sets_are_known_where_their_values_are(
    value: str, nodes: tuple[int, int] | None
) -> None:
    facts = in_bash(f"env PET_NNODES={value} torchrun a.py").parsed
    assert isinstance(facts, TorchrunCommand)
    assert facts.node_range == nodes


def test_a_secret_is_not_known() -> None:
    env = [{"name": "N", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]
    found = only(find_programs({"command": ["torchrun", "--nnodes=$(N)", "a.py"], "env": env}))
    assert isinstance(found.parsed, TorchrunCommand)
    assert found.parsed.node_range is None
    assert found.errors == ()


def test_a_reference_that_nobody_sets_stays() -> None:
    found = only(find_programs(container(["torchrun", "--nnodes=$(N)", "a.py"])))
    assert [fault.message for fault in found.errors] == ['--nnodes must be N or MIN:MAX, not "$(N)"']
    assert found.errors[0].path == ("command", 1)
    more = find_programs(
        {"command": ["torchrun", "--nnodes=$(N)", "a.py"], "envFrom": [{"configMapRef": {"name": "c"}}]}
    )
    assert only(more).errors == ()


def test_blocks_are_conditional() -> None:
    found = find_programs(
        container(["bash", "-c", "if [ $RANK = 0 ]; then torchrun a.py; else torchrun b.py; fi; python c.py"])
    )
    assert [(i.launcher, i.is_conditional) for i in found.invocations] == [
        ("torchrun", True),
        ("torchrun", True),
        ("python", False),
    ]


def test_args_alone_are_assumed_to_be_run() -> None:
    found = only(find_programs({"args": ["torchrun", "a.py"]}))
    assert (found.launcher, found.is_assumed) == ("torchrun", True)


def test_a_string_that_no_shell_reads() -> None:
    found = find_programs(container(["bash", "-c", "cd /x && torchrun --name 'a b.py"]))
    assert [(f.path, f.word.start, f.message) for f in found.syntax_errors] == [
        (("command", 2), 25, "the single quote is never closed")
    ]


LAUNCHED = {
    "colossalai_job_launcher": {"colossalai"},
    "colossalai_job_replicas": {"colossalai"},
    "deepspeed_job": {"deepspeed"},
    "pytorch_training_job": {"torchrun", "python"},
}


def pods(path: Path) -> list[Any]:
    documents = yaml.load_all(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    return [document["spec"] for document in documents if document["kind"] == "Pod"]


@pytest.mark.parametrize("kind", LAUNCHED)
def test_lowered_pods_start_their_launcher(kind: str) -> None:
    """What lowering emits is understood, and refused nowhere."""
    launchers = set()
    for path in sorted((FIXTURES / kind).glob("*/lowered.yaml")):
        founds = [find_programs(one) for pod in pods(path) for one in pod["containers"]]
        invocations = [invocation for found in founds for invocation in found.invocations]
        launchers |= {invocation.launcher for invocation in invocations}
        errors = {error.message for one in invocations for error in one.errors if not error.condition}
        assert errors == set(), path
        assert not any(found.syntax_errors for found in founds), path
    assert LAUNCHED[kind] <= launchers
