"""colossalai run, whose command line is read by click: options may stand behind the script, too.

Source: https://github.com/hpcaitech/ColossalAI/tree/main/colossalai/cli/launcher, and the answers of the real
command in fixtures/launchers/. It passes what it does not know to the script, and it ends with exit code 0
for most lines that it refuses. On each host it starts torchrun by a line of a shell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podplan.core.typing import NamedTuple
from podplan.launchers import torchrun
from podplan.launchers.arguments import Line, Option, integer
from podplan.launchers.words import Fault, Variables, Word

OPTIONS = {
    "-H": "host", "-host": "host", "--host": "host",
    "--hostfile": "hostfile", "--include": "include", "--exclude": "exclude", "--num_nodes": "num_nodes",
    "--nproc_per_node": "nproc_per_node", "--master_port": "master_port", "--master_addr": "master_addr",
    "--extra_launch_args": "extra_launch_args", "--ssh-port": "ssh_port", "-m": "module",
}  # fmt: skip
_NUMBERS = ("num_nodes", "nproc_per_node", "master_port", "ssh_port")
# The options of torchrun that colossalai run gives itself, before those of --extra_launch_args.
GIVEN = ("nproc_per_node", "nnodes", "node_rank", "master_addr", "master_port")
_REPLACED = ("master_addr", "master_port")  # by a piece of --extra_launch_args of that name
LOCALHOST = "127.0.0.1"
MASTER_PORT = "29500"


class ColossalAI(NamedTuple):
    """What a colossalai run line asks for; None is what is not given, or not known offline.

    ``extra`` are the pieces of ``--extra_launch_args``, one for each further option of torchrun.
    """

    line: Line
    hosts: tuple[str, ...]
    hostfile: str | None
    include: str | None
    exclude: str | None
    nodes: int | None
    processes: int | None
    master_addr: str | None
    master_port: int | None
    module: str | None
    extra: tuple[Word, ...]
    errors: tuple[Fault, ...]


def read(words: tuple[Word, ...], start: Word) -> ColossalAI:
    """A colossalai line after ``run``."""
    options, rest, faults, sure = _click(words)
    helped = any(word.text == "--help" for word in rest)
    module = options.get("module")
    script = rest[0] if rest and module is None else None
    given = {name: option.value for name, option in options.items()}
    numbers = {name: integer(given[name] or "") for name in _NUMBERS if given.get(name) is not None}
    for name, number in numbers.items():
        if number is None:
            option = options[name]
            faults.append(Fault(option.word, f"{option.flag.text.partition('=')[0]} takes a whole number"))
    if not rest and module is None:
        faults.append(Fault(start, "colossalai run needs a script to run"))
    if script is not None and script.known and not script.text.endswith(".py"):
        sentence = f'colossalai run takes a script that ends in .py, not "{script.text}"; it exits with 0'
        faults.append(Fault(script, sentence))
    if module is not None and module.value is not None and module.value.endswith(".py"):
        sentence = f'-m takes the name of a module, not the file "{module.value}"; it exits with 0'
        faults.append(Fault(module.word, sentence))
    if "nproc_per_node" not in options:
        sentence = "colossalai run needs --nproc_per_node; it exits with 0 without it"
        faults.append(Fault(start, sentence))
    if given.get("include") and given.get("exclude"):
        faults.append(Fault(options["exclude"].flag, "--include and --exclude exclude each other"))
    extra = tuple(pieces(options["extra_launch_args"].word)) if given.get("extra_launch_args") else ()
    faults += _broken(extra)
    line = Line(options, script, tuple(rest[1:] if module is None else rest), tuple(faults), sure)
    return ColossalAI(
        line,
        tuple((given.get("host") or "").split(",")) if given.get("host") else (),
        given.get("hostfile"),
        given.get("include"),
        given.get("exclude"),
        numbers.get("num_nodes"),
        numbers.get("nproc_per_node"),
        given.get("master_addr"),
        numbers.get("master_port"),
        given.get("module"),
        extra,
        tuple(faults) if sure and not helped else (),
    )


def pieces(value: Word) -> Iterator[Word]:
    """The pieces of a value of ``--extra_launch_args``, which colossalai run splits at commas."""
    return (value._replace(text=text) for text in value.text.split(","))


def torchrun_words(
    found: ColossalAI, extra: Iterable[Word], first: str, hosts: int, start: Word
) -> tuple[Word, ...]:
    """The words of torchrun in the line that colossalai run starts on ``first``, of so many ``hosts``.

    ``extra`` are ``found.extra``, or the same pieces with other places. The shell of the host splits the line
    at blanks, whatever was one word before.
    """
    options = {name: (value, word) for name, value, word in map(_named, extra)}
    given = found.line.options
    address = found.master_addr or LOCALHOST
    if address == LOCALHOST and hosts > 1:
        address = first
    texts = {
        "nproc_per_node": str(found.processes or 1),
        "nnodes": str(hosts),
        "node_rank": "0",
        "master_addr": address,
        "master_port": str(found.master_port) if "master_port" in given else MASTER_PORT,
    }
    words = []
    for name, value in texts.items():
        word = given[name].word if name in given else start
        if name in _REPLACED and name in options:
            value, word = options.pop(name)
        words.append(word._replace(text=f"--{name}={value}" if value else f"--{name}"))
    words += [
        word._replace(text=text)
        for name, (value, word) in options.items()
        for text in (f"--{name}={value}" if value else f"--{name}").split()
    ]
    if found.module is not None:
        module = given["module"].word
        words += [module._replace(text="-m"), module]
    script = () if found.line.script is None else (found.line.script,)
    return (*words, *script, *found.line.arguments)


def read_torchrun(
    found: ColossalAI, extra: Iterable[Word], first: str, hosts: int, start: Word, variables: Variables
) -> torchrun.Torchrun:
    """That line as torchrun reads it; ``variables`` are those of the launcher, which it exports there."""
    return torchrun.read(torchrun_words(found, extra, first, hosts, start), start, variables)


def _named(piece: Word) -> tuple[str, str, Word]:
    name, _, value = piece.text.partition("=")
    return name, value, piece


def _broken(extra: Iterable[Word]) -> Iterator[Fault]:
    """Pieces of which colossalai run makes no option."""
    for piece in extra:
        if piece.text.count("=") > 1:
            sentence = f'--extra_launch_args cannot hold "{piece.text}": an item has one "="'
            yield Fault(piece, sentence)
            return


def _click(words: tuple[Word, ...]) -> tuple[dict[str, Option], list[Word], list[Fault], bool]:
    """Options, all other words in order, faults; as click reads with ``ignore_unknown_options``."""
    options: dict[str, Option] = {}
    rest: list[Word] = []
    faults: list[Fault] = []
    sure = True
    at = 0
    while at < len(words):
        flag = words[at]
        at += 1
        if flag.text == "--":
            rest += words[at:]
            break
        if not flag.known and flag.splits and not flag.text.startswith("-"):
            sure = sure and bool(rest)
        spelling, value, unknown = _option(flag)
        if not spelling:
            rest.append(flag)
            continue
        if value is None:
            if at >= len(words):
                faults.append(Fault(flag, f"{spelling} needs a value"))
                break
            value = words[at]
            at += 1
        name = OPTIONS[spelling]
        options[name] = Option(name, value.text if value.known else None, value, flag, value.known)
        if unknown:
            rest.append(flag._replace(text=f"-{unknown}"))
    return options, rest, faults, sure


def _option(word: Word) -> tuple[str, Word | None, str]:
    """The option that a word is, its value in the same word, and letters of it that click does not know.

    click looks for the short options among all letters behind one dash: it finds -m in -num_layers.
    """
    spelling, equals, explicit = word.text.partition("=")
    if spelling in OPTIONS and len(spelling) > 2:
        return spelling, word._replace(text=explicit) if equals else None, ""
    text = word.text
    if not text.startswith("-") or text.startswith("--"):
        return "", None, ""
    at = next((at for at, letter in enumerate(text) if at and f"-{letter}" in OPTIONS), 0)
    if not at:
        return "", None, ""
    return f"-{text[at]}", word._replace(text=text[at + 1 :]) if text[at + 1 :] else None, text[1:at]
