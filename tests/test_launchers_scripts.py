"""Words that launchers accept in the place of the script, and options that stand together in one word."""

from __future__ import annotations

import pytest

from podplan.launchers.discovery import find_programs
from podplan.launchers.joined_options import find_unsplit_words
from podplan.launchers.scripts import find_script_error
from tests.containers import container, only

RUN = ["torchrun --nproc_per_node=2", "accelerate launch --num_processes=2", "deepspeed --num_gpus=2"]
PROGRAMS = [
    "python",
    "python3.11",
    "/usr/bin/python",
    "torchrun",
    "bash",
    "sh",
    "env",
    "numactl",
    "uv",
    "run.sh",
]
SCRIPTS = [
    "train.py",
    "scripts/train",
    "train",
    "/opt/bin/torchrun",
    "python.py",
    "time",
    "my train.py",
    "a.zip",
]


def script_fault(words: list[str]) -> str:
    """What is wrong with the script of a command line, "" for nothing."""
    found = only(find_programs(container(words)))
    assert found.parsed is not None
    line = found.parsed.command_line
    assert line.script is not None
    module = "module" in line.options
    fault = find_script_error(found.launcher, line.script, line.arguments, is_module=module)
    return fault.message if fault is not None else ""


@pytest.mark.parametrize("line", RUN)
@pytest.mark.parametrize("word", PROGRAMS)
def test_a_program_is_no_script(line: str, word: str) -> None:
    assert f'treats "{word}" as' in script_fault([*line.split(), word, "train.py"])


@pytest.mark.parametrize("line", RUN)
@pytest.mark.parametrize("word", SCRIPTS)
def test_what_python_can_run_is_a_script(line: str, word: str) -> None:
    assert script_fault([*line.split(), word, "--lr", "1"]) == ""


@pytest.mark.parametrize("line", RUN)
@pytest.mark.parametrize("word", ["train.py --lr 1", "python train.py", "/usr/bin/env python train.py"])
def test_a_script_and_its_arguments_are_words_of_their_own(line: str, word: str) -> None:
    assert script_fault([*line.split(), word]).endswith(f'treats "{word}" as the name of one file')


def test_an_empty_word_is_no_script() -> None:
    assert script_fault(["torchrun", "", "train.py"]) == "torchrun treats an empty word as the script"


@pytest.mark.parametrize("option", ["--module", "-m"])
def test_a_module_is_no_file(option: str) -> None:
    assert script_fault(["torchrun", option, "pkg.train"]) == ""
    said = script_fault(["torchrun", option, "train.py"])
    assert said == 'torchrun -m needs the name of a module, but "train.py" is a file'


@pytest.mark.parametrize(
    ("words", "superfluous"),
    [
        (["torchrun", "python", "train.py"], True),
        (["torchrun", "python", "-m", "pkg"], True),
        (["torchrun", "python", "-u", "train.py"], False),
        (["torchrun", "python"], False),
        (["deepspeed", "python", "-m", "pkg"], False),
        (["torchrun", "bash", "train.py"], False),
    ],
)
def test_a_word_is_superfluous_where_the_line_is_right_without_it(
    words: list[str], superfluous: bool
) -> None:
    found = only(find_programs(container(words)))
    assert found.parsed is not None
    assert found.script is not None
    fault = find_script_error(found.launcher, found.script, found.arguments, is_module=False)
    assert fault is not None
    assert fault.is_superfluous is superfluous


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["torchrun", "--nnodes 2", "train.py"], ["--nnodes 2"]),
        (["torchrun", "--nproc-per-node=2 --nnodes=1", "train.py"], ["--nproc-per-node=2 --nnodes=1"]),
        (["torchrun", "-r 3", "train.py"], ["-r 3"]),
        (["torchrun", "--nnodes 2", "--tee 3", "train.py", "--tee 3"], ["--nnodes 2", "--tee 3"]),
        (["torchrun", "--rdzv_id", "7 --nnodes 2", "train.py"], ["7 --nnodes 2"]),
        (["torchrun", "--nnodes=2 --tee=3 train.py"], ["--nnodes=2 --tee=3 train.py"]),
        (["torchrun", "-m pkg.train"], ["-m pkg.train"]),
        (["torchrun", "--unknown 2", "train.py"], []),
        (["torchrun", "--rdzv_id=a b", "train.py"], []),
        (["torchrun", "train.py", "--nnodes 2"], []),
        (["deepspeed", "--num_gpus 2", "train.py"], ["--num_gpus 2"]),
        (["deepspeed", "--launcher_args", "-x --num_gpus=2", "train.py"], []),
        (["deepspeed", "--launcher_args=-x --num_gpus=2", "train.py"], []),
        (["accelerate", "launch", "--num_processes 2", "train.py"], ["--num_processes 2"]),
        (["colossalai", "run", "--nproc_per_node 2", "train.py"], ["--nproc_per_node 2"]),
        (["mpirun", "-np 4", "python", "train.py"], ["-np 4"]),
        (["mpirun", "--unknown", "4", "bash", "-c", "run -x -n"], []),
        (["horovodrun", "-np 4", "python", "train.py"], ["-np 4"]),
        (["bash", "-c", "torchrun --nnodes 2 train.py"], []),
        (["bash", "-c", "torchrun '--nnodes 2' train.py"], ["--nnodes 2"]),
    ],
)
def test_options_in_one_word(words: list[str], expected: list[str]) -> None:
    found = find_programs(container(words)).invocations[0]
    assert [
        joined.word.text for joined in find_unsplit_words(found.launcher, found.words, found.script)
    ] == expected


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["torchrun", "--lr", "1"], 'torchrun has no option "--lr", and no script precedes it'),
        (
            ["torchrun", "--config", "a.yaml"],
            'torchrun has no option "--config", and no script precedes it',
        ),
        (["torchrun", "--lr=1"], 'torchrun has no option "--lr", and no script precedes it'),
        (["torchrun", "--nproc_per_nodes=2", "train.py"], 'torchrun has no option "--nproc_per_nodes"'),
    ],
)
def test_an_option_of_a_script_that_is_missing(words: list[str], sentence: str) -> None:
    assert [fault.message for fault in only(find_programs(container(words))).errors] == [sentence]
