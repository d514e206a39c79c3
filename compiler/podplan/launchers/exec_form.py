"""Command lines as Kubernetes executes them: a list of words for one program, without a shell.

Quotes, operators, ``$NAME``, ``~`` and file patterns have a meaning only in a shell, which runs only if the
list starts one. Kubernetes expands ``$(NAME)`` itself: in command, args and values of env by all variables,
in exec probes by those with a literal value, in lifecycle hooks not at all. Sources:
https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/,
https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/ (ExecAction), and the kubelet's
ExpandContainerCommandOnlyStatic and handlerRunner.Run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from podplan.core.findings import Path
from podplan.core.typing import Any, NamedTuple
from podplan.launchers.words import Word
from podplan.launchers.wrappers import MAX_WRAPPERS, SHELL_PROGRAMS, WRAPPERS, unwrap_command

# Programs that pass their words to a shell on another host, or for each line of their input.
_REMOTE_SHELL_PROGRAMS = "ssh pdsh kubectl oc docker podman parallel xargs watch su runuser srun"
# Launchers that start the workers over ssh, where a shell parses the arguments again.
_SSH_LAUNCHERS = "deepspeed deepspeed.pt ds colossalai"
# Programs whose arguments are in a language with $, quotes, patterns or operators.
_OWN_LANGUAGE_TEXT = """
    awk gawk mawk nawk sed perl ruby node php lua tclsh jq yq envsubst find tmux expr test [ [[ gdb psql mysql
    sqlite3 make cmake ninja supervisord
"""
_RESPLITTING_PROGRAMS = frozenset(f"{_REMOTE_SHELL_PROGRAMS} {_SSH_LAUNCHERS}".split())
_OWN_LANGUAGE_PROGRAMS = frozenset(_OWN_LANGUAGE_TEXT.split())
# Options after which some interpreters expect code, and env a string that it splits.
_CODE_OPTIONS = frozenset(("-c", "-e", "-r", "-E", "-S", "--command", "--eval", "--exec", "--split-string"))

ExpansionMode = str  # "all", "literal" or "none": the variables that Kubernetes expands as $(NAME)


class ExecCommand(NamedTuple):
    """A list of words that Kubernetes executes, each with its path below the container.

    ``expansion`` states which variables Kubernetes expands. Without ``has_program`` the image defines the
    program.
    """

    texts: tuple[str, ...]
    paths: tuple[Path, ...]
    expansion: ExpansionMode = "all"
    has_program: bool = True


class ShellCall(NamedTuple):
    """A shell that a line starts with ``-c``: the indexes of the shell, of its script and of the words
    after it."""

    program_index: int
    script_index: int
    rest_index: int

    def get_program_name(self, exec_command: ExecCommand) -> str:
        return exec_command.texts[self.program_index].rpartition("/")[2]


def list_exec_commands(container: Mapping[str, Any]) -> list[ExecCommand]:
    """Return the command of a container with its args, and those of its exec probes and lifecycle hooks."""
    command, args = _list_words(container, ("command",)), _list_words(container, ("args",))
    exec_commands = (
        [_build_exec_command([*command, *args], "all", has_program=bool(command))] if command or args else []
    )
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        words = _list_words(container, (probe, "exec", "command"))
        exec_commands += [_build_exec_command(words, "literal")] if words else []
    for hook in ("postStart", "preStop"):
        words = _list_words(container, ("lifecycle", hook, "exec", "command"))
        exec_commands += [_build_exec_command(words, "none")] if words else []
    return exec_commands


def _build_exec_command(
    words: Sequence[tuple[str, Path]], expansion: ExpansionMode, *, has_program: bool = True
) -> ExecCommand:
    texts, paths = zip(*words, strict=True)
    return ExecCommand(texts, paths, expansion, has_program)


def _list_words(container: Mapping[str, Any], path: Path) -> list[tuple[str, Path]]:
    value: Any = container
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    value_list = value if isinstance(value, list) else ()
    return [(text, (*path, at)) for at, text in enumerate(value_list) if isinstance(text, str)]


def find_shell_call(exec_command: ExecCommand) -> ShellCall | None:
    """Return the shell that runs a word of the line as a script, wherever in the line it starts."""
    texts = exec_command.texts
    for index, text in enumerate(texts):
        if text.rpartition("/")[2] not in SHELL_PROGRAMS:
            continue
        script_index, takes_script = _skip_shell_options(texts, index + 1)
        if takes_script and script_index < len(texts):
            return ShellCall(index, script_index, script_index + 1)
    return None


def _skip_shell_options(texts: Sequence[str], index: int) -> tuple[int, bool]:
    """Return the index of the first word after the options of a shell, and whether ``-c`` is among them."""
    takes_script = False
    while (
        index < len(texts)
        and texts[index][:1] in ("-", "+")
        and len(texts[index]) > 1
        and " " not in texts[index]
    ):
        text, index = texts[index], index + 1
        if text == "--":
            break
        if text.startswith("--"):
            index += text in ("--rcfile", "--init-file")
            continue
        takes_script = takes_script or "c" in text[1:]
        index += text[1:].count("o") + text[1:].count("O")
    return index, takes_script


def describe_program(exec_command: ExecCommand) -> str:
    """Return the name of the program that the line starts, for messages."""
    if not exec_command.has_program:
        return "the entrypoint of the image"
    first_word = next((text.split() for text in exec_command.texts if text.strip()), ["the program"])[0]
    return first_word.rpartition("/")[2] or first_word


def iter_literal_words(exec_command: ExecCommand) -> Iterator[int]:
    """Yield the indexes of the words that a program receives literally, and that should be meant so.

    Excluded are scripts of shells with the words after them, code for other interpreters, and the arguments
    of programs with their own language or with a remote shell.
    """
    texts = exec_command.texts
    shell_call = find_shell_call(exec_command)
    end = shell_call.program_index if shell_call is not None else len(texts)
    program_index = _find_first_program(texts)
    for index, text in enumerate(texts[:end]):
        name = text.rpartition("/")[2]
        if name in _RESPLITTING_PROGRAMS or (index == program_index and name in _OWN_LANGUAGE_PROGRAMS):
            yield index
            return
        if index and texts[index - 1] in _CODE_OPTIONS and any(blank in text for blank in " \n;("):
            continue
        yield index


def _find_first_program(texts: Sequence[str]) -> int:
    """Return the index of the first word that is neither a wrapper nor one of its options and values."""
    for index, text in enumerate(texts):
        is_wrapper_word = text.rpartition("/")[2] in WRAPPERS or text.startswith("-") or "=" in text
        if not (is_wrapper_word or text.isdecimal()):
            return index
    return len(texts)


def find_program_word(exec_command: ExecCommand) -> int | None:
    """Return the index of the word that names the program, after wrappers; None if there is none."""
    if not exec_command.has_program:
        return None
    words = tuple(Word(text, start=at) for at, text in enumerate(exec_command.texts))
    for _ in range(MAX_WRAPPERS):
        wrapped = unwrap_command(words) if words else None
        if wrapped is None:
            break
        words = wrapped.words
    return words[0].start if words and words[0].text == exec_command.texts[words[0].start] else None
