"""The options that a launcher knows, as a table, and those that a command line gives it."""

from __future__ import annotations

from collections.abc import Iterable

from podplan.core.findings import Path
from podplan.core.typing import NamedTuple
from podplan.launchers.words import CommandLineError, Word


class OptionSpec(NamedTuple):
    """An option that a launcher knows: its spellings, the long one first, and what value it takes."""

    spellings: tuple[str, ...]
    kind: str = "text"  # text, int, float, or flag for one without a value
    choices: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The long spelling as a name, ``nproc_per_node``."""
        return self.spellings[0].lstrip("-").replace("-", "_")


class OptionGrammar(NamedTuple):
    """The options of a launcher; ``abbreviated`` where it takes a beginning of a long one for the whole."""

    launcher: str
    options: tuple[OptionSpec, ...]
    allows_abbreviation: bool = True


class ParsedOption(NamedTuple):
    """An option as it was given: ``value`` is None for a flag, and for a value that is not ``known``.

    ``word`` is where the value stands, ``flag`` where the option does; often both are one word.
    """

    name: str
    value: str | None
    word: Word
    flag: Word
    is_known: bool = True

    @property
    def path(self) -> Path:
        return self.word.path

    @property
    def text(self) -> str:
        return self.word.text


class CommandLine(NamedTuple):
    """A command line read: the last of each option by its name, the script and its arguments.

    ``faults`` is what the real parser refuses. Where the line is not ``sure`` a reference that nobody can
    resolve may hold more options, and no faults are given.
    """

    options: dict[str, ParsedOption]
    script: Word | None
    arguments: tuple[Word, ...]
    errors: tuple[CommandLineError, ...]
    is_certain: bool = True

    def get_value(self, name: str, default: str | None = None) -> str | None:
        """What an option was given; ``otherwise`` where it was not, None where nobody knows."""
        option = self.options.get(name)
        return default if option is None else option.value

    def get_number(self, name: str, default: int | None = None) -> int | None:
        """The same as a whole number; None also where it is none."""
        value = self.get_value(name, "" if default is None else str(default))
        return None if value is None else parse_integer(value)


def parse_option_table(text: str) -> Iterable[OptionSpec]:
    """The table of a launcher: a line for each option, its spellings and then its kind, or ``a|b``."""
    for line in text.split("\n"):
        *spellings, kind = line.split() or [""]
        if not spellings:
            continue
        choices = tuple(kind.split("|")) if "|" in kind else ()
        long_first = sorted(spellings, key=lambda spelling: not spelling.startswith("--"))
        yield OptionSpec(tuple(long_first), "text" if choices else kind, choices)


def add_dashed_spellings(specs: Iterable[OptionSpec]) -> Iterable[OptionSpec]:
    """Every long option with dashes and with underscores."""
    for spec in specs:
        all_spellings = [
            other for one in spec.spellings for other in (one, one[:2] + one[2:].replace("_", "-"))
        ]
        yield spec._replace(spellings=tuple(dict.fromkeys(all_spellings)))


def find_flags(grammar: OptionGrammar, command_line: CommandLine) -> frozenset[str]:
    """The names of the flags on a line."""
    return frozenset(
        known.name for known in grammar.options if known.kind == "flag" and known.name in command_line.options
    )


def parse_integer(text: str) -> int | None:
    """A whole number as Python's ``int`` reads it; None where it refuses."""
    try:
        return int(text)
    except ValueError:
        return None


def is_valid_value(kind: str, text: str) -> bool:
    """Whether a text is a number of the kind, int or float; any text fits another kind."""
    if kind != "float":
        return kind != "int" or parse_integer(text) is not None
    try:
        float(text)
    except ValueError:
        return False
    return True
