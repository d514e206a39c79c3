"""The processes of a container as a tree: programs after their wrappers, and shell strings with their
commands.

``discovery.find_programs`` lists the launchers of a container. This module keeps the order, the operators and
the blocks around every command, for questions about exit statuses, endless programs and loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any, NamedTuple
from podplan.launchers import kubelet, wrappers
from podplan.launchers.shell_nodes import Block, Node, SimpleCommand
from podplan.launchers.words import EnvVariables, Word

MAX_DEPTH = 4  # of sh -c in sh -c
MAX_WRAPPERS = 50  # before one program
SHELLS = frozenset(("sh", "bash", "dash", "ash", "zsh", "ksh"))
_LETTERS = {"e": "errexit"}
_STATUS = compile_lazily(r"\$\?|\$\{\?\}|PIPESTATUS|pipestatus")
# A message that prints a status, without another use of it.
_PRINTED = compile_lazily(r"(?:\A|[\n;{]|&&|\|\|)[ \t]*(?:echo|printf)[ \t][^\n;|&>]*(?=[\n;}]|&&|\|\||\Z)")
_OPTIONS = frozenset(("errexit", "pipefail"))


class Process(NamedTuple):
    """A command line: its words after wrappers, the names of these, and the string if it is ``sh -c``."""

    words: tuple[Word, ...]
    wrappers: tuple[str, ...] = ()
    string: ShellString | None = None

    @property
    def name(self) -> str:
        """The name of the program; "" if there is none, or it is unknown."""
        return self.words[0].base_name if self.words and self.words[0].is_known else ""

    @property
    def path(self) -> Path:
        return self.words[0].path if self.words else ()

    @property
    def place(self) -> Path:
        """The path of the word that names the program, with the range of the word."""
        return self.words[0].place if self.words else ()


class ShellString(NamedTuple):
    """The string of ``sh -c`` with its commands; ``options`` are those of the call, such as pipefail.

    ``status_read`` is the offset of the last place that reads the status of a command, -1 for none. ``line``
    is the word with the string, and ``expanded`` its expansion by the kubelet, if it is a separate word.
    """

    text: str
    line: Word
    expanded: kubelet.ExpandedText | None
    nodes: tuple[Node, ...]
    options: frozenset[str]
    variables: EnvVariables
    depth: int
    status_read: int

    def process(self, command: SimpleCommand) -> Process:
        """Return the process that a command of the string starts."""
        words = tuple(word if word.path else self.place_word(word) for word in command.words)
        return _process(words, self.variables, self.depth + 1, {})

    def place(self, node: Node) -> Path:
        """Return the path of the string with the range of a command or block."""
        return self.place_word(Word("", start=node.start, end=node.end)).place

    def place_word(self, word: Word) -> Word:
        """Return a word of the string with its location in the container."""
        return kubelet.place_word(word, self.line, self.expanded)


def build_container_process(container: Mapping[str, Any]) -> Process:
    """Return the main process of a container: its command and args, as the kubelet expands them."""
    variables = kubelet.resolve_environment(container)
    complete = not container.get("envFrom")
    words: list[Word] = []
    expanded: dict[Path, kubelet.ExpandedText] = {}
    for key in ("command", "args"):
        listed = container.get(key)
        for index, text in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(text, str):
                made = kubelet.expand_references(text, variables, is_complete=complete)
                expanded[key, index] = made
                words.append(Word(made.text, (key, index), 0, len(text), made.is_known))
    return _process(tuple(words), variables, 0, expanded)


def build_words_process(listed: Sequence[str], path: Path) -> Process:
    """Return the process of a list of words that Kubernetes runs without expansion, as in a lifecycle
    hook."""
    words = tuple(Word(text, (*path, index), 0, len(text)) for index, text in enumerate(listed))
    return _process(words, {}, 0, {word.path: kubelet.ExpandedText(word.text) for word in words})


def iter_programs(process: Process) -> Iterator[tuple[SimpleCommand | None, Process]]:
    """Yield the programs that a process starts, in order, also those in blocks; None for the process
    itself."""
    if process.string is None:
        yield None, process
        return
    for command in iter_commands(process.string.nodes):
        for _, inner in iter_programs(process.string.process(command)):
            yield command, inner


def iter_commands(nodes: Sequence[Node]) -> Iterator[SimpleCommand]:
    """Yield all commands of nodes, including those in blocks."""
    for node in nodes:
        if isinstance(node, Block):
            yield from iter_commands(node.nodes)
        else:
            yield node


def update_shell_options(words: Sequence[Word], options: frozenset[str]) -> frozenset[str]:
    """Return the options of a shell after ``set`` with these words, or after a call of the shell with
    them."""
    found = set(options)
    names = [word.text for word in words]
    at = 0
    while at < len(names) and names[at][:1] in ("-", "+") and len(names[at]) > 1:
        sign, letters = names[at][0], names[at][1:]
        at += 1
        if letters.startswith("-"):
            continue
        for letter in letters:
            option = _LETTERS.get(letter, "")
            if letter == "o" and at < len(names):
                option = names[at]
                at += 1
            if option in _OPTIONS:
                found = found | {option} if sign == "-" else found - {option}
    return frozenset(found)


def _process(
    words: tuple[Word, ...],
    variables: EnvVariables,
    depth: int,
    expanded: Mapping[Path, kubelet.ExpandedText],
) -> Process:
    passed: list[str] = []
    for _ in range(MAX_WRAPPERS):
        inner = wrappers.unwrap_command(words) if words else None
        if inner is None:
            break
        passed.append(words[0].base_name)
        words = inner.words
        variables = {**variables, **inner.variables} if inner.variables else variables
    string = _parse_shell_string(words, variables, depth, expanded) if words and depth <= MAX_DEPTH else None
    return Process(words, tuple(passed), string)


def _parse_shell_string(
    words: tuple[Word, ...],
    variables: EnvVariables,
    depth: int,
    expanded: Mapping[Path, kubelet.ExpandedText],
) -> ShellString | None:
    """Parse what ``sh -c`` with these words runs; None if it is no such call."""
    name = words[0].base_name
    if name not in SHELLS:
        return None
    at, is_string = 1, False
    while at < len(words) and words[at].text[:1] in ("-", "+") and len(words[at].text) > 1:
        text = words[at].text
        at += 1
        if text.startswith("--"):
            at += text in ("--rcfile", "--init-file")
            continue
        is_string = is_string or "c" in text[1:]
        at += text[1:].count("o") + text[1:].count("O")
    if not is_string or at >= len(words):
        return None
    line, given = words[at], words[at + 1 :]
    positional = (given[0] if given else words[0], *given[1:])
    from podplan.launchers import shell

    read = shell.parse_script(line.text, variables, positional, is_bash=name not in ("sh", "dash", "ash"))
    options = update_shell_options(words[1:at], frozenset())
    reads = max(_find_status_reads(line.text), default=-1)
    nodes = read.nodes if read.syntax_error is None else ()  # of half a string nothing is certain
    made = expanded.get(line.path)
    return ShellString(line.text, line, made, nodes, options, variables, depth, reads)


def _find_status_reads(text: str) -> list[int]:
    """Return where a string reads the status of a command, other than to print it."""
    reads = [match.start() for match in _STATUS.finditer(text)]
    printed = [match.span() for match in _PRINTED.finditer(text)] if reads else []
    return [at for at in reads if not any(start <= at < end for start, end in printed)]
