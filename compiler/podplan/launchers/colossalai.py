"""colossalai run, whose command line is read by click: options may stand behind the script, too.

Source: https://github.com/hpcaitech/ColossalAI, colossalai/cli/launcher; lowering-anchors §2.5. What it does
not know it hands to the script, and much of what it refuses it refuses with exit code 0.
"""

from __future__ import annotations

from podplan.launchers.arguments import Line, Option, integer
from podplan.launchers.words import Fault, Word
from podplan.typing import NamedTuple

OPTIONS = {
    "-H": "host", "-host": "host", "--host": "host",
    "--hostfile": "hostfile", "--include": "include", "--exclude": "exclude", "--num_nodes": "num_nodes",
    "--nproc_per_node": "nproc_per_node", "--master_port": "master_port", "--master_addr": "master_addr",
    "--extra_launch_args": "extra_launch_args", "--ssh-port": "ssh_port", "-m": "module",
}  # fmt: skip
_NUMBERS = ("num_nodes", "nproc_per_node", "master_port", "ssh_port")


class ColossalAI(NamedTuple):
    """What a colossalai run line asks for; None is what is not given, or not known offline.

    ``extra`` are the further options of torchrun, by name; None is a flag.
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
    extra: dict[str, str | None]
    errors: tuple[Fault, ...]


def read(words: tuple[Word, ...], start: Word) -> ColossalAI:
    """A colossalai line after ``run``."""
    options, rest, faults, sure = _click(words)
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
    if "nproc_per_node" not in options:
        sentence = "colossalai run needs --nproc_per_node; it exits with 0 without it"
        faults.append(Fault(start, sentence))
    if given.get("include") and given.get("exclude"):
        faults.append(Fault(options["exclude"].flag, "--include and --exclude exclude each other"))
    extra, broken = _extra(options.get("extra_launch_args"))
    faults += broken
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
        tuple(faults) if sure else (),
    )


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
        spelling, equals, explicit = flag.text.partition("=")
        value: Word | None = flag._replace(text=explicit) if equals else None
        if spelling not in OPTIONS:
            spelling, value = _short(flag)
        if spelling not in OPTIONS:
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
    return options, rest, faults, sure


def _short(word: Word) -> tuple[str, Word | None]:
    """``-Hhost`` in one word: click finds a short option also behind letters that it does not know."""
    text = word.text
    if not text.startswith("-") or text.startswith("--"):
        return "", None
    for at, letter in enumerate(text[1:], 1):
        if f"-{letter}" in OPTIONS and at == 1:
            return f"-{letter}", word._replace(text=text[2:]) if text[2:] else None
    return "", None


def _extra(option: Option | None) -> tuple[dict[str, str | None], list[Fault]]:
    """``--extra_launch_args a=1,b`` as options of torchrun."""
    found: dict[str, str | None] = {}
    if option is None or not option.value:
        return found, []
    for item in option.value.split(","):
        name, equals, value = item.partition("=")
        if "=" in value:
            sentence = f'--extra_launch_args cannot hold "{item}": an item has one "="'
            return found, [Fault(option.word, sentence)]
        found[name] = value if equals else None
    return found, []
