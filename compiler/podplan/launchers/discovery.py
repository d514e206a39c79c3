"""Finds the programs that a container starts, in its command and args and in shell strings.

A word is processed in this order: the kubelet expands ``$(NAME)`` (kubelet.py), a shell splits its string
into commands (shell.py), wrappers and python are skipped (wrappers.py), and the parser of the launcher reads
the rest. Words from one shell may be read by another, so the limits apply to all words of a container
together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.limits import MAX_COMMAND_TEXT, MAX_COMMAND_WORDS, LimitExceeded, limit_exceeded
from podplan.core.typing import Any, NamedTuple
from podplan.launchers import kubelet, wrappers
from podplan.launchers.arguments import CommandLine, ParsedOption
from podplan.launchers.commands import HorovodrunCommand, MpirunCommand, ParsedCommand
from podplan.launchers.words import CommandLineError, EnvVariables, Word
from podplan.launchers.wrappers import MAX_WRAPPERS, SHELL_PROGRAMS

MAX_DEPTH = 4  # of sh -c in sh -c, and of programs that start programs
MAX_INVOCATIONS = 200

# Programs that neither train nor start other programs.
_HARMLESS_PROGRAM_TEXT = """
    [ [[ . : alias apk apt apt-get awk cat cd chmod chown clear conda cp curl cut date declare df dnf du echo
    exit export false find free getopts git grep head hostname id ip kill ldconfig let ln local ls mamba
    mapfile mkdir mount mv nc nproc nslookup nvidia-smi ping pip pip3 popd printenv printf ps pushd pwd read
    readarray readonly return rm sed service set shift shopt sleep sort source ssh-keygen sshd stat tail tar
    tee test touch tr trap true typeset ulimit umask uname unset unzip wait wc wget which whoami yum
"""
HARMLESS_PROGRAMS = frozenset(_HARMLESS_PROGRAM_TEXT.split())
LAUNCHER_ALIASES = {"deepspeed.pt": "deepspeed", "ds": "deepspeed", "mpiexec": "mpirun", "orterun": "mpirun"}


class Invocation(NamedTuple):
    """A program that a container starts.

    ``launcher`` is ``torchrun``, ``torch.distributed.launch``, ``accelerate``, ``deepspeed``, ``mpirun``,
    ``horovodrun`` or ``colossalai``; ``python`` for a script, module or ``-c`` that python runs alone;
    ``script`` for a shell script whose content is unknown; ``other`` for any other program. ``program_word``
    names it.

    ``parsed`` is the command line as the launcher parses it, None for the last three. ``variables`` are those
    of its environment. ``is_conditional``: it may never run, or more than once. ``operator_before`` and
    ``operator_after`` are the shell operators around it. ``started_by`` is the launcher that starts it, such
    as mpirun. If the container has no command, the entry point of the image ``is_assumed`` to run the args.
    """

    launcher: str
    program_word: Word
    words: tuple[Word, ...]
    parsed: ParsedCommand | None
    script: Word | None
    arguments: tuple[Word, ...]
    variables: EnvVariables
    is_conditional: bool = False
    operator_before: str = ""
    operator_after: str = ""
    started_by: str = ""
    is_assumed: bool = False

    @property
    def path(self) -> Path:
        return self.program_word.path

    @property
    def options(self) -> dict[str, ParsedOption]:
        """The options on the command line, by name."""
        return self.parsed.command_line.options if self.parsed is not None else {}

    @property
    def errors(self) -> tuple[CommandLineError, ...]:
        """The errors that the launcher reports."""
        return self.parsed.errors if self.parsed is not None else ()


class DiscoveredPrograms(NamedTuple):
    """The programs that a container starts, in order, and the strings with shell syntax errors."""

    invocations: tuple[Invocation, ...]
    syntax_errors: tuple[CommandLineError, ...]


class _InvocationContext(NamedTuple):
    """What an invocation inherits from where it was found."""

    variables: EnvVariables
    is_conditional: bool = False
    operator_before: str = ""
    operator_after: str = ""
    started_by: str = ""
    is_assumed: bool = False
    depth: int = 0


class _ContainerSearch:
    """The state of the search in one container, and its remaining limits."""

    def __init__(self, container: Mapping[str, Any], variable_count: int) -> None:
        self.name = container.get("name")
        image = container.get("image")
        self.image = image if isinstance(image, str) else ""
        self.variable_count = variable_count  # reset once they were copied
        self.expanded_texts: dict[Path, kubelet.ExpandedText] = {}
        self.syntax_errors: list[CommandLineError] = []
        self.remaining_words = MAX_COMMAND_WORDS
        self.remaining_text = MAX_COMMAND_TEXT

    def count_text(self, word_count: int, text_length: int) -> None:
        """Count words and characters. Raises LimitExceeded: if there are too many."""
        self.remaining_words -= word_count
        self.remaining_text -= text_length
        if self.remaining_words < 0:
            raise self._build_limit_error("command-words", f"{MAX_COMMAND_WORDS:,} words")
        if self.remaining_text < 0:
            raise self._build_limit_error("command-text", f"{MAX_COMMAND_TEXT:,} characters")

    def count_variables(self) -> None:
        """Count the variables once, because setting one more copies all.

        Raises LimitExceeded: if there are too many.
        """
        self.count_text(self.variable_count, 0)
        self.variable_count = 0

    def _build_limit_error(self, limit: str, maximum: str) -> LimitExceeded:
        container_name = f'container "{self.name}"' if isinstance(self.name, str) else "a container"
        message = f"the commands and variables of {container_name} have more than {maximum}"
        return LimitExceeded(limit_exceeded(limit, f"{message}; put them into a file that the program reads"))


def find_programs(
    container: Mapping[str, Any], metadata: Mapping[str, Any] | None = None
) -> DiscoveredPrograms:
    """Find the programs that a container starts by ``command``, ``args``, ``env`` and ``envFrom``.

    Paths are relative to the container: ``("args", 2)``. Values of a wrong type are ignored. ``metadata`` is
    that of the Pod, where variables take labels and annotations from it.

    Raises LimitExceeded: if the words or the variables are too many.
    """
    variables = kubelet.resolve_environment(container, metadata)
    is_complete = not container.get("envFrom")
    words: list[Word] = []
    search = _ContainerSearch(container, len(variables))
    for key in ("command", "args"):
        word_list = container.get(key)
        for index, text in enumerate(word_list if isinstance(word_list, list) else ()):
            if isinstance(text, str):
                expanded = kubelet.expand_references(text, variables, is_complete=is_complete)
                search.count_text(1, len(expanded.text))
                search.expanded_texts[key, index] = expanded
                words.append(Word(expanded.text, (key, index), 0, len(text), expanded.is_known))
    context = _InvocationContext(variables, is_assumed=not container.get("command"))
    invocations: list[Invocation] = []
    for invocation in _iter_invocations(tuple(words), context, search):
        if len(invocations) >= MAX_INVOCATIONS:
            break
        invocations.append(invocation)
    return DiscoveredPrograms(tuple(invocations), tuple(search.syntax_errors))


def _iter_invocations(
    words: tuple[Word, ...], context: _InvocationContext, search: _ContainerSearch
) -> Iterator[Invocation]:
    """Yield the programs that one command line starts."""
    for _ in range(MAX_WRAPPERS):
        wrapped = wrappers.unwrap_command(words) if words else None
        if wrapped is None:
            break
        words = wrapped.words
        if wrapped.variables:
            search.count_variables()
            context = context._replace(variables={**context.variables, **wrapped.variables})
    if not words or context.depth > MAX_DEPTH:
        return
    first_word = words[0]
    if first_word.base_name in SHELL_PROGRAMS:
        yield from _iter_shell_invocations(words, context, search)
        return
    launcher, program_word, rest = _identify_launcher(words)
    if launcher == "other" and first_word.is_known and first_word.base_name in HARMLESS_PROGRAMS:
        return
    parsed = _parse_command(launcher, program_word, rest, context.variables, search.image)
    script, arguments = _find_script(parsed, program_word, rest, launcher)
    yield Invocation(launcher, program_word, rest, parsed, script, arguments, *context[:-1])
    if isinstance(parsed, MpirunCommand | HorovodrunCommand):
        yield from _iter_invocations(
            parsed.program_words, context._replace(started_by=launcher, depth=context.depth + 1), search
        )


def _identify_launcher(words: tuple[Word, ...]) -> tuple[str, Word, tuple[Word, ...]]:
    """Return the launcher that the words name, the word with the name, and the words after it."""
    program_word, rest = words[0], words[1:]
    python_call = wrappers.parse_python_call(words)
    if python_call is not None:
        if python_call.module is None:
            return "python", program_word, rest
        name, program_word, rest = (
            wrappers.LAUNCHER_MODULES.get(python_call.module.text, ""),
            python_call.module,
            python_call.rest,
        )
        if not name:
            return "python", words[0], words[1:]
    else:
        name = program_word.base_name
        for suffix in (".hydra", ".openmpi", ".mpich"):
            name = name.removesuffix(suffix)
        name = LAUNCHER_ALIASES.get(name, name)
    if name in ("torchrun", "torch.distributed.launch", "deepspeed", "mpirun", "horovodrun"):
        return name, program_word, rest
    if name == "accelerate launch" or (name == "accelerate" and rest and rest[0].text == "launch"):
        return "accelerate", program_word, rest[0 if name == "accelerate launch" else 1 :]
    if name == "accelerate-launch":
        return "accelerate", program_word, rest
    if name == "colossalai" and rest and rest[0].text == "run":
        return "colossalai", program_word, rest[1:]
    return ("script" if name.endswith(".sh") else "other"), program_word, rest


def _parse_command(
    launcher: str, program_word: Word, rest: tuple[Word, ...], variables: EnvVariables, image: str
) -> ParsedCommand | None:
    """Parse a command line with the module of its launcher, which nothing else needs to load."""
    if launcher in ("torchrun", "torch.distributed.launch"):
        from podplan.launchers import torchrun

        grammar = torchrun.GRAMMAR if launcher == "torchrun" else torchrun.LAUNCH_GRAMMAR
        return torchrun.parse_torchrun(rest, program_word, variables, grammar)
    if launcher == "mpirun":
        from podplan.launchers.mpirun import parse_mpirun

        return parse_mpirun(rest, program_word, variables, image)
    if launcher == "deepspeed":
        from podplan.launchers.deepspeed import parse_deepspeed

        return parse_deepspeed(rest, program_word)
    if launcher == "accelerate":
        from podplan.launchers.accelerate import parse_accelerate

        return parse_accelerate(rest, program_word)
    if launcher == "horovodrun":
        from podplan.launchers.horovodrun import parse_horovodrun

        return parse_horovodrun(rest, program_word)
    if launcher == "colossalai":
        from podplan.launchers.colossalai import parse_colossalai

        return parse_colossalai(rest, program_word)
    return None


def _find_script(
    parsed: ParsedCommand | None, program_word: Word, rest: tuple[Word, ...], launcher: str
) -> tuple[Word | None, tuple[Word, ...]]:
    if parsed is not None:
        command_line: CommandLine = parsed.command_line
        return command_line.script, command_line.arguments
    python_call = wrappers.parse_python_call((program_word, *rest)) if launcher == "python" else None
    if python_call is None:
        return None, rest
    return python_call.script or python_call.module, python_call.rest


def _iter_shell_invocations(
    words: tuple[Word, ...], context: _InvocationContext, search: _ContainerSearch
) -> Iterator[Invocation]:
    """Yield the programs of ``sh -c STRING``, or of a shell script."""
    index, takes_string = 1, False
    while index < len(words) and words[index].text[:1] in ("-", "+") and len(words[index].text) > 1:
        text = words[index].text
        index += 1
        if text.startswith("--"):
            index += text in ("--rcfile", "--init-file")
            continue
        takes_string = takes_string or "c" in text[1:]
        index += text[1:].count("o") + text[1:].count("O")
    if index >= len(words):
        return
    if not takes_string:
        yield Invocation("script", words[0], words[1:], None, words[index], words[index + 1 :], *context[:-1])
        return
    script_word, positional_words = words[index], words[index + 1 :]
    zeroth_argument = positional_words[0] if positional_words else words[0]
    search.count_variables()
    search.count_text(0, len(script_word.text))
    from podplan.launchers import shell

    parsed_script = shell.parse_script(
        script_word.text,
        context.variables,
        (zeroth_argument, *positional_words[1:]),
        is_bash=words[0].base_name not in ("sh", "dash", "ash"),
    )
    made = search.expanded_texts.get(script_word.path)
    if parsed_script.syntax_error is not None and script_word.is_known:
        search.syntax_errors.append(
            CommandLineError(
                kubelet.place_word(
                    _build_error_word(script_word, parsed_script.syntax_error.offset), script_word, made
                ),
                parsed_script.syntax_error.message,
            )
        )
    variables = context.variables
    for command in parsed_script.commands:
        word_count = len(command.words) + len(command.changed_variables) + len(command.command_variables)
        search.count_text(word_count, sum(len(word.text) for word in command.words))
        variables = {**variables, **command.changed_variables} if command.changed_variables else variables
        located_words = tuple(
            word if word.path else kubelet.place_word(word, script_word, made) for word in command.words
        )
        inner_context = _InvocationContext(
            {**variables, **command.command_variables} if command.command_variables else variables,
            context.is_conditional or command.is_conditional,
            command.operator_before,
            command.operator_after,
            context.started_by,
            context.is_assumed,
            context.depth + 1,
        )
        yield from _iter_invocations(located_words, inner_context, search)


def _build_error_word(script_word: Word, offset: int) -> Word:
    return Word(script_word.text, start=offset, end=min(offset + 1, len(script_word.text)))
