"""What Python makes of the word that a launcher takes for the script.

A launcher starts ``python SCRIPT`` whatever the name is. Python then fails on a program, on a shell script,
and on a script and its arguments in one word. Measured with torch 2.13 and deepspeed 0.19.
"""

from __future__ import annotations

from podplan.core.lazy_regex import pattern
from podplan.core.typing import NamedTuple
from podplan.launchers import wrappers
from podplan.launchers.words import Word

_PYTHON = pattern(r"(?:python|pypy)[0-9.]*\Z")
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh"})
# Programs that are no Python files, wherever they are.
_BINARIES = _SHELLS | {"env", "nohup", "nice", "numactl", "taskset", "timeout", "stdbuf", "mpirun", "mpiexec"}
# Python can run these files, but only by their path: without one it looks in the working directory.
_LAUNCHERS = frozenset({"torchrun", "deepspeed", "accelerate", "colossalai", "horovodrun", "conda", "uv"})
# Wrappers whose names are common words: a script may be called so.
_COMMON_WORDS = frozenset({"time", "command", "builtin", "exec"})
_WITH_ARGUMENTS = pattern(r"(?P<first>\S+)\s+\S")


class ScriptFault(NamedTuple):
    """Why Python cannot run a script; ``superfluous`` where the line is right without the word."""

    word: Word
    sentence: str
    superfluous: bool = False


def find_script_fault(by: str, script: Word, after: tuple[Word, ...], *, module: bool) -> ScriptFault | None:
    """What is wrong with the ``script`` of a line of ``by``; ``after`` are the words behind it.

    None where Python can run it, as far as its name tells. A word that begins with a dash is an option that
    its launcher did not recognise, and no script.
    """
    text = script.text
    if not script.known or text.startswith("-"):
        return None
    if not text.strip():
        return ScriptFault(script, f"{by} takes an empty word for the script", superfluous=bool(after))
    if module:
        if text.endswith(".py"):
            return ScriptFault(script, f'{by} -m takes the name of a module, and "{text}" is a file')
        return None
    with_arguments = _WITH_ARGUMENTS.match(text)
    first = with_arguments["first"] if with_arguments else text
    if with_arguments and (first.endswith(".py") or _is_program(first)):
        return ScriptFault(script, f'{by} takes all of "{text}" for the name of one file')
    if _PYTHON.match(script.name):
        module_follows = bool(after) and after[0].text == "-m" and by != "deepspeed"
        superfluous = module_follows or (bool(after) and not after[0].text.startswith("-"))
        sentence = f'{by} takes "{text}" for the script; {by} starts Python itself'
        return ScriptFault(script, sentence, superfluous)
    if text in _LAUNCHERS and text == by:
        return ScriptFault(script, f'{by} takes "{text}" for the script; it is started already')
    if _is_program(text):
        return ScriptFault(script, f'{by} takes "{text}" for a Python script, and it is a program')
    if text.endswith((".sh", ".bash")):
        return ScriptFault(script, f'{by} takes "{text}" for a Python script, and it is a shell script')
    return None


def _is_program(text: str) -> bool:
    name = text.rpartition("/")[2]
    known = name in _BINARIES or bool(_PYTHON.match(name))
    return known or text in _LAUNCHERS or (text in wrappers.WRAPPERS and text not in _COMMON_WORDS)
