"""The launchers that a container starts, found in its command and args and in the shell strings there.

The way of a word: the kubelet replaces ``$(NAME)`` (kubelet.py), a shell splits its string into commands
(shell.py), wrappers and python are looked behind (wrappers.py), and the launcher's grammar reads the rest.
Words that a shell makes may be read by another one, so all that a container has are counted together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.limits import MAX_COMMAND_TEXT, MAX_COMMAND_WORDS, BoundExceeded, beyond
from podplan.core.typing import Any, NamedTuple
from podplan.launchers import (
    accelerate,
    colossalai,
    deepspeed,
    horovodrun,
    kubelet,
    mpirun,
    torchrun,
    wrappers,
)
from podplan.launchers.arguments import Line, Option
from podplan.launchers.words import Fault, Variables, Word
from podplan.launchers.wrappers import MAX_WRAPPERS, SHELLS

MAX_DEPTH = 4  # of sh -c in sh -c, and of programs that start programs
MAX_INVOCATIONS = 200

# Programs that train nothing and start nothing: nobody has to look behind them.
_HARMLESS = """
    [ [[ . : alias apk apt apt-get awk cat cd chmod chown clear conda cp curl cut date declare df dnf du echo
    exit export false find free getopts git grep head hostname id ip kill ldconfig let ln local ls mamba
    mapfile mkdir mount mv nc nproc nslookup nvidia-smi ping pip pip3 popd printenv printf ps pushd pwd read
    readarray readonly return rm sed service set shift shopt sleep sort source ssh-keygen sshd stat tail tar
    tee test touch tr trap true typeset ulimit umask uname unset unzip wait wc wget which whoami yum
"""
HARMLESS = frozenset(_HARMLESS.split())
OTHER_NAMES = {"deepspeed.pt": "deepspeed", "ds": "deepspeed", "mpiexec": "mpirun", "orterun": "mpirun"}

Facts = (
    torchrun.Torchrun
    | deepspeed.DeepSpeed
    | accelerate.Accelerate
    | mpirun.Mpirun
    | colossalai.ColossalAI
    | horovodrun.Horovodrun
)


class Invocation(NamedTuple):
    """A program that a container starts.

    ``launcher`` is ``torchrun``, ``torch.distributed.launch``, ``accelerate``, ``deepspeed``, ``mpirun``,
    ``horovodrun`` or ``colossalai``; ``python`` for a script, module or ``-c`` that python runs alone;
    ``script`` for a shell script that nobody can look into; ``other`` for any other program. ``word`` names
    it.

    ``facts`` is what the launcher's grammar reads, None for the last three. ``variables`` are those of its
    environment. ``conditional``: it may run never, or more than once. ``before`` and ``after`` are the shell
    operators around it. ``under`` is the launcher that starts it, as mpirun does. Where the container has no
    command the image's own is ``assumed`` to run the args.
    """

    launcher: str
    word: Word
    words: tuple[Word, ...]
    facts: Facts | None
    script: Word | None
    arguments: tuple[Word, ...]
    variables: Variables
    conditional: bool = False
    before: str = ""
    after: str = ""
    under: str = ""
    assumed: bool = False

    @property
    def path(self) -> Path:
        return self.word.path

    @property
    def options(self) -> dict[str, Option]:
        """The options on the line, by name."""
        return self.facts.line.options if self.facts is not None else {}

    @property
    def errors(self) -> tuple[Fault, ...]:
        """What the launcher refuses."""
        return self.facts.errors if self.facts is not None else ()


class Found(NamedTuple):
    """The programs that a container starts in order, and the strings that no shell can read."""

    invocations: tuple[Invocation, ...]
    faults: tuple[Fault, ...]


class _Around(NamedTuple):
    """What an invocation inherits from where it was found."""

    variables: Variables
    conditional: bool = False
    before: str = ""
    after: str = ""
    under: str = ""
    assumed: bool = False
    depth: int = 0


class _Container:
    """What grows while a container is looked at, and how much it may still grow."""

    def __init__(self, container: Mapping[str, Any], variables: int) -> None:
        self.name = container.get("name")
        self.variables = variables  # that nothing has copied yet
        self.expanded: dict[Path, kubelet.Expanded] = {}
        self.faults: list[Fault] = []
        self.words = MAX_COMMAND_WORDS
        self.text = MAX_COMMAND_TEXT

    def count(self, words: int, text: int) -> None:
        """So many more words and characters. Raises BoundExceeded."""
        self.words -= words
        self.text -= text
        if self.words < 0:
            raise self._beyond("command-words", f"{MAX_COMMAND_WORDS:,} words")
        if self.text < 0:
            raise self._beyond("command-text", f"{MAX_COMMAND_TEXT:,} characters")

    def count_variables(self) -> None:
        """The variables, once: what sets one more copies all of them. Raises BoundExceeded."""
        self.count(self.variables, 0)
        self.variables = 0

    def _beyond(self, limit: str, most: str) -> BoundExceeded:
        named = f'container "{self.name}"' if isinstance(self.name, str) else "a container"
        message = f"the commands and variables of {named} have more than {most}"
        return BoundExceeded(beyond(limit, f"{message}; put them into a file that the program reads"))


def find(container: Mapping[str, Any]) -> Found:
    """The programs that a container starts: ``command``, ``args``, ``env`` and ``envFrom`` are looked at.

    Paths are those of the container: ``("args", 2)``. Odd values are passed over. Raises BoundExceeded.
    """
    variables = kubelet.environment(container)
    complete = not container.get("envFrom")
    words: list[Word] = []
    looked = _Container(container, len(variables))
    for key in ("command", "args"):
        listed = container.get(key)
        for index, text in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(text, str):
                made = kubelet.expand(text, variables, complete=complete)
                looked.count(1, len(made.text))
                looked.expanded[key, index] = made
                words.append(Word(made.text, (key, index), 0, len(text), made.known))
    around = _Around(variables, assumed=not container.get("command"))
    found: list[Invocation] = []
    for invocation in _command(tuple(words), around, looked):
        if len(found) >= MAX_INVOCATIONS:
            break
        found.append(invocation)
    return Found(tuple(found), tuple(looked.faults))


def _command(words: tuple[Word, ...], around: _Around, looked: _Container) -> Iterator[Invocation]:
    """The programs that one command line starts."""
    for _ in range(MAX_WRAPPERS):
        inner = wrappers.inner(words) if words else None
        if inner is None:
            break
        words = inner.words
        if inner.assigned:
            looked.count_variables()
            around = around._replace(variables={**around.variables, **inner.assigned})
    if not words or around.depth > MAX_DEPTH:
        return
    first = words[0]
    if first.name in SHELLS:
        yield from _shell(words, around, looked)
        return
    launcher, start, rest = _named(words)
    if launcher == "other" and first.known and first.name in HARMLESS:
        return
    facts = _facts(launcher, start, rest, around.variables)
    script, arguments = _script(facts, start, rest, launcher)
    yield Invocation(launcher, start, rest, facts, script, arguments, *around[:-1])
    if isinstance(facts, mpirun.Mpirun | horovodrun.Horovodrun):
        yield from _command(facts.rest, around._replace(under=launcher, depth=around.depth + 1), looked)


def _named(words: tuple[Word, ...]) -> tuple[str, Word, tuple[Word, ...]]:
    """The launcher that the words name, the word that does, and what follows."""
    first, rest = words[0], words[1:]
    started = wrappers.python(words)
    if started is not None:
        if started.module is None:
            return "python", first, rest
        name, first, rest = wrappers.MODULES.get(started.module.text, ""), started.module, started.rest
        if not name:
            return "python", words[0], words[1:]
    else:
        name = first.name.removesuffix(".hydra")
        name = OTHER_NAMES.get(name, name)
    if name in ("torchrun", "torch.distributed.launch", "deepspeed", "mpirun", "horovodrun"):
        return name, first, rest
    if name == "accelerate launch" or (name == "accelerate" and rest and rest[0].text == "launch"):
        return "accelerate", first, rest[0 if name == "accelerate launch" else 1 :]
    if name == "accelerate-launch":
        return "accelerate", first, rest
    if name == "colossalai" and rest and rest[0].text == "run":
        return "colossalai", first, rest[1:]
    return ("script" if name.endswith(".sh") else "other"), first, rest


def _facts(launcher: str, start: Word, rest: tuple[Word, ...], variables: Variables) -> Facts | None:
    if launcher == "torchrun":
        return torchrun.read(rest, start, variables)
    if launcher == "torch.distributed.launch":
        return torchrun.read(rest, start, variables, torchrun.LAUNCH)
    if launcher == "mpirun":
        return mpirun.read(rest, start, variables)
    if launcher == "deepspeed":
        return deepspeed.read(rest, start)
    if launcher == "accelerate":
        return accelerate.read(rest, start)
    if launcher == "horovodrun":
        return horovodrun.read(rest, start)
    return colossalai.read(rest, start) if launcher == "colossalai" else None


def _script(
    facts: Facts | None, start: Word, rest: tuple[Word, ...], launcher: str
) -> tuple[Word | None, tuple[Word, ...]]:
    if facts is not None:
        line: Line = facts.line
        return line.script, line.arguments
    started = wrappers.python((start, *rest)) if launcher == "python" else None
    if started is None:
        return None, rest
    return started.script or started.module, started.rest


def _shell(words: tuple[Word, ...], around: _Around, looked: _Container) -> Iterator[Invocation]:
    """``sh -c STRING``, or a shell script."""
    at, string = 1, False
    while at < len(words) and words[at].text[:1] in ("-", "+") and len(words[at].text) > 1:
        text = words[at].text
        at += 1
        if text.startswith("--"):
            at += text in ("--rcfile", "--init-file")
            continue
        string = string or "c" in text[1:]
        at += text[1:].count("o") + text[1:].count("O")
    if at >= len(words):
        return
    if not string:
        yield Invocation("script", words[0], words[1:], None, words[at], words[at + 1 :], *around[:-1])
        return
    line, given = words[at], words[at + 1 :]
    name = given[0] if given else words[0]
    looked.count_variables()
    looked.count(0, len(line.text))
    from podplan.launchers import shell

    read = shell.script(
        line.text, around.variables, (name, *given[1:]), bash=words[0].name not in ("sh", "dash", "ash")
    )
    made = looked.expanded.get(line.path)
    if read.fault is not None and line.known:
        looked.faults.append(
            Fault(kubelet.placed(_at(line, read.fault.offset), line, made), read.fault.sentence)
        )
    variables = around.variables
    for command in read.commands:
        words_set = len(command.words) + len(command.changed) + len(command.assigned)
        looked.count(words_set, sum(len(word.text) for word in command.words))
        variables = {**variables, **command.changed} if command.changed else variables
        placed = tuple(word if word.path else kubelet.placed(word, line, made) for word in command.words)
        inside = _Around(
            {**variables, **command.assigned} if command.assigned else variables,
            around.conditional or command.conditional,
            command.before,
            command.after,
            around.under,
            around.assumed,
            around.depth + 1,
        )
        yield from _command(placed, inside, looked)


def _at(line: Word, offset: int) -> Word:
    return Word(line.text, start=offset, end=min(offset + 1, len(line.text)))
