"""Launchers found in containers: behind shells, wrappers and python; with their places in the container."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from podplan.launchers import colossalai, deepspeed, mpirun, torchrun, wrappers
from podplan.launchers.find import Found, Invocation, find
from podplan.launchers.words import Word
from podplan.limits import MAX_COMMAND_TEXT, BoundExceeded
from tests.effort import examples
from tests.work import work

FIXTURES = Path(__file__).parent.parent / "fixtures"
Env = dict[str, str]


def container(command: list[str], *args: str, env: Env | None = None) -> dict[str, Any]:
    listed = [{"name": name, "value": value} for name, value in (env or {}).items()]
    return {"command": command, "args": list(args), "env": listed}


def only(found: Found) -> Invocation:
    assert len(found.invocations) == 1, found.invocations
    return found.invocations[0]


def in_bash(text: str, **env: str) -> Invocation:
    return only(find(container(["bash", "-c", text], env=env)))


def test_torchrun_over_command_and_args() -> None:
    command = ["torchrun", "--nnodes", "2", "--rdzv_backend", "c10d"]
    command += ["--rdzv_endpoint", "$(MASTER_ADDR):$(MASTER_PORT)", "--role", "node"]
    env = {"MASTER_ADDR": "job-0", "MASTER_PORT": "29500"}
    found = only(find(container(command, "train.py", "--lr", "1", env=env)))
    facts = found.facts
    assert isinstance(facts, torchrun.Torchrun)
    assert (facts.nodes, facts.backend, facts.host, facts.port) == ((2, 2), "c10d", "job-0", 29500)
    assert found.options["nnodes"].path == ("command", 2)
    assert found.options["rdzv_endpoint"].path == ("command", 6)
    assert (found.script, found.arguments[0].path) == (facts.line.script, ("args", 1))
    assert found.errors == ()


def test_the_shell_line_of_a_deepspeed_job() -> None:
    text = "/usr/sbin/sshd -D & deepspeed --hostfile=/t9k/hostfile --no_local_rank 'my train.py' --fp16"
    found = in_bash(text)
    facts = found.facts
    assert isinstance(facts, deepspeed.DeepSpeed)
    assert (facts.hostfile, sorted(facts.flags)) == ("/t9k/hostfile", ["no_local_rank"])
    assert found.script is not None
    assert (found.script.text, text[found.script.start : found.script.end]) == (
        "my train.py",
        "'my train.py'",
    )
    assert (found.before, found.after, found.conditional) == ("&", "", False)


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
    found = only(find(container(command)))
    assert (found.launcher, found.script.text if found.script else None) == (launcher, script)


@pytest.mark.parametrize(
    "command", [["sleep", "inf"], ["sh", "-c", "cd /x; ls | wc -l"], [], ["bash"], ["env"]]
)
def test_what_starts_nothing(command: list[str]) -> None:
    assert find(container(command)) == Found((), ())


def test_words_behind_positional_references_have_their_own_place() -> None:
    found = only(find(container(["sh", "-c", 'exec torchrun "$@"', "sh"], "--nnodes=2", "a.py")))
    assert found.options["nnodes"].path == ("args", 0)
    assert found.word.path == ("command", 2)


def test_places_are_those_before_the_kubelet_replaces() -> None:
    text = "torchrun --rdzv_endpoint=$(HOST):$(PORT) --nnodes=$(N) a.py"
    found = in_bash(text, HOST="a-long-name-of-a-host", PORT="1", N="2")
    nodes = found.options["nnodes"]
    assert (nodes.value, text[nodes.word.start : nodes.word.end]) == ("2", "--nnodes=$(N)")
    assert found.script is not None
    assert text[found.script.start : found.script.end] == "a.py"
    (word,) = only(find(container(["python", "a.py", "$(N)"], env={"N": "2000000"}))).arguments
    assert (word.text, word.start, word.end) == ("2000000", 0, len("$(N)"))


def test_variables_of_the_line_reach_the_launcher() -> None:
    found = in_bash(
        "export PET_NNODES=4; N=$A PET_RDZV_BACKEND=c10d torchrun --nproc_per_node=$A a.py", A="8"
    )
    facts = found.facts
    assert isinstance(facts, torchrun.Torchrun)
    assert (facts.nodes, facts.processes, facts.backend) == ((4, 4), "8", "c10d")
    assert facts.given == {
        "nnodes": "PET_NNODES",
        "rdzv_backend": "PET_RDZV_BACKEND",
        "nproc_per_node": "--nproc_per_node",
    }


def test_what_is_not_known_is_none_and_no_error() -> None:
    found = in_bash("torchrun --nnodes=$N --nproc_per_node=${P:-8} --max_restarts $R $MORE --unknown a.py")
    facts = found.facts
    assert isinstance(facts, torchrun.Torchrun)
    assert (facts.nodes, facts.processes, facts.max_restarts) == (None, None, None)
    assert not facts.line.sure
    assert found.errors == ()


@pytest.mark.parametrize(("value", "nodes"), [("4", (4, 4)), ("$N", None)])
def test_variables_that_env_sets_are_known_where_their_values_are(
    value: str, nodes: tuple[int, int] | None
) -> None:
    facts = in_bash(f"env PET_NNODES={value} torchrun a.py").facts
    assert isinstance(facts, torchrun.Torchrun)
    assert facts.nodes == nodes


def test_a_secret_is_not_known() -> None:
    env = [{"name": "N", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]
    found = only(find({"command": ["torchrun", "--nnodes=$(N)", "a.py"], "env": env}))
    assert isinstance(found.facts, torchrun.Torchrun)
    assert found.facts.nodes is None
    assert found.errors == ()


def test_a_reference_that_nobody_sets_stays() -> None:
    found = only(find(container(["torchrun", "--nnodes=$(N)", "a.py"])))
    assert [fault.sentence for fault in found.errors] == ['--nnodes takes N or MIN:MAX, not "$(N)"']
    assert found.errors[0].path == ("command", 1)
    more = find(
        {"command": ["torchrun", "--nnodes=$(N)", "a.py"], "envFrom": [{"configMapRef": {"name": "c"}}]}
    )
    assert only(more).errors == ()


def test_blocks_are_conditional() -> None:
    found = find(
        container(["bash", "-c", "if [ $RANK = 0 ]; then torchrun a.py; else torchrun b.py; fi; python c.py"])
    )
    assert [(i.launcher, i.conditional) for i in found.invocations] == [
        ("torchrun", True),
        ("torchrun", True),
        ("python", False),
    ]


def test_args_alone_are_assumed_to_be_run() -> None:
    found = only(find({"args": ["torchrun", "a.py"]}))
    assert (found.launcher, found.assumed) == ("torchrun", True)


def test_a_string_that_no_shell_reads() -> None:
    found = find(container(["bash", "-c", "cd /x && torchrun --name 'a b.py"]))
    assert [(f.path, f.word.start, f.sentence) for f in found.faults] == [
        (("command", 2), 25, "the single quote is never closed")
    ]


def test_mpirun_and_what_it_starts() -> None:
    command = "mpirun -np 16 --allow-run-as-root -N 8 -x NCCL_DEBUG=INFO -x PATH --hostfile /h -bind-to none"
    found = find(container(["sh", "-c", f"{command} --mca btl ^openib,tcp python -u train.py --lr 1"]))
    first, second = found.invocations
    facts = first.facts
    assert isinstance(facts, mpirun.Mpirun)
    assert (facts.processes, facts.per_node, facts.hostfile) == (16, 8, "/h")
    assert (facts.exported, facts.mca, facts.as_root) == (
        ("NCCL_DEBUG", "PATH"),
        {"btl": "^openib,tcp"},
        True,
    )
    assert (second.launcher, second.under, second.script and second.script.text) == (
        "python",
        "mpirun",
        "train.py",
    )


@pytest.mark.parametrize(
    ("line", "errors"),
    [
        ("mpirun -np 2", ["mpirun needs a program to run"]),
        ("mpirun -np two a", ['-np takes a whole number, not "two"']),
        ("mpirun a -np", []),
        ("mpirun -np", ["-np needs a value", "mpirun needs a program to run"]),
        ("mpirun --surprise x -np 2 a", []),
        ("horovodrun -np 4 -H h:4 python a.py", []),
        ("horovodrun -np x python a.py", ['-np takes a whole number, not "x"']),
        ("colossalai run --nproc_per_node 8 train", [
            'colossalai run takes a script that ends in .py, not "train"; it exits with 0']),
        ("colossalai run train.py", ["colossalai run needs --nproc_per_node; it exits with 0 without it"]),
        ("colossalai run --nproc_per_node 8 -m pkg.train --x", []),
        ("colossalai run --nproc_per_node 8 --extra_launch_args a=1,b,c=d=e t.py", [
            '--extra_launch_args cannot hold "c=d=e": an item has one "="']),
        ("torchrun --nnodes=2:1 a.py", ['--nnodes "2:1" breaks 0 < MIN <= MAX']),
        ("torchrun --rdzv_conf=a=1, a.py", ['--rdzv_conf "a=1," has a pair without a key; write K=V,K=V']),
        ("torchrun --nproc 2 a.py", ['"--nproc" may be short for --nproc_per_node or --nproc-per-node']),
        ("torchrun a.py --no 2", ['"--no" may be short for --no_python or --node_rank']),
        ("deepspeed --include a --num_gpus 2 t.py", ["--num_gpus does not go with --include"]),
        ("deepspeed --launcher ssh t.py", [
            '--launcher takes pdsh, openmpi, mvapich, slurm, mpich, impi; not "ssh"']),
        ("accelerate launch --cpu --tpu t.py", ["--tpu and --cpu exclude each other"]),
        ("accelerate launch --num_machines 2 t.py", ["--num_machines=2 needs --machine_rank"]),
        ("accelerate launch --num_machines 2 --config_file a.yaml t.py", []),
    ],
)  # fmt: skip
def test_what_launchers_refuse(line: str, errors: list[str]) -> None:
    found = find(container(["bash", "-c", line])).invocations[0]
    assert [fault.sentence for fault in found.errors] == errors


def test_colossalai_reads_options_behind_the_script() -> None:
    found = in_bash(
        "colossalai run --hostfile /h --nproc_per_node=8 t.py --lr 1 --master_port 1234 -- --host x"
    )
    facts = found.facts
    assert isinstance(facts, colossalai.ColossalAI)
    assert (facts.hostfile, facts.processes, facts.master_port, facts.hosts) == ("/h", 8, 1234, ())
    assert [word.text for word in found.arguments] == ["--lr", "1", "--host", "x"]


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
        founds = [find(one) for pod in pods(path) for one in pod["containers"]]
        invocations = [invocation for found in founds for invocation in found.invocations]
        launchers |= {invocation.launcher for invocation in invocations}
        errors = {error.sentence for one in invocations for error in one.errors if not error.only}
        assert errors == set(), path
        assert not any(found.faults for found in founds), path
    assert LAUNCHED[kind] <= launchers


SPELLINGS = ["-H", "-host", "--host", "--hostfile", "--include", "--nproc_per_node", "--ssh-port", "-m"]
TOKENS = [*SPELLINGS, "--hostfile=/h", "--host=", "-Hx", "--unknown", "--x=1", "-1", "-", "--", "8", "t.py"]


@given(st.lists(st.sampled_from(TOKENS), max_size=7))
def test_colossalai_reads_as_click_does(words: list[str]) -> None:
    """The documented options, given to the library that ColossalAI reads them with."""
    names = {spelling: name for spelling, name in colossalai.OPTIONS.items() if spelling.startswith("-")}
    params: list[click.Parameter] = [
        click.Option([*(spelling for spelling, to in names.items() if to == name), name])
        for name in dict.fromkeys(names.values())
    ]
    params.append(click.Argument(["rest"], nargs=-1, type=click.UNPROCESSED))
    command = click.Command("run", params=params, context_settings={"ignore_unknown_options": True})
    mine = colossalai.read(tuple(Word(word) for word in words), Word("colossalai"))
    needs = [error for error in mine.errors if error.sentence.endswith("needs a value")]
    try:
        theirs = command.make_context("run", list(words), resilient_parsing=False).params
    except click.UsageError:
        assert needs
        return
    assert not needs
    assert {k: o.value for k, o in mine.line.options.items()} == {
        k: v for k, v in theirs.items() if v is not None and k != "rest"
    }
    script = (mine.line.script,) if mine.line.script is not None else ()
    assert [word.text for word in (*script, *mine.line.arguments)] == list(theirs["rest"])


ODD: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES = [
    "torchrun",
    "deepspeed",
    "accelerate",
    "launch",
    "mpirun",
    "horovodrun",
    "colossalai",
    "run",
    "python",
    "env",
]
PARTS = [
    *NAMES,
    "-m",
    "-c",
    "bash",
    "--",
    "-",
    "--nnodes",
    "--nnodes=$(A)",
    "-np",
    "-x",
    "$A",
    "$(B)",
    "a.py",
    "--n",
]
TEXTS = st.lists(st.sampled_from(PARTS) | st.text(max_size=6), max_size=8)
ENTRIES = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("AB"), "value": st.text("$(AB) x", max_size=9)})
)


@settings(max_examples=examples(300), deadline=None)
@given(TEXTS, TEXTS, ENTRIES)
def test_no_command_hurts(command: list[str], args: list[str], env: list[dict[str, str]]) -> None:
    for one in (command, ["bash", "-c", " ".join(command), *command]):
        written = {"command": one, "args": args}
        for invocation in find({**written, "env": env}).invocations:
            for option in invocation.options.values():
                key, index = option.path
                assert 0 <= option.word.start <= option.word.end <= len(written[str(key)][int(index)])


@settings(max_examples=examples(100), deadline=None)
@given(ODD, ODD, ODD, ODD)
def test_no_container_hurts(command: Any, args: Any, env: Any, env_from: Any) -> None:
    find({"command": command, "args": args, "env": env, "envFrom": env_from})


LAUNCHERS = [
    "torchrun",
    "deepspeed",
    "accelerate launch",
    "mpirun",
    "colossalai run",
    "python",
    "bash",
    "env",
]


@pytest.mark.parametrize(
    "word", ["--nnodes=2", "--n", "$X", "x", "--include=a", "-m", "bash", "env", "mpirun", "-c"]
)
def test_work_grows_with_the_words_only(word: str) -> None:
    def looked_at(number: int) -> None:
        for launcher in LAUNCHERS:
            find(container([*launcher.split(), *[word] * number]))
            find(container(["bash", "-c", f"{launcher} {' '.join([word] * number)}"]))

    looked_at(2)  # what is made once, such as the options of launchers
    few, many = (work(partial(looked_at, number)) for number in (100, 400))
    assert many < 4.02 * few


def nested(levels: int, times: int) -> Env:
    """Variables each of which has a shell read the next one so many times."""
    return {f"S{one}": f'sh -c "$S{one + 1}";' * times for one in range(levels)}


ARGUMENTS = '"$@" ' * 25_000
THOUSANDS = {f"A{one}": "" for one in range(10_001)}


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        (container(["a"] * 10_001), "words"),
        (container(["sh", "-c", "a"], env=THOUSANDS), "words"),
        (container(["env", "A=", "a"], env=THOUSANDS), "words"),
        (container(["mpirun", "bash", "-c", "a"], env=THOUSANDS), "words"),
        (container(["sh", "-c", "a " * 10_000]), "words"),
        (container(["sh", "-c", ARGUMENTS, *["a"] * 9_000]), "words"),
        (container(["sh", "-c", ARGUMENTS.replace("@", "*"), *["a"] * 9_000]), "words"),
        (container(["sh", "-c", 'sh -c "$S0"'], env=nested(4, 100)), "words"),
        (container(["a", *["$(A)"] * 20], env={"A": "a" * 131_000}), "characters"),
        (container(["sh", "-c", '"$@" ' * 50, "", "a" * 100_000]), "characters"),
    ],
    ids=[
        "words",
        "variables",
        "variables and one more",
        "variables under mpirun",
        "shell",
        "all arguments",
        "as one",
        "shells",
        "references",
        "text",
    ],
)
def test_what_a_small_file_would_make_much_of_is_given_up(given: dict[str, Any], limit: str) -> None:
    """A file of 150 KB filled the memory with the arguments that it repeated."""
    with pytest.raises(BoundExceeded, match=f'container "train" have more than [0-9,]+ {limit};'):
        find({"name": "train", **given})


def test_what_is_at_the_bounds_is_read() -> None:
    assert find(container(["a"] * 10_000)).invocations[0].arguments
    with pytest.raises(BoundExceeded):
        find(container(["a"] * 10_001))
    most = ["a" * (MAX_COMMAND_TEXT // 4)] * 4
    assert len(find(container(most)).invocations) == 1
    with pytest.raises(BoundExceeded):
        find(container([*most, "a"]))


def test_so_many_programs_are_found() -> None:
    assert len(find(container(["sh", "-c", "a;" * 201])).invocations) == 200


@pytest.mark.parametrize(
    "line",
    [["a"], ["sh", "a.sh"], ["env", "torchrun", "a.py"], ["mpirun", "-np", "2", "a"], ["deepspeed", "a.py"]],
)
def test_variables_do_not_count_where_no_shell_looks_at_them(line: list[str]) -> None:
    """Ten thousand variables for a program were refused, for what only a shell would make of them."""
    [found] = [one for one in find(container(line, env=THOUSANDS)).invocations if not one.under]
    assert len(found.variables) == len(THOUSANDS)


def test_variables_count_once_however_many_shells_look_at_them() -> None:
    most = dict(list(THOUSANDS.items())[:9_900])
    line = "; ".join(["env B=1 sh -c 'env C=1 torchrun a.py'"] * 3)
    assert len(find(container(["env", "A=1", "sh", "-c", line], env=most)).invocations) == 3


@pytest.mark.parametrize(
    "line",
    [
        "# all of $@ or $*\n" * 200 + 'torchrun "$@"',
        "cat <<'EOF'\n" + "print('$@')\n" * 200 + 'EOF\ntorchrun "$@"',
        "echo '" + "$@ " * 200 + '\'; torchrun "$@"',
    ],
    ids=["comments", "here-document", "quoted"],
)
def test_arguments_count_where_the_shell_puts_them(line: str) -> None:
    found = find(container(["bash", "-c", line, "bash", *["a.py"] * 90])).invocations
    assert [len(one.arguments) for one in found if one.launcher == "torchrun"] == [89]


def test_programs_behind_programs_are_looked_behind_so_far() -> None:
    """Each looked at all words that were left, so that 500 KB of env took minutes."""
    assert only(find(container(["env"] * 50 + ["torchrun", "a.py"]))).launcher == "torchrun"
    assert only(find(container(["env"] * 51 + ["torchrun", "a.py"]))).launcher == "other"


def test_each_word_that_env_sets_a_variable_with_is_gone_through_once() -> None:
    copied = 0

    class Words(tuple[Word, ...]):
        """Words that count what is copied where a part of them is taken."""

        def __getitem__(self, at: Any) -> Any:
            nonlocal copied
            found = super().__getitem__(at)
            if not isinstance(at, slice):
                return found
            copied += len(found)
            return Words(found)

    words = Words(Word(text) for text in ("env", *(f"A{number}=1" for number in range(500)), "python"))
    inner = wrappers.inner(words)
    assert inner is not None
    assert [word.text for word in inner.words] == ["python"]
    assert len(inner.assigned) == 500
    assert copied < 4 * len(words)
