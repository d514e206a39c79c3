"""Options as the launchers in a container read them, and what they refuse."""

from __future__ import annotations

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podplan.launchers import colossalai
from podplan.launchers.commands import ColossalAICommand, MpirunCommand
from podplan.launchers.discovery import find_programs
from podplan.launchers.words import Word
from tests.containers import container, in_bash


def test_mpirun_and_what_it_starts() -> None:
    command = "mpirun -np 16 --allow-run-as-root -N 8 -x NCCL_DEBUG=INFO -x PATH --hostfile /h -bind-to none"
    found = find_programs(
        container(["sh", "-c", f"{command} --mca btl ^openib,tcp python -u train.py --lr 1"])
    )
    first, second = found.invocations
    facts = first.parsed
    assert isinstance(facts, MpirunCommand)
    assert (facts.processes, facts.per_node, facts.hostfile) == (16, 8, "/h")
    assert (facts.exported_variables, facts.mca_parameters, facts.allows_root) == (
        ("NCCL_DEBUG", "PATH"),
        {"btl": "^openib,tcp"},
        True,
    )
    assert (second.launcher, second.started_by, second.script and second.script.text) == (
        "python",
        "mpirun",
        "train.py",
    )


@pytest.mark.parametrize(
    ("line", "errors"),
    [
        ("mpirun -np 2", ["mpirun needs a program to run"]),
        ("mpirun -np two a", ['-np must be a whole number, not "two"']),
        ("mpirun a -np", []),
        ("mpirun -np", ["-np needs a value"]),
        ("mpirun --surprise x -np 2 a", [
            'neither Open MPI nor Intel MPI nor MPICH has the option "--surprise"']),
        ("mpirun $OPTIONS --surprise x -np 2 a", []),
        ("mpirun -genv A 1 -n 2 a", []),
        ("mpirun -genv A 1 --allow-run-as-root -n 2 a", ['Open MPI 4.1 has no option "-genv"']),
        ("mpiexec.hydra -x A -n 2 a", ['Intel MPI has no option "-x"']),
        ("orterun -ppn 2 a", ['Open MPI 4.1 has no option "-ppn"']),
        ("orterun --mca btl self --mca btl tcp a", ['--mca gives "btl" twice']),
        ("mpirun --mca btl self --mca btl tcp a", ['--mca gives "btl" twice']),
        ("mpirun --mca btl=self a", ['--mca needs the name and the value in two words, not "btl=self"']),
        ("mpirun --np=2 a", []),
        ("orterun --map-by moon a", ['Open MPI 4.1 has no --map-by "moon"']),
        ("mpirun -n 2 a : -n 3 b", []),
        ("mpirun -n 2 a : --surprise b", [
            'neither Open MPI nor Intel MPI nor MPICH has the option "--surprise"']),
        ("horovodrun -np 4 -H h:4 python a.py", []),
        ("horovodrun -np x python a.py", ['-np must be a whole number, not "x"']),
        ("colossalai run --nproc_per_node 8 train", [
            'colossalai run needs a script that ends in .py, not "train"; it exits with 0']),
        ("colossalai run train.py", ["colossalai run needs --nproc_per_node; it exits with 0 without it"]),
        ("colossalai run --nproc_per_node 8 -m pkg.train --x", []),
        ("colossalai run --nproc_per_node 8 --extra_launch_args a=1,b,c=d=e t.py", [
            '--extra_launch_args cannot hold "c=d=e": an item has one "="']),
        ("torchrun --nnodes=2:1 a.py", ['--nnodes "2:1" violates 0 < MIN <= MAX']),
        ("torchrun --rdzv_conf=a=1, a.py", ['--rdzv_conf "a=1," has a pair without a key; write K=V,K=V']),
        (
            "torchrun --nproc 2 a.py",
            ['"--nproc" is an ambiguous abbreviation of --nproc_per_node or --nproc-per-node'],
        ),
        ("torchrun a.py --no 2", ['"--no" is an ambiguous abbreviation of --no_python or --node_rank']),
        ("deepspeed --include a --num_gpus 2 t.py", ["--num_gpus cannot be combined with --include"]),
        ("deepspeed --launcher ssh t.py", [
            '--launcher must be one of pdsh, openmpi, mvapich, slurm, mpich, impi, not "ssh"']),
        ("accelerate launch --cpu --tpu t.py", ["--tpu and --cpu exclude each other"]),
        ("accelerate launch --num_machines 2 t.py", ["--num_machines=2 needs --machine_rank"]),
        ("accelerate launch --num_machines 2 --config_file a.yaml t.py", []),
    ],
)  # fmt: skip
def test_what_launchers_refuse(line: str, errors: list[str]) -> None:
    found = find_programs(container(["bash", "-c", line])).invocations[0]
    assert [fault.message for fault in found.errors] == errors


def test_colossalai_reads_options_behind_the_script() -> None:
    found = in_bash(
        "colossalai run --hostfile /h --nproc_per_node=8 t.py --lr 1 --master_port 1234 -- --host x"
    )
    facts = found.parsed
    assert isinstance(facts, ColossalAICommand)
    assert (facts.hostfile, facts.processes, facts.master_port, facts.hosts) == ("/h", 8, 1234, ())
    assert [word.text for word in found.arguments] == ["--lr", "1", "--host", "x"]


SPELLINGS = ["-H", "-host", "--host", "--hostfile", "--include", "--nproc_per_node", "--ssh-port", "-m"]
TOKENS = [
    *SPELLINGS,
    "--hostfile=/h",
    "--host=",
    "-Hx",
    "-H=x",
    "-lm",
    "-num_layers",
    "--unknown",
    "--x=1",
    "-1",
    "-",
    "--",
    "8",
    "t.py",
]


@given(st.lists(st.sampled_from(TOKENS), max_size=7))
def test_colossalai_reads_as_click_does(words: list[str]) -> None:
    """The documented options, given to the library that ColossalAI reads them with."""
    names = {spelling: name for spelling, name in colossalai.OPTION_NAMES.items() if spelling.startswith("-")}
    params: list[click.Parameter] = [
        click.Option([*(spelling for spelling, to in names.items() if to == name), name])
        for name in dict.fromkeys(names.values())
    ]
    params.append(click.Argument(["rest"], nargs=-1, type=click.UNPROCESSED))
    command = click.Command("run", params=params, context_settings={"ignore_unknown_options": True})
    mine = colossalai.parse_colossalai(tuple(Word(word) for word in words), Word("colossalai"))
    needs = [error for error in mine.errors if error.message.endswith("needs a value")]
    try:
        theirs = command.make_context("run", list(words), resilient_parsing=False).params
    except click.UsageError:
        assert needs
        return
    assert not needs
    assert {k: o.value for k, o in mine.command_line.options.items()} == {
        k: v for k, v in theirs.items() if v is not None and k != "rest"
    }
    script = (mine.command_line.script,) if mine.command_line.script is not None else ()
    assert [word.text for word in (*script, *mine.command_line.arguments)] == list(theirs["rest"])
