"""The grammars of mpirun against the answers of the real ones (see tests/mpirun_answers.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from podplan.launchers import mpirun
from podplan.launchers.mpirun_options import INTEL_MPI, MPICH, OPEN_MPI_4, OPEN_MPI_5, MpirunGrammar
from podplan.launchers.words import Word
from tests.rows import each_row

FROZEN = Path(__file__).parent.parent / "fixtures" / "launchers"
GRAMMARS = {"openmpi-4.1": OPEN_MPI_4, "openmpi-5.0": OPEN_MPI_5, "intel": INTEL_MPI, "mpich": MPICH}
# Words with which a line is read, and fails later: for want of a file, a program, a host or a core.
LATER = {
    "missing", "missing-program", "--nolocal", "--nooversubscribe", "eth9", "ppr:1:socket",
    "--preload-binary", "--help", "-h", "-help", "-", "--",
}  # fmt: skip
LATER_OF = {
    "openmpi-4.1": {"HYDRA", "-s"},
    "openmpi-5.0": {"HYDRA"},
    "intel": {"OPENMPI", "--hostfile=OPENMPI", "localhost:2", "-gtool"},
    "mpich": {"OPENMPI", "--hostfile=OPENMPI", "moon", "core:overload-allowed"},
}
NOT_READ = """
--H localhost -np 1 probe --lr 1|--H localhost -np 1 --with-ft no -np 1 probe a:b|probe : -np 1 probe|
probe a : -n 2 probe b||--x ASKED_A=1 -np 1 --mca asked probe a:b|
-np 1 --bind-to none --with-ft no -np 1 probe --bind-to none
"""
# What the grammar does not know of Open MPI 5: two dashes before H, a program without -np beside one with it,
# and --bind-to in the arguments of the program, too; of both releases "probe" as the value of a parameter.
KNOWN_GAPS = {" ".join(line.split()) for line in NOT_READ.strip().replace("|\n", "|").split("|")}


def answers() -> list[tuple[str, dict[str, Any]]]:
    return [
        (name, json.loads(line))
        for name in GRAMMARS
        for line in (FROZEN / f"mpirun-{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]


def parse(grammar: MpirunGrammar, words: list[str]) -> mpirun.LineParser:
    listed = tuple(Word(text, ("command", index)) for index, text in enumerate(words, 1))
    return mpirun.parse_line(grammar, listed, Word("mpirun", ("command", 0)))


def named(row: tuple[str, dict[str, Any]]) -> str:
    return f"{row[0]}: {' '.join(row[1]['words'])}"


def fails_later(name: str, words: list[str]) -> bool:
    return not (LATER | LATER_OF[name]).isdisjoint(words) or " ".join(words) in KNOWN_GAPS


@each_row("row", answers(), ids=named)
def test_mpirun(row: tuple[str, dict[str, Any]]) -> None:
    name, theirs = row
    words = theirs["words"]
    mine = parse(GRAMMARS[name], words)
    if theirs["accepted"] or not fails_later(name, words):
        assert theirs["accepted"] == (not mine.errors) or not words, mine.errors
    if "program" not in theirs or ":" in words or words[0] == "-":
        return
    if mine.count_processes() is not None:
        assert mine.count_processes() == theirs["processes"]
    # Release 5 writes --bind-to anew in the arguments of the program, too.
    program = [word.text for word in mine.program_words]
    assert [word.replace("--bind-to", "--bindto") for word in program] == [
        word.replace("--bind-to", "--bindto") for word in theirs["program"]
    ]
    assert {key for key in theirs["set"] if key.startswith("ASKED")} <= set(mine.exported_variables)


def test_the_answers_are_many_and_both() -> None:
    for name in GRAMMARS:
        accepted = [row["accepted"] for listed, row in answers() if listed == name]
        assert len(accepted) > 300
        assert 100 < sum(accepted) < len(accepted) - 100
