"""Commands without a shell: what is read where, what real programs do, and what the rules say of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest

from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.launchers import exec_form
from podplan.lint import checks
from podplan.lint.registry import load_builtin_policies
from podplan.lint.target import LoweredJob, Target, Violation
from tests.policy_examples import findings
from tests.rows import each_row
from tests.work_counts import slowdown

PRINT = [sys.executable, "-c", "import sys; print(sys.argv[1:])"]
RULES = [f"EXEC{number:03d}" for number in range(1, 13)]


def line(*words: str, **container: Any) -> exec_form.ExecCommand:
    return exec_form.list_exec_commands({"command": list(words), **container})[0]


def literal(*words: str) -> list[str]:
    found = line(*words)
    return [found.texts[at] for at in exec_form.iter_literal_words(found)]


def pod(**container: Any) -> dict[str, Any]:
    main = {"name": "main", "image": "registry.example.com/train:1", **container}
    spec = {"restartPolicy": "Never", "containers": [main]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train"}, "spec": spec}


def rules(container: dict[str, Any], **more: Any) -> list[str]:
    """The rules about commands that a container breaks."""
    found = findings({"object": pod(**container), **more}, "EXEC001")
    return sorted({one.rule for one in found if one.rule.startswith("EXEC")})


def said(*words: str) -> list[str]:
    return rules({"command": list(words)})


def hits(rule: str, container: dict[str, Any]) -> Iterable[Violation]:
    """What one rule says of a container, without the rest of podplan."""
    policy = next(one for one in load_builtin_policies() if one.rule.code == rule)
    doc = TracedDocument("p", {"kind": "Pod", "spec": {"containers": [container]}})
    group = ReplicaGroup(doc)
    subject = Target(doc, LoweredJob(None, (group,)), group, ("spec", "containers", 0), container)
    return checks.resolve_check(policy)(subject, policy.params)


def run(*words: str, **env: str) -> str:
    """What a program prints that is executed as Kubernetes does it."""
    return subprocess.run(words, capture_output=True, text=True, check=False, env=env or None).stdout.strip()


def test_a_container_has_a_line_and_those_of_its_hooks_and_probes() -> None:
    hook = {"exec": {"command": ["save", "all"]}}
    container = {
        "command": ["python"],
        "args": ["train.py", 3, "--lr"],
        "livenessProbe": {"exec": {"command": ["ask"]}, "periodSeconds": 3},
        "lifecycle": {"preStop": hook, "postStart": {"httpGet": {"path": "/"}}},
    }
    found = exec_form.list_exec_commands(container)
    assert [(each.texts, each.expansion) for each in found] == [
        (("python", "train.py", "--lr"), "all"),
        (("ask",), "literal"),
        (("save", "all"), "none"),
    ]
    assert found[0].paths[2] == ("args", 2)
    assert not exec_form.list_exec_commands({"args": ["a"]})[0].has_program
    assert (
        exec_form.list_exec_commands({"command": "python train.py", "lifecycle": [], "livenessProbe": 3})
        == []
    )


@pytest.mark.parametrize(
    ("words", "script"),
    [
        (["sh", "-c", "a"], "a"),
        (["/bin/bash", "-lc", "a", "b"], "a"),
        (["bash", "-o", "pipefail", "-ec", "a"], "a"),
        (["timeout", "60", "sh", "-c", "a"], "a"),
        (["env", "A=b", "bash", "--norc", "-c", "a"], "a"),
        (["sh", "train.sh", "-c", "a"], None),
        (["python", "-c", "a"], None),
        (["sh", "-c"], None),
    ],
)
def test_the_script_of_a_shell_is_found(words: list[str], script: str | None) -> None:
    found = exec_form.find_shell_call(line(*words))
    assert (words[found.script_index] if found else None) == script


def test_words_that_others_read_are_left_out() -> None:
    assert literal("timeout", "60", "sh", "-c", "a", "b") == ["timeout", "60"]
    assert literal("bash", "train.sh", "$LR") == ["bash", "train.sh", "$LR"]
    assert literal("awk", "{print $NF}") == ["awk"]
    assert literal("ssh", "host", "a && b") == ["ssh"]
    assert literal("python", "-c", "print(1)", "x") == ["python", "-c", "x"]
    assert literal("python", "test", "find") == ["python", "test", "find"]


def test_real_programs_get_what_a_shell_would_replace() -> None:
    assert run(*PRINT, "$HOME", "~/x", "*.py", "a", "&&", "b", '--n="c"', "2>&1", "`date`") == (
        "['$HOME', '~/x', '*.py', 'a', '&&', 'b', '--n=\"c\"', '2>&1', '`date`']"
    )


def test_words_behind_a_script_are_no_part_of_it() -> None:
    assert run("sh", "-c", "echo a", "b", "c") == "a"
    assert run("sh", "-c", "echo", "a", "b") == ""
    assert run("sh", "-c", 'echo "$@"', "a", "b", "c") == "b c"


def test_a_line_and_commands_of_the_shell_are_no_programs() -> None:
    for words in (["echo a"], ["export", "A=b"], ["source", "x"], ["A=b", "echo"], ["exec", "echo"]):
        with pytest.raises(FileNotFoundError):
            subprocess.run(words, check=False)


def test_a_shell_runs_an_option_on_a_line_of_its_own_as_a_command() -> None:
    for script in ("echo a\n  --lr 1\n", "echo a && echo b\n--lr 1"):
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode == 127
        assert said("sh", "-c", script) == ["EXEC011"]
    assert run("sh", "-c", "printf '[%s]' a \\ --lr") == "[a][ --lr]"
    assert said("sh", "-c", "python train.py \\ --lr 1") == ["EXEC011"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_references_of_kubernetes_run_commands_in_a_shell() -> None:
    done = subprocess.run(["bash", "-c", "echo $(RANK)"], capture_output=True, text=True, check=False)
    assert "RANK: command not found" in done.stderr


@pytest.mark.parametrize(
    ("words", "broken"),
    [
        (["python", "train.py", ">", "/logs/out.txt"], ["EXEC001"]),
        (["python", "train.py", ">/logs/out.txt"], ["EXEC001"]),
        (["python", "train.py;", "python", "eval.py"], ["EXEC001"]),
        (["python", "train.py", "--amp", "|", "tee", "log"], ["EXEC001"]),
        (["nohup", "python", "train.py", "&"], ["EXEC001"]),
        (["python", "train.py", "$@"], ["EXEC002"]),
        (["python", "train.py", "--lr=${LR:-1}"], ["EXEC002"]),
        (["bash", "train.sh", "$LR"], ["EXEC002"]),
        (["python", "train.py", "--rank=$$RANK"], ["EXEC002"]),
        (["python", "train.py", "--host=$(hostname)"], ["EXEC003"]),
        (["sh", "-c", "$(PYTHON) train.py"], ["EXEC003"]),
        (["cd /app; python train.py"], ["EXEC005"]),
        (["/app/run.sh --fast"], ["EXEC005"]),
        (["python", "-m torch.distributed.run", "train.py"], ["EXEC005"]),
        (["python", "-m", "torch.distributed.run train.py"], ["EXEC005"]),
        (["python", "train.py", "--lr=1 --steps=2"], ["EXEC005"]),
        (["accelerate", "launch train.py"], ["EXEC005"]),
        (["sh", "-c python train.py"], ["EXEC005"]),
        (["A=b python train.py"], ["EXEC005"]),
        (["bash", "-c", "python train.py", "--lr", "1"], ["EXEC006"]),
        (["bash", "-c", "python train.py", "--lr=1"], ["EXEC006"]),
        (["bash", "-c", "python", "train.py"], ["EXEC006"]),
        (["source", "/opt/venv/bin/activate"], ["EXEC007"]),
        (["sudo", "ulimit", "-l", "unlimited"], ["EXEC007"]),
        ([".", "./env.sh"], ["EXEC007"]),
        (["python", "train.py", "--name='a'"], ["EXEC009"]),
        (['"python"', "train.py"], ["EXEC009"]),
        (["python", "train.py\n"], ["EXEC010"]),
    ],
)
def test_mistakes_are_found(words: list[str], broken: list[str]) -> None:
    assert said(*words) == broken


@pytest.mark.parametrize(
    "words",
    [
        ["python", "train.py", "--sep", "|", "--end", ";", "--op", ">"],
        ["python", "train.py", "--eos", "<|end|>", "--pad", "<pad>", "a|b", "x>=1", "--regex", "^a$|^b$"],
        ["pip", "install", "torch>=2.1", "numpy<2"],
        ["python", "train.py", "+a=b", "~key", "x=${oc.env:HOME}", "run=${now:%Y}", "n='a b'"],
        ["python", "train.py", '--json={"a": "$b"}', "--template", "{{ name }} ${name}"],
        ["python", "train.py", "--url=http://example.com/?a=1&b=2#c", "--price=$5", "--pattern=*.py"],
        ["python", "train.py", "--prompt", "run train.py --lr 1 && exit", "--args=--a 1 --b 2"],
        ["python", "train.py", "--shards", "/data/{0000..0099}.tar", "--message=two words"],
        ["find", "/data", "-name", "*.tmp", "-exec", "rm", "{}", ";"],
        ["awk", "-F", "|", "{print $NF}", "/data/list"],
        ["sed", "-e", "s/$HOME/x/", "file"],
        ["envsubst", "$HOME $USER"],
        ["bash", "-c", "a && b > c 2>&1 | tee d; cd /x; A=b exec python t.py $(date +%F) *.py ~/x"],
        ["bash", "-c", 'exec "$@"', "bash", "python", "train.py"],
        ["bash", "-c", "python train.py", "bash"],
        ["python", "-c", "import os; print(os.environ['HOME'] and '$HOME')"],
        ["env", "A=b", "python", "train.py"],
        ["env", "-S", "A=b python train.py --lr 1"],
        ["/opt/my tools/run", "train.py"],
        ["python", "/data/my file.py"],
        ["sleep", "infinity"],
        ["tail", "-f", "/dev/null"],
    ],
)
def test_clean_commands_are_left_alone(words: list[str]) -> None:
    assert said(*words) == []


def test_a_line_for_the_entrypoint_of_the_image_may_be_a_script() -> None:
    assert rules({"args": ["python train.py --lr $LR && echo done"]}) == []
    assert rules({"args": ["python", "train.py", "&&", "echo"]}) == ["EXEC001"]


def test_references_are_replaced_where_kubernetes_replaces_them() -> None:
    env: list[dict[str, Any]] = [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)"}]
    field = {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    assert rules({"command": ["run", "$(A)", "$(IP)"], "env": [*env, field]}) == []
    assert rules({"command": ["run"], "env": env[::-1]}) == ["EXEC004"]
    assert rules({"command": ["run", "$(X)"], "envFrom": [{"configMapRef": {"name": "x"}}]}) == []
    assert rules({"command": ["run", "$(X_SERVICE_HOST)"]}) == []
    probe = {"exec": {"command": ["ask", "$(A)"]}}
    assert rules({"command": ["run"], "env": env, "livenessProbe": probe}) == []
    assert rules({"command": ["run"], "env": env, "lifecycle": {"preStop": probe}}) == ["EXEC008"]
    probe = {"exec": {"command": ["ask", "$(IP)"]}}
    assert rules({"command": ["run"], "env": [field], "livenessProbe": probe}) == ["EXEC008"]


def test_what_flux_replaces_is_left_to_flux() -> None:
    container = {"command": ["run", "--name=${NAME}"], "env": [{"name": "A", "value": "${HOME}/x"}]}
    assert rules(container) == ["EXEC002", "EXEC004"]
    assert rules(container, gitops="flux") == []


def test_init_containers_and_sidecars_are_read_too() -> None:
    data = pod(command=["run"])
    sidecar = {"name": "side", "image": "registry.example.com/train:1", "restartPolicy": "Always"}
    data["spec"]["initContainers"] = [{**sidecar, "command": ["cd", "/x"]}]
    found = findings({"object": data}, "EXEC007")
    assert [one.location.path for one in found if one.rule == "EXEC007"] == [
        ("spec", "initContainers", 0, "command", 0)
    ]


def test_no_message_shows_more_of_a_line_than_it_needs() -> None:
    secret = "hunter2"
    data = pod(
        command=[f"python train.py --token {secret}"],
        args=[f"--token={secret} --lr=1", f'--key="{secret}"'],
        env=[{"name": "KEY", "value": f"{secret}:$(X)"}],
    )
    found = [one for one in findings({"object": data}, "EXEC001") if one.rule.startswith("EXEC")]
    assert len(found) >= 3
    assert not [one.message for one in found if secret in one.message]


UNITS = ("$(", "${", "$A", "`", "'", '"', "\\ -", "\n-", "{a,", "[", " ", "a.py ", "--a=")


@each_row(("unit", "rule"), product(UNITS, RULES), ids=repr, every=3)
def test_time_grows_with_the_length_of_a_word_only(rule: str, unit: str) -> None:
    def check(times: int) -> None:
        container = {"name": "a", "command": ["sh", "-c", unit * times], "args": []}
        words = {
            "name": "a",
            "command": ["rm", "run", unit * times],
            "env": [{"name": "A", "value": unit * times}],
        }
        for data in (container, words):
            list(hits(rule, data))

    assert slowdown(check, 1_000, 20_000) < 80


@pytest.mark.parametrize("word", ["exec", "find", "sh", "-c", "--a", "a b", "$A", "timeout", "A=b", "&&"])
def test_time_grows_with_the_number_of_words_only(word: str) -> None:
    def check(times: int) -> None:
        env = [{"name": f"A{number}", "value": "$(A)"} for number in range(times // 10)]
        for first in ("timeout", "python"):
            data = {"name": "a", "command": [first, *[word] * times], "env": env}
            for rule in RULES:
                list(hits(rule, data))

    assert slowdown(check, 100, 2_000) < 80
