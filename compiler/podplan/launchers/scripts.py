"""Whether Python can run the word that a launcher parses as the script.

A launcher starts ``python SCRIPT`` for any name. Python then fails on a program, on a shell script, and on a
script and its arguments in one word. Measured with torch 2.13 and deepspeed 0.19.
"""

from __future__ import annotations

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import NamedTuple
from podplan.launchers import wrappers
from podplan.launchers.words import Word

_SHELL_PROGRAMS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh"})
# Programs that are no Python files, in any folder.
_BINARY_PROGRAMS = _SHELL_PROGRAMS | {
    "env",
    "nohup",
    "nice",
    "numactl",
    "taskset",
    "timeout",
    "stdbuf",
    "mpirun",
    "mpiexec",
}
# Python can run these files, but only by their path: without one it searches the working directory.
_LAUNCHER_PROGRAMS = frozenset(
    {"torchrun", "deepspeed", "accelerate", "colossalai", "horovodrun", "conda", "uv"}
)
# Wrappers whose names are common words, which a script may have, too.
_COMMON_WORD_WRAPPERS = frozenset({"time", "command", "builtin", "exec"})
_SCRIPT_WITH_ARGUMENTS = compile_lazily(r"(?P<first>\S+)\s+\S")


class ScriptError(NamedTuple):
    """Why Python cannot run a script; with ``is_superfluous`` the line is valid without the word."""

    word: Word
    message: str
    is_superfluous: bool = False


def find_script_error(
    launcher: str, script: Word, following_words: tuple[Word, ...], *, is_module: bool
) -> ScriptError | None:
    """Return why ``script`` in a line of ``launcher`` cannot run; ``following_words`` are the words after it.

    None if Python can run it, as far as its name shows. A word that begins with a dash is an option that the
    launcher did not recognise, and no script.
    """
    text = script.text
    if not script.is_known or text.startswith("-"):
        return None
    if not text.strip():
        return ScriptError(
            script, f"{launcher} treats an empty word as the script", is_superfluous=bool(following_words)
        )
    if is_module:
        if text.endswith(".py"):
            return ScriptError(script, f'{launcher} -m needs the name of a module, but "{text}" is a file')
        return None
    with_arguments = _SCRIPT_WITH_ARGUMENTS.match(text)
    first_part = with_arguments["first"] if with_arguments else text
    if with_arguments and (first_part.endswith(".py") or _is_known_program(first_part)):
        return ScriptError(script, f'{launcher} treats "{text}" as the name of one file')
    if wrappers.is_python(script.base_name):
        module_follows = bool(following_words) and following_words[0].text == "-m" and launcher != "deepspeed"
        is_superfluous = module_follows or (
            bool(following_words) and not following_words[0].text.startswith("-")
        )
        message = f'{launcher} treats "{text}" as the script, but {launcher} already starts Python'
        return ScriptError(script, message, is_superfluous)
    if text in _LAUNCHER_PROGRAMS and text == launcher:
        return ScriptError(script, f'{launcher} treats "{text}" as the script, but it is already running')
    if _is_known_program(text):
        return ScriptError(script, f'{launcher} treats "{text}" as a Python script, but it is a program')
    if text.endswith((".sh", ".bash")):
        return ScriptError(script, f'{launcher} treats "{text}" as a Python script, but it is a shell script')
    return None


def _is_known_program(text: str) -> bool:
    name = text.rpartition("/")[2]
    is_binary = name in _BINARY_PROGRAMS or wrappers.is_python(name)
    return (
        is_binary
        or text in _LAUNCHER_PROGRAMS
        or (text in wrappers.WRAPPERS and text not in _COMMON_WORD_WRAPPERS)
    )
