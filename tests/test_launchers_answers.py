"""The grammars of the launchers against the answers of the real ones (see tests/launcher_answers.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from podplan.launchers import accelerate, colossalai, deepspeed, torchrun
from podplan.launchers.argparse import OLD_PYTHON_CONDITION
from podplan.launchers.arguments import CommandLine
from podplan.launchers.words import CommandLineError, Word
from tests.rows import each_row

FROZEN = Path(__file__).parent.parent / "fixtures" / "launchers"
START = Word("launcher", ("command", 0))
Answer = dict[str, Any]


def answers(launcher: str) -> list[Answer]:
    return [json.loads(line) for line in (FROZEN / f"{launcher}.jsonl").open(encoding="utf-8")]


def words(answer: Answer) -> tuple[Word, ...]:
    return tuple(Word(text, ("command", index)) for index, text in enumerate(answer["words"], 1))


def run(line: CommandLine) -> Answer:
    """The script and its arguments as plain text."""
    script = line.script.text if line.script is not None else None
    return {"script": script, "arguments": [word.text for word in line.arguments]}


def named(answer: Answer) -> str:
    return " ".join([*(f"{k}={v}" for k, v in answer["env"].items()), *answer["words"]])


def agrees(answer: Answer, errors: tuple[CommandLineError, ...]) -> bool:
    """Accepted is what has no error that always holds; what is refused has one, whenever it holds."""
    return (
        not [error for error in errors if error.condition in ("", OLD_PYTHON_CONDITION)]
        if answer["accepted"]
        else bool(errors)
    )


def facts(answer: Answer) -> Answer:
    return {key: value for key, value in answer.items() if key not in ("words", "env", "accepted")}


def check_torchrun(answer: Answer) -> None:
    """Our reading of a line of torchrun is that of the real one."""
    found = torchrun.parse_torchrun(words(answer), START, answer["env"])
    assert agrees(answer, found.errors), found.errors
    if "nodes" in answer:
        mine = {
            "nodes": list(found.node_range or ()),
            "processes": found.processes,
            "backend": found.backend,
            "registered": found.backend in torchrun.RENDEZVOUS_BACKENDS,
            "host": found.host,
            "port": found.port,
            "node_rank": found.node_rank,
            "max_restarts": found.max_restarts,
            "standalone": found.standalone,
            "module": found.is_module,
        }
        theirs = facts(answer)
        number = theirs["processes"].replace("_", "")
        assert mine | run(found.command_line) == theirs | {"processes": number}


def check_deepspeed(answer: Answer) -> None:
    """Our reading of a line of deepspeed is that of the real one."""
    found = deepspeed.parse_deepspeed(words(answer), START)
    assert agrees(answer, found.errors), found.errors
    if "nodes" in answer:
        mine = {
            "hostfile": found.hostfile,
            "include": found.command_line.get_value("include", ""),
            "exclude": found.command_line.get_value("exclude", ""),
            "nodes": -1 if found.nodes is None else found.nodes,
            "processes": -1 if found.processes is None else found.processes,
            "master_addr": found.master_addr or "",
            "master_port": found.master_port,
            "launcher": found.launcher,
            "flags": sorted(found.flags),
        }
        assert mine | run(found.command_line) == facts(answer)


@each_row("answer", answers("torchrun"), ids=named)
def test_torchrun(answer: Answer) -> None:
    check_torchrun(answer)


@each_row("answer", answers("deepspeed"), ids=named)
def test_deepspeed(answer: Answer) -> None:
    check_deepspeed(answer)


@each_row("answer", answers("accelerate"), ids=named)
def test_accelerate(answer: Answer) -> None:
    found = accelerate.parse_accelerate(words(answer), START)
    assert agrees(answer, found.errors), found.errors
    if "machines" in answer:
        mine = {
            "processes": found.processes,
            "machines": found.machines,
            "machine_rank": found.machine_rank,
            "main_ip": found.main_ip,
            "main_port": found.main_port,
            "multi_gpu": found.multi_gpu,
            "config_file": found.config_file,
        }
        assert mine | run(found.command_line) == facts(answer)


@each_row("answer", answers("colossalai"), ids=named)
def test_colossalai(answer: Answer) -> None:
    found = colossalai.parse_colossalai(words(answer), START)
    assert agrees(answer, found.errors), found.errors
    if "hosts" in answer and set(answer["hosts"]) <= {"worker-0", "worker-1"}:
        hosts = answer["hosts"]
        mine = colossalai.build_torchrun_words(found, found.extra_pieces, hosts[0], len(hosts), START)
        assert [part for word in mine for part in word.text.split()] == answer["torchrun"]
