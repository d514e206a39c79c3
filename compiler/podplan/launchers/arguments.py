"""The options that a launcher knows, as a table, and those that a command line gives it."""

from __future__ import annotations

from collections.abc import Iterable

from podplan.core.findings import Path
from podplan.core.typing import NamedTuple
from podplan.launchers.words import Fault, Word


class Known(NamedTuple):
    """An option that a launcher knows: its spellings, the long one first, and what value it takes."""

    spellings: tuple[str, ...]
    kind: str = "text"  # text, int, float, or flag for one without a value
    choices: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The long spelling as a name, ``nproc_per_node``."""
        return self.spellings[0].lstrip("-").replace("-", "_")


class Grammar(NamedTuple):
    """The options of a launcher; ``abbreviated`` where it takes a beginning of a long one for the whole."""

    launcher: str
    options: tuple[Known, ...]
    abbreviated: bool = True


class Option(NamedTuple):
    """An option as it was given: ``value`` is None for a flag, and for a value that is not ``known``.

    ``word`` is where the value stands, ``flag`` where the option does; often both are one word.
    """

    name: str
    value: str | None
    word: Word
    flag: Word
    known: bool = True

    @property
    def path(self) -> Path:
        return self.word.path

    @property
    def text(self) -> str:
        return self.word.text


class Line(NamedTuple):
    """A command line read: the last of each option by its name, the script and its arguments.

    ``faults`` is what the real parser refuses. Where the line is not ``sure`` a reference that nobody can
    resolve may hold more options, and no faults are given.
    """

    options: dict[str, Option]
    script: Word | None
    arguments: tuple[Word, ...]
    faults: tuple[Fault, ...]
    sure: bool = True

    def value(self, name: str, otherwise: str | None = None) -> str | None:
        """What an option was given; ``otherwise`` where it was not, None where nobody knows."""
        option = self.options.get(name)
        return otherwise if option is None else option.value

    def number(self, name: str, otherwise: int | None = None) -> int | None:
        """The same as a whole number; None also where it is none."""
        value = self.value(name, "" if otherwise is None else str(otherwise))
        return None if value is None else integer(value)


def options(text: str) -> Iterable[Known]:
    """The table of a launcher: a line for each option, its spellings and then its kind, or ``a|b``."""
    for line in text.split("\n"):
        *spellings, kind = line.split() or [""]
        if not spellings:
            continue
        choices = tuple(kind.split("|")) if "|" in kind else ()
        ordered = sorted(spellings, key=lambda spelling: not spelling.startswith("--"))
        yield Known(tuple(ordered), "text" if choices else kind, choices)


def both(known: Iterable[Known]) -> Iterable[Known]:
    """Every long option with dashes and with underscores."""
    for option in known:
        more = [other for one in option.spellings for other in (one, one[:2] + one[2:].replace("_", "-"))]
        yield option._replace(spellings=tuple(dict.fromkeys(more)))


def flags(grammar: Grammar, line: Line) -> frozenset[str]:
    """The names of the flags on a line."""
    return frozenset(
        known.name for known in grammar.options if known.kind == "flag" and known.name in line.options
    )


def integer(text: str) -> int | None:
    """A whole number as Python's ``int`` reads it; None where it refuses."""
    try:
        return int(text)
    except ValueError:
        return None


def fits(kind: str, text: str) -> bool:
    """Whether a text is a number of the kind, int or float; any text fits another kind."""
    if kind != "float":
        return kind != "int" or integer(text) is not None
    try:
        float(text)
    except ValueError:
        return False
    return True
