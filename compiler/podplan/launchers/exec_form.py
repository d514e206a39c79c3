"""Command lines as Kubernetes executes them: a list of words for one program, which no shell reads.

Quotes, operators, ``$NAME``, ``~`` and patterns of file names mean something only to a shell, and a shell is
there only where the list starts one. Kubernetes itself replaces ``$(NAME)``: in command, args and values of
env by all variables, in exec probes by those with a literal value, in lifecycle hooks not at all.
Sources: https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/,
https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/ (ExecAction), and the kubelet's
ExpandContainerCommandOnlyStatic and handlerRunner.Run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from podplan.core.findings import Path
from podplan.core.typing import Any, NamedTuple
from podplan.launchers.words import Word
from podplan.launchers.wrappers import MAX_WRAPPERS, SHELLS, WRAPPERS, inner

# Programs that hand their words to a shell on another host or for each line of their input.
_TO_OTHER_SHELLS = "ssh pdsh kubectl oc docker podman parallel xargs watch su runuser srun"
# Launchers that start the workers through ssh, where a shell reads the arguments again.
_OVER_SSH = "deepspeed deepspeed.pt ds colossalai"
# Programs whose arguments are in a language that has $, quotes, patterns or operators of its own.
_OWN_LANGUAGE = """
    awk gawk mawk nawk sed perl ruby node php lua tclsh jq yq envsubst find tmux expr test [ [[ gdb psql mysql
    sqlite3 make cmake ninja supervisord
"""
_READ_AGAIN = frozenset(f"{_TO_OTHER_SHELLS} {_OVER_SSH}".split())
_OF_OWN_LANGUAGE = frozenset(_OWN_LANGUAGE.split())
# Options after which some interpreters expect code, and env a line that it splits.
_CODE_OPTIONS = frozenset(("-c", "-e", "-r", "-E", "-S", "--command", "--eval", "--exec", "--split-string"))

Expansion = str  # "all", "literal" or "none": the variables by which Kubernetes replaces $(NAME)


class Line(NamedTuple):
    """A list of words that Kubernetes executes, each with its path below the container.

    ``expansion`` tells which variables Kubernetes replaces in it. Without ``has_program`` the image chooses
    the program.
    """

    texts: tuple[str, ...]
    paths: tuple[Path, ...]
    expansion: Expansion = "all"
    has_program: bool = True


class Shell(NamedTuple):
    """A shell that a line starts with ``-c``: the numbers of its word, of its script and of what follows."""

    at: int
    script: int
    rest: int

    def name(self, line: Line) -> str:
        return line.texts[self.at].rpartition("/")[2]


def lines(container: Mapping[str, Any]) -> list[Line]:
    """The command of a container with its args, and those of its exec probes and lifecycle hooks."""
    command, args = _words(container, ("command",)), _words(container, ("args",))
    found = [_line([*command, *args], "all", has_program=bool(command))] if command or args else []
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        words = _words(container, (probe, "exec", "command"))
        found += [_line(words, "literal")] if words else []
    for hook in ("postStart", "preStop"):
        words = _words(container, ("lifecycle", hook, "exec", "command"))
        found += [_line(words, "none")] if words else []
    return found


def _line(words: Sequence[tuple[str, Path]], expansion: Expansion, *, has_program: bool = True) -> Line:
    texts, paths = zip(*words, strict=True)
    return Line(texts, paths, expansion, has_program)


def _words(container: Mapping[str, Any], path: Path) -> list[tuple[str, Path]]:
    value: Any = container
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    listed = value if isinstance(value, list) else ()
    return [(text, (*path, at)) for at, text in enumerate(listed) if isinstance(text, str)]


def shell(line: Line) -> Shell | None:
    """The shell that reads a word of the line as a script, wherever in the line it is started."""
    texts = line.texts
    for at, text in enumerate(texts):
        if text.rpartition("/")[2] not in SHELLS:
            continue
        script, takes_script = _after_options(texts, at + 1)
        if takes_script and script < len(texts):
            return Shell(at, script, script + 1)
    return None


def _after_options(texts: Sequence[str], at: int) -> tuple[int, bool]:
    """The number of the first word behind the options of a shell, and whether ``-c`` is among them."""
    takes_script = False
    while at < len(texts) and texts[at][:1] in ("-", "+") and len(texts[at]) > 1 and " " not in texts[at]:
        text, at = texts[at], at + 1
        if text == "--":
            break
        if text.startswith("--"):
            at += text in ("--rcfile", "--init-file")
            continue
        takes_script = takes_script or "c" in text[1:]
        at += text[1:].count("o") + text[1:].count("O")
    return at, takes_script


def program(line: Line) -> str:
    """What the line starts, as people call it."""
    if not line.has_program:
        return "the entrypoint of the image"
    first = next((text.split() for text in line.texts if text.strip()), ["the program"])[0]
    return first.rpartition("/")[2] or first


def literal_words(line: Line) -> Iterator[int]:
    """The numbers of the words that a program gets as they are, and that should mean what they say.

    Left out are scripts of shells with what follows them, code for other interpreters, and the arguments of
    programs with a language of their own or with a shell on the other side.
    """
    texts = line.texts
    started = shell(line)
    end = started.at if started is not None else len(texts)
    first = _first_program(texts)
    for at, text in enumerate(texts[:end]):
        name = text.rpartition("/")[2]
        if name in _READ_AGAIN or (at == first and name in _OF_OWN_LANGUAGE):
            yield at
            return
        if at and texts[at - 1] in _CODE_OPTIONS and any(blank in text for blank in " \n;("):
            continue
        yield at


def _first_program(texts: Sequence[str]) -> int:
    """The number of the first word that is no wrapper and none of its options and values."""
    for at, text in enumerate(texts):
        wraps = text.rpartition("/")[2] in WRAPPERS or text.startswith("-") or "=" in text
        if not (wraps or text.isdecimal()):
            return at
    return len(texts)


def program_word(line: Line) -> int | None:
    """The number of the word that names the program, behind wrappers; None where the line has none."""
    if not line.has_program:
        return None
    words = tuple(Word(text, start=at) for at, text in enumerate(line.texts))
    for _ in range(MAX_WRAPPERS):
        within = inner(words) if words else None
        if within is None:
            break
        words = within.words
    return words[0].start if words and words[0].text == line.texts[words[0].start] else None
