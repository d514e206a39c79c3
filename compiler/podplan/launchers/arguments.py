"""The options of a launcher, as a table, and the options of a parsed command line."""

from __future__ import annotations

from collections.abc import Iterable

from podplan.core.findings import Path
from podplan.core.typing import NamedTuple
from podplan.launchers.words import CommandLineError, Word


class OptionSpec(NamedTuple):
    """An option of a launcher: its spellings, the long one first, the type of its value, and how many it
    has."""

    spellings: tuple[str, ...]
    kind: str = "text"  # text, int, float, choices, or flag without a value
    choices: tuple[str, ...] = ()
    value_count: int = 1

    @property
    def name(self) -> str:
        """The long spelling as an identifier: ``--nproc-per-node`` is ``nproc_per_node``."""
        return self.spellings[0].lstrip("-").replace("-", "_")


class OptionGrammar(NamedTuple):
    """The options of a launcher; with ``allows_abbreviation`` a prefix of a long option is accepted."""

    launcher: str
    options: tuple[OptionSpec, ...]
    allows_abbreviation: bool = True


class ParsedOption(NamedTuple):
    """An option as given: ``value`` is None for a flag, and for a value that is not ``is_known``.

    ``word`` contains the value, ``flag`` the option; often both are one word.
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
    """A parsed command line: the last of each option by name, the script and its arguments.

    ``errors`` are what the real parser rejects. If the line is not ``is_certain``, an unresolved reference
    may contain more options, and no errors are reported.
    """

    options: dict[str, ParsedOption]
    script: Word | None
    arguments: tuple[Word, ...]
    errors: tuple[CommandLineError, ...]
    is_certain: bool = True

    def get_value(self, name: str, default: str | None = None) -> str | None:
        """Return the value of an option; ``default`` if it is not given, None if its value is unknown."""
        option = self.options.get(name)
        return default if option is None else option.value

    def get_number(self, name: str, default: int | None = None) -> int | None:
        """Return the value of an option as an integer; None also if it is none."""
        value = self.get_value(name, "" if default is None else str(default))
        return None if value is None else parse_integer(value)


def parse_option_table(text: str) -> Iterable[OptionSpec]:
    """Parse the table of a launcher: a line for each option with its spellings and its type, ``TYPE*N`` for
    several values, or choices ``a|b``."""
    for line in text.split("\n"):
        *spellings, kind = line.split() or [""]
        if not spellings:
            continue
        choices = tuple(kind.split("|")) if "|" in kind else ()
        long_first = sorted(spellings, key=lambda spelling: not spelling.startswith("--"))
        kind, _, count = kind.partition("*")
        yield OptionSpec(tuple(long_first), "text" if choices else kind, choices, int(count or 1))


def add_dashed_spellings(specs: Iterable[OptionSpec]) -> Iterable[OptionSpec]:
    """Add for every long option the spellings with dashes and with underscores."""
    for spec in specs:
        all_spellings = [
            other for one in spec.spellings for other in (one, one[:2] + one[2:].replace("_", "-"))
        ]
        yield spec._replace(spellings=tuple(dict.fromkeys(all_spellings)))


def find_flags(grammar: OptionGrammar, command_line: CommandLine) -> frozenset[str]:
    """Return the names of the flags on a line."""
    return frozenset(
        known.name for known in grammar.options if known.kind == "flag" and known.name in command_line.options
    )


def parse_integer(text: str) -> int | None:
    """Parse an integer as Python's ``int`` does; None if that raises."""
    try:
        return int(text)
    except ValueError:
        return None


def is_valid_value(kind: str, text: str) -> bool:
    """Whether a text is a number of the type int or float; any text is valid for other types."""
    if kind != "float":
        return kind != "int" or parse_integer(text) is not None
    try:
        float(text)
    except ValueError:
        return False
    return True
