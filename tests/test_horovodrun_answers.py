"""horovodrun against the answers of the real one (see tests/horovodrun_answers.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from podplan.launchers.horovodrun import parse_horovodrun
from podplan.launchers.words import Word
from tests.rows import each_row

FROZEN = Path(__file__).parent.parent / "fixtures" / "launchers" / "horovodrun.jsonl"
# Words with which a line is read, and fails later: for want of a file, of slots in it, of LSF.
LATER = {"missing", "NOSLOTS", "HYDRA", "--jsrun"}


def answers() -> list[dict[str, Any]]:
    return [json.loads(line) for line in FROZEN.read_text(encoding="utf-8").splitlines()]


def named(answer: dict[str, Any]) -> str:
    return " ".join(answer["words"])


@each_row("theirs", answers(), ids=named)
def test_horovodrun(theirs: dict[str, Any]) -> None:
    words = tuple(Word(text, ("command", index)) for index, text in enumerate(theirs["words"], 1))
    mine = parse_horovodrun(words, Word("horovodrun", ("command", 0)))
    if theirs["accepted"]:
        assert not mine.errors or theirs.get("program") == []
    elif LATER.isdisjoint(theirs["words"]) and mine.hostfile != "python" and not lacks_slots(theirs["words"]):
        assert mine.errors
    if not theirs.get("program"):
        return
    controller = "elastic" if mine.is_elastic else "gloo" if mine.is_gloo else "mpi"
    assert (controller, mine.processes) == (theirs["controller"], theirs["processes"])
    mine_program = [word.text for word in mine.program_words if word.text != "--"]
    assert mine_program == [word for word in theirs["program"] if word != "--"]


def lacks_slots(words: list[str]) -> bool:
    """Whether Gloo refuses the line because of the number of slots, which is a finding and no error."""
    return "--gloo" in words and words[1] in ("4", "8")


@each_row("theirs", [one for one in answers() if one.get("program") and "mpirun" in one], ids=named)
def test_the_line_of_mpirun(theirs: dict[str, Any]) -> None:
    words = tuple(Word(text, ("command", index)) for index, text in enumerate(theirs["words"], 1))
    command = parse_horovodrun(words, Word("horovodrun", ("command", 0)))
    mine = [word.text for word in command.mpirun_words]
    their_line = [*theirs["mpirun"], *theirs["program"]]
    options = mine[: len(mine) - len(command.program_words)]
    # Their shell splits hosts with a blank, and they read the hostfile.
    assert set(options) - set(their_line) <= {"a:2, b:2", "--hostfile", "HOSTS"}
    assert options[:4] == their_line[:4]
    if command.command_line.options.keys() <= {"num_proc", "hosts"} and command.hosts != "a:2, b:2":
        assert options == their_line[: len(options)]
        assert their_line[len(options)] == "-mca"  # and btl_tcp_if_include


def test_the_answers_are_many_and_both() -> None:
    accepted = [answer["accepted"] for answer in answers()]
    assert len(accepted) > 500
    assert 200 < sum(accepted) < len(accepted) - 200
