"""Lines of a script that YAML folded into one, so that a command gets the next one as arguments.

Sources: https://yaml.org/spec/1.2.2/#813-folded-style,
https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_09.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from podplan.core.findings import Path, TextPath, below
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.launchers import exec_form
from podplan.launchers.tokens import tokenize
from podplan.lint.analysis.features import SHELL
from podplan.lint.analysis.processes import programs_of
from podplan.lint.checks.registration import check
from podplan.lint.location import find_source_location
from podplan.lint.target import Target, Violation

_LINE_BREAK = compile_lazily(r"\r\n?|\n")
# Commands that take no other command as an argument.
_TAKES_NONE_TEXT = """
    cd export set source . mkdir pip pip3 conda ls cp mv rm ulimit unset hostname date sleep git apt apt-get
    tar nvidia-smi chmod chown python python3 torchrun wget curl pushd trap umask df free whoami
    unzip rsync ln
"""
_TAKES_NONE = frozenset(_TAKES_NONE_TEXT.split())
# Words that begin a command only at the beginning of a line.
_BEGINS = compile_lazily(
    r"(?:\S*/)?(?:python[0-9.]*|torchrun|deepspeed|mpirun|accelerate|colossalai|bash|exec|cd|export|source"
    r"|mkdir|pip3?|set|nvidia-smi|unset|ulimit|git|rm|cp)(?=\s|$)(?!\s*=)"
)
_TRAINS = frozenset(("python", "python3", "torchrun", "deepspeed", "accelerate"))
_TRAINING_ARGUMENT = compile_lazily(r"\S+\.py|-m|-u|launch|--(?:nproc|standalone|nnodes|num_)\S*")
_CONTROL_WORDS = frozenset(("do", "then", "else", "{", "(", "!", "if", "while", "until", "elif", "time"))
_MAX_LINES = 200  # longest part of a script that is checked, in characters


@check(requires=(SHELL,))
def joined_lines(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A command that gets the command of the next line as arguments. Values: ``first``, ``second``."""
    violations = list(_iter_by_source(target))
    yield from violations or _iter_by_words(target.data)


def _iter_by_words(container: Mapping[str, Any]) -> Iterator[Violation]:
    """Find a training among the arguments of a command, for a text whose lines in the file are unknown."""
    for command, process in programs_of(container):
        if command is None or process.name not in _TAKES_NONE or process.name in _TRAINS:
            continue
        for word, after in pairwise(process.words[1:]):
            if word.base_name in _TRAINS and _TRAINING_ARGUMENT.fullmatch(after.text):
                yield Violation(word.place, {"first": process.name, "second": word.text})
                break


def _iter_by_source(target: Target) -> Iterator[Violation]:
    for line in exec_form.list_exec_commands(target.data):
        shell = exec_form.find_shell_call(line)
        if shell is None:
            continue
        script, path = line.texts[shell.script_index], line.paths[shell.script_index]
        lines = _source_lines(target, below(target.base_path, path))
        at = 0
        for number, text in enumerate(lines[:_MAX_LINES]):
            start = script.find(text, at)
            if start < 0:
                break
            first = _taken_as_argument(script, start, text) if number else ""
            if first:
                values = {"first": first, "second": text.split()[0]}
                above = TextPath(path, (at - len(lines[number - 1]), at))
                related = [(target.doc, below(target.base_path, above), f"{first} takes the next line")]
                yield Violation(TextPath(path, (start, start + len(values["second"]))), values, related)
                break
            at = start + len(text)


def _taken_as_argument(script: str, start: int, text: str) -> str:
    """Return the command that gets the text at an offset as arguments; "" if the text begins a command."""
    before = script[:start].rstrip(" ")
    if not _BEGINS.match(text) or before.endswith("\n") or not before:
        return ""
    tokens, error = tokenize(before)
    if error is not None:
        return ""  # within quotes
    command: list[str] = []
    for token in tokens:
        if token.is_operator and token.text not in ("<", ">", ">>", "<<<"):
            command = []
        elif not (not command and ("=" in token.text or token.text in _CONTROL_WORDS)):
            command.append(token.text)
    name = command[0].rpartition("/")[2] if command else ""
    return name if name in _TAKES_NONE else ""


def _source_lines(target: Target, path: Path) -> list[str]:
    """Return the lines of the file with a text, without blanks; empty if the text is not in one place."""
    found = find_source_location(target.doc, path)
    source = found.steps[-1].doc.source if found is not None else None
    if found is None or source is None or found.location.end_line <= found.location.line:
        return []
    lines = _LINE_BREAK.split(source.text)[found.location.line - 1 : found.location.end_line]
    stripped = [line.strip() for line in lines]
    if stripped[0].lstrip("- ").startswith(("|", ">")) or stripped[0].endswith((">", ">-", ">+")):
        stripped = stripped[1:]
    return [line for line in stripped if line]
