"""Programs that run another program: exec, env, time, nohup, timeout, numactl and the like; and python."""

from __future__ import annotations

import shlex

from podplan.core.lazy_regex import pattern
from podplan.core.typing import NamedTuple
from podplan.launchers.words import Word

MAX_WRAPPERS = 50  # before one program
SHELLS = {"sh", "bash", "dash", "ash", "zsh", "ksh"}
# Program -> its options that take a value in a word of their own, and how many words precede the command.
WRAPPERS: dict[str, tuple[str, int]] = {
    "exec": ("-a", 0),
    "command": ("", 0),
    "builtin": ("", 0),
    "time": ("-f -o", 0),
    "nohup": ("", 0),
    "setsid": ("", 0),
    "nice": ("-n --adjustment", 0),
    "ionice": ("-c -n", 0),
    "chrt": ("-T -P -D", 1),
    "timeout": ("-s -k --signal --kill-after", 1),
    "stdbuf": ("-i -o -e", 0),
    "unbuffer": ("", 0),
    "sudo": ("-u -g -h -p -C -r -t -T -U -D -R", 0),
    "gosu": ("", 1),
    "su-exec": ("", 1),
    "setpriv": ("--reuid --regid --groups", 0),
    "chroot": ("", 1),
    "numactl": ("-C -N -m -i -p -w", 0),
    "taskset": ("", 1),
    "tini": ("-p -e", 0),
    "dumb-init": ("-r", 0),
    "catatonit": ("", 0),
    "xvfb-run": ("-e -f -n -p -s -w", 0),
    "strace": ("-e -o -p -s -u -E -P", 0),
    "ddprof": ("", 0),
    "catchsegv": ("", 0),
}
# Program -> the words that come next before the command and its options.
SUBCOMMANDS: dict[str, tuple[str, str]] = {
    "conda": ("run", "-n -p --name --prefix --cwd"),
    "mamba": ("run", "-n -p --name --prefix --cwd"),
    "micromamba": ("run", "-n -p --name --prefix --cwd"),
    "uv": ("run", "--with --python -p --project --directory --extra --group --env-file"),
    "poetry": ("run", ""),
    "pipenv": ("run", ""),
    "pdm": ("run", "-p"),
    "rye": ("run", ""),
    "nsys": ("profile", "-t -o -s -w -y -d -x -f -c --trace --output --sample --duration --capture-range"),
    "pixi": ("run", "-e --environment"),
}
# python -m NAME is the program of that name.
MODULES = {
    "torch.distributed.run": "torchrun",
    "torch.distributed.launcher": "torchrun",
    "torch.distributed.launch": "torch.distributed.launch",
    "accelerate.commands.launch": "accelerate launch",
    "accelerate.commands.accelerate_cli": "accelerate",
    "deepspeed.launcher.runner": "deepspeed",
    "colossalai.cli": "colossalai",
    "horovod.runner": "horovodrun",
    "horovod.runner.launch": "horovodrun",
}
_PYTHON = pattern(r"(python|pypy)[0-9.]*\Z")
_PYTHON_VALUES = ("-W", "-X", "--check-hash-based-pycs")
_ASSIGNMENT = pattern(r"[A-Za-z_][A-Za-z0-9_]*=")


class Inner(NamedTuple):
    """The command that a wrapper runs, and the variables that it sets for it."""

    words: tuple[Word, ...]
    assigned: dict[str, str | None]


class Python(NamedTuple):
    """What python runs: a module, a script, or neither (``-c``, standard input, nothing)."""

    module: Word | None
    script: Word | None
    rest: tuple[Word, ...]


def inner(words: tuple[Word, ...]) -> Inner | None:
    """The command behind a wrapper; None where the first word is none."""
    name = words[0].name
    if name == "env":
        return _env(words[1:])
    if name in WRAPPERS:
        valued, positional = WRAPPERS[name]
        rest = _after_options(words[1:], valued)
        return Inner(rest[positional:], {})
    if name in SUBCOMMANDS:
        subcommand, valued = SUBCOMMANDS[name]
        if len(words) > 1 and words[1].text == subcommand:
            return Inner(_after_options(words[2:], valued), {})
    return None


def python(words: tuple[Word, ...]) -> Python | None:
    """What a call of python runs; None where the first word is not python."""
    if not _PYTHON.match(words[0].name):
        return None
    at = 1
    while at < len(words):
        word = words[at]
        text = word.text
        if text == "--":
            at += 1
            break
        if not text.startswith("-") or text == "-":
            break
        letters = text[1:]
        if text.startswith("--"):
            at += 2 if text in _PYTHON_VALUES else 1
            continue
        stop = next((i for i, letter in enumerate(letters) if letter in "cmWX"), None)
        if stop is None:
            at += 1
            continue
        attached = letters[stop + 1 :]
        if letters[stop] == "m":
            module = (
                word._replace(text=attached) if attached else words[at + 1] if at + 1 < len(words) else None
            )
            return Python(module, None, words[at + (1 if attached else 2) :])
        if letters[stop] == "c":
            return Python(None, None, words[at + (1 if attached else 2) :])
        at += 1 if attached else 2
    script = words[at] if at < len(words) and words[at].text != "-" else None
    return Python(None, script, words[at + 1 :])


def _env(words: tuple[Word, ...]) -> Inner:
    """``env -u A B=c program``, and ``env -S "B=c program"``."""
    rest = _after_options(words, "-u --unset -C --chdir")
    last = words[len(words) - len(rest) - 1].text if len(rest) < len(words) else ""
    if rest and last in ("-S", "--split-string"):
        rest = (*_split(rest[0]), *rest[1:])
    assigned: dict[str, str | None] = {}
    at = 0
    while at < len(rest) and _ASSIGNMENT.match(rest[at].text):
        name, _, value = rest[at].text.partition("=")
        assigned[name] = value if rest[at].known else None
        at += 1
    return Inner(rest[at:], assigned)


def _split(word: Word) -> tuple[Word, ...]:
    """The words of a string that env splits; the string itself where its quotes do not match."""
    try:
        return tuple(word._replace(text=text) for text in shlex.split(word.text))
    except ValueError:
        return (word,)


def _after_options(words: tuple[Word, ...], valued: str) -> tuple[Word, ...]:
    """The words behind the options; ``valued`` are those that take a word of their own."""
    takes = valued.split()
    at = 0
    while at < len(words) and words[at].text.startswith("-") and words[at].text != "-":
        if words[at].text == "--":
            return words[at + 1 :]
        at += 2 if words[at].text in takes else 1
    return words[at:]
