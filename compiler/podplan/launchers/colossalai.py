"""Parses ``colossalai run``, whose parser is click: options may also follow the script.

Source: https://github.com/hpcaitech/ColossalAI/tree/main/colossalai/cli/launcher, and the answers of the real
command in fixtures/launchers/. It passes unknown options to the script, and it exits with code 0 for most
lines that it rejects. On each host it starts torchrun in a shell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podplan.launchers import torchrun
from podplan.launchers.arguments import CommandLine, ParsedOption, parse_integer
from podplan.launchers.commands import ColossalAICommand, TorchrunCommand
from podplan.launchers.words import CommandLineError, EnvVariables, Word

OPTION_NAMES = {
    "-H": "host", "-host": "host", "--host": "host",
    "--hostfile": "hostfile", "--include": "include", "--exclude": "exclude", "--num_nodes": "num_nodes",
    "--nproc_per_node": "nproc_per_node", "--master_port": "master_port", "--master_addr": "master_addr",
    "--extra_launch_args": "extra_launch_args", "--ssh-port": "ssh_port", "-m": "module",
}  # fmt: skip
_NUMBER_OPTIONS = ("num_nodes", "nproc_per_node", "master_port", "ssh_port")
# The options of torchrun that colossalai run sets itself, before those of --extra_launch_args.
TORCHRUN_OPTIONS_GIVEN = ("nproc_per_node", "nnodes", "node_rank", "master_addr", "master_port")
_REPLACEABLE_OPTIONS = ("master_addr", "master_port")  # by an option of that name in --extra_launch_args
LOCALHOST = "127.0.0.1"
DEFAULT_MASTER_PORT = "29500"


def parse_colossalai(words: tuple[Word, ...], launcher_word: Word) -> ColossalAICommand:
    """Parse a colossalai command line after ``run``."""
    options, other_words, errors, is_certain = _parse_click_options(words)
    asks_for_help = any(word.text == "--help" for word in other_words)
    module = options.get("module")
    script = other_words[0] if other_words and module is None else None
    option_values = {name: option.value for name, option in options.items()}
    numbers = {
        name: parse_integer(option_values[name] or "")
        for name in _NUMBER_OPTIONS
        if option_values.get(name) is not None
    }
    for name, number in numbers.items():
        if number is None:
            option = options[name]
            errors.append(
                CommandLineError(option.word, f"{option.flag.text.partition('=')[0]} must be an integer")
            )
    if not other_words and module is None:
        errors.append(CommandLineError(launcher_word, "colossalai run needs a script to run"))
    if script is not None and script.is_known and not script.text.endswith(".py"):
        message = f'colossalai run needs a script that ends in .py, not "{script.text}"; it exits with 0'
        errors.append(CommandLineError(script, message))
    if module is not None and module.value is not None and module.value.endswith(".py"):
        message = f'-m needs the name of a module, not the file "{module.value}"; it exits with 0'
        errors.append(CommandLineError(module.word, message))
    if "nproc_per_node" not in options:
        message = "colossalai run needs --nproc_per_node; it exits with 0 without it"
        errors.append(CommandLineError(launcher_word, message))
    if option_values.get("include") and option_values.get("exclude"):
        errors.append(CommandLineError(options["exclude"].flag, "--include and --exclude exclude each other"))
    extra_pieces = (
        tuple(split_extra_args(options["extra_launch_args"].word))
        if option_values.get("extra_launch_args")
        else ()
    )
    errors += _find_invalid_pieces(extra_pieces)
    command_line = CommandLine(
        options, script, tuple(other_words[1:] if module is None else other_words), tuple(errors), is_certain
    )
    return ColossalAICommand(
        command_line,
        tuple((option_values.get("host") or "").split(",")) if option_values.get("host") else (),
        option_values.get("hostfile"),
        option_values.get("include"),
        option_values.get("exclude"),
        numbers.get("num_nodes"),
        numbers.get("nproc_per_node"),
        option_values.get("master_addr"),
        numbers.get("master_port"),
        option_values.get("module"),
        extra_pieces,
        tuple(errors) if is_certain and not asks_for_help else (),
    )


def split_extra_args(value: Word) -> Iterator[Word]:
    """Yield the parts of a value of ``--extra_launch_args``, which colossalai run splits at commas."""
    return (value._replace(text=text) for text in value.text.split(","))


def build_torchrun_words(
    command: ColossalAICommand,
    extra_pieces: Iterable[Word],
    first_host: str,
    host_count: int,
    launcher_word: Word,
) -> tuple[Word, ...]:
    """Build the torchrun command that colossalai run starts on ``first_host`` of ``host_count`` hosts.

    ``extra_pieces`` are those of ``command``, or the same with other locations. The shell of the host splits
    the line at blanks, also inside what was one word before.
    """
    extra_options = {name: (value, word) for name, value, word in map(_split_piece, extra_pieces)}
    given_options = command.command_line.options
    address = command.master_addr or LOCALHOST
    if address == LOCALHOST and host_count > 1:
        address = first_host
    own_values = {
        "nproc_per_node": str(command.processes or 1),
        "nnodes": str(host_count),
        "node_rank": "0",
        "master_addr": address,
        "master_port": str(command.master_port) if "master_port" in given_options else DEFAULT_MASTER_PORT,
    }
    words = []
    for name, value in own_values.items():
        word = given_options[name].word if name in given_options else launcher_word
        if name in _REPLACEABLE_OPTIONS and name in extra_options:
            value, word = extra_options.pop(name)
        words.append(word._replace(text=f"--{name}={value}" if value else f"--{name}"))
    words += [
        word._replace(text=text)
        for name, (value, word) in extra_options.items()
        for text in (f"--{name}={value}" if value else f"--{name}").split()
    ]
    if command.module is not None:
        module = given_options["module"].word
        words += [module._replace(text="-m"), module]
    script = () if command.command_line.script is None else (command.command_line.script,)
    return (*words, *script, *command.command_line.arguments)


def parse_started_torchrun(
    command: ColossalAICommand,
    extra_pieces: Iterable[Word],
    first_host: str,
    host_count: int,
    launcher_word: Word,
    variables: EnvVariables,
) -> TorchrunCommand:
    """Parse that command as torchrun does; ``variables`` are those of the launcher, which it exports to
    the hosts."""
    return torchrun.parse_torchrun(
        build_torchrun_words(command, extra_pieces, first_host, host_count, launcher_word),
        launcher_word,
        variables,
    )


def _split_piece(piece: Word) -> tuple[str, str, Word]:
    name, _, value = piece.text.partition("=")
    return name, value, piece


def _find_invalid_pieces(extra_pieces: Iterable[Word]) -> Iterator[CommandLineError]:
    """Yield an error for each part that colossalai run does not turn into an option."""
    for piece in extra_pieces:
        if piece.text.count("=") > 1:
            message = f'--extra_launch_args cannot hold "{piece.text}": an item has one "="'
            yield CommandLineError(piece, message)
            return


def _parse_click_options(
    words: tuple[Word, ...],
) -> tuple[dict[str, ParsedOption], list[Word], list[CommandLineError], bool]:
    """Return options, other words in order, errors, and certainty, as click with
    ``ignore_unknown_options``."""
    options: dict[str, ParsedOption] = {}
    other_words: list[Word] = []
    errors: list[CommandLineError] = []
    is_certain = True
    index = 0
    while index < len(words):
        flag = words[index]
        index += 1
        if flag.text == "--":
            other_words += words[index:]
            break
        if not flag.is_known and flag.may_split and not flag.text.startswith("-"):
            is_certain = is_certain and bool(other_words)
        spelling, value, unknown_letters = _match_option(flag)
        if not spelling:
            other_words.append(flag)
            continue
        if value is None:
            if index >= len(words):
                errors.append(CommandLineError(flag, f"{spelling} needs a value"))
                break
            value = words[index]
            index += 1
        name = OPTION_NAMES[spelling]
        options[name] = ParsedOption(
            name, value.text if value.is_known else None, value, flag, value.is_known
        )
        if unknown_letters:
            other_words.append(flag._replace(text=f"-{unknown_letters}"))
    return options, other_words, errors, is_certain


def _match_option(word: Word) -> tuple[str, Word | None, str]:
    """Match a word to an option: return its spelling, its value in the same word, and unknown letters.

    click searches for short options among all letters after one dash: it finds -m in -num_layers.
    """
    spelling, equals, explicit_value = word.text.partition("=")
    if spelling in OPTION_NAMES and len(spelling) > 2:
        return spelling, word._replace(text=explicit_value) if equals else None, ""
    text = word.text
    if not text.startswith("-") or text.startswith("--"):
        return "", None, ""
    position = next((at for at, letter in enumerate(text) if at and f"-{letter}" in OPTION_NAMES), 0)
    if not position:
        return "", None, ""
    return (
        f"-{text[position]}",
        word._replace(text=text[position + 1 :]) if text[position + 1 :] else None,
        text[1:position],
    )
