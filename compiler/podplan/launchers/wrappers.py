"""Programs that run another program: exec, env, time, nohup, timeout, numactl and so on; and python."""

from __future__ import annotations

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import NamedTuple
from podplan.launchers.words import Word

MAX_WRAPPERS = 50  # before one program
SHELL_PROGRAMS = {"sh", "bash", "dash", "ash", "zsh", "ksh"}
# Program -> its options with a separate value, and the number of words before the command.
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
# Program -> the words that precede the command, and its options.
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
# ``python -m NAME`` runs the launcher of that name.
LAUNCHER_MODULES = {
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
# Scripts of an image that prepare something and then run their arguments, as entrypoints do.
_ENTRYPOINT_PATTERN = compile_lazily(
    r"(?:[\w.-]*[-_.])?(?:entry-?point|wait|init|setup|prepare|wrapper|wrap|then|with|exec|start|run)"
    r"(?:[-_.][\w.-]*)?"
)
_BEHIND_ENTRYPOINTS = frozenset(("torchrun", "deepspeed", "horovodrun", "mpirun", "mpiexec", "colossalai"))
_PYTHON_VALUE_OPTIONS = ("-W", "-X", "--check-hash-based-pycs")
_ASSIGNMENT_PATTERN = compile_lazily(r"[A-Za-z_][A-Za-z0-9_]*=")


class WrappedCommand(NamedTuple):
    """The command that a wrapper runs, and the variables that it sets for it."""

    words: tuple[Word, ...]
    variables: dict[str, str | None]


class PythonCall(NamedTuple):
    """What python runs: a module, a script, or neither (``-c``, standard input, nothing)."""

    module: Word | None
    script: Word | None
    rest: tuple[Word, ...]


def unwrap_command(words: tuple[Word, ...]) -> WrappedCommand | None:
    """Return the command after a wrapper; None if the first word is no wrapper."""
    name = words[0].base_name
    if name == "env":
        return _unwrap_env(words[1:])
    if name == "command" and any(word.text in ("-v", "-V", "-pv") for word in words[1:2]):
        return None  # it prints the path of the command
    if name in WRAPPERS:
        value_options, positional_count = WRAPPERS[name]
        rest = _skip_options(words[1:], value_options)
        return WrappedCommand(rest[positional_count:], {})
    if name in SUBCOMMANDS:
        subcommand, value_options = SUBCOMMANDS[name]
        if len(words) > 1 and words[1].text == subcommand:
            return WrappedCommand(_skip_options(words[2:], value_options), {})
    is_followed = len(words) > 1 and words[1].base_name in _BEHIND_ENTRYPOINTS
    if is_followed and words[0].text.startswith(("/", "./")) and _ENTRYPOINT_PATTERN.fullmatch(name):
        return WrappedCommand(words[1:], {})
    return None


def is_python(program: str) -> bool:
    """Whether a program is python or pypy, of any version."""
    return program.rstrip("0123456789.") in ("python", "pypy")


def parse_python_call(words: tuple[Word, ...]) -> PythonCall | None:
    """Parse a call of python; None if the first word is not python."""
    if not is_python(words[0].base_name):
        return None
    index = 1
    while index < len(words):
        word = words[index]
        text = word.text
        if text == "--":
            index += 1
            break
        if not text.startswith("-") or text == "-":
            break
        letters = text[1:]
        if text.startswith("--"):
            index += 2 if text in _PYTHON_VALUE_OPTIONS else 1
            continue
        deciding_index = next((i for i, letter in enumerate(letters) if letter in "cmWX"), None)
        if deciding_index is None:
            index += 1
            continue
        attached_value = letters[deciding_index + 1 :]
        if letters[deciding_index] == "m":
            module = (
                word._replace(text=attached_value)
                if attached_value
                else words[index + 1]
                if index + 1 < len(words)
                else None
            )
            return PythonCall(module, None, words[index + (1 if attached_value else 2) :])
        if letters[deciding_index] == "c":
            return PythonCall(None, None, words[index + (1 if attached_value else 2) :])
        index += 1 if attached_value else 2
    script = words[index] if index < len(words) and words[index].text != "-" else None
    return PythonCall(None, script, words[index + 1 :])


def _unwrap_env(words: tuple[Word, ...]) -> WrappedCommand:
    """Unwrap ``env -u A B=c program``, and ``env -S "B=c program"``."""
    remaining_words = _skip_options(words, "-u --unset -C --chdir")
    last_option = (
        words[len(words) - len(remaining_words) - 1].text if len(remaining_words) < len(words) else ""
    )
    if remaining_words and last_option in ("-S", "--split-string"):
        remaining_words = (*_split_env_string(remaining_words[0]), *remaining_words[1:])
    variables: dict[str, str | None] = {}
    index = 0
    while index < len(remaining_words) and _ASSIGNMENT_PATTERN.match(remaining_words[index].text):
        name, _, value = remaining_words[index].text.partition("=")
        variables[name] = value if remaining_words[index].is_known else None
        index += 1
    return WrappedCommand(remaining_words[index:], variables)


def _split_env_string(word: Word) -> tuple[Word, ...]:
    """Return the words of a string that env splits; the string itself if its quotes are unbalanced."""
    from shlex import split

    try:
        return tuple(word._replace(text=text) for text in split(word.text))
    except ValueError:
        return (word,)


def _skip_options(words: tuple[Word, ...], value_options: str) -> tuple[Word, ...]:
    """Return the words after the options; ``value_options`` are those with a separate value."""
    option_names = value_options.split()
    index = 0
    while index < len(words) and words[index].text.startswith("-") and words[index].text != "-":
        if words[index].text == "--":
            return words[index + 1 :]
        index += 2 if words[index].text in option_names else 1
    return words[index:]
