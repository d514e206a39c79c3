"""A word of a command line, with its location, and the errors about words."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.findings import Path, TextPath
from podplan.core.typing import NamedTuple

# Linux rejects a longer argument (MAX_ARG_STRLEN, execve(2)), and more in total (ARG_MAX).
MAX_ARGUMENT_LENGTH = 131_072
MAX_ARGUMENTS_LENGTH = 2 * 1024 * 1024

# Variables by name; None is set, to a value that is unknown offline.
EnvVariables = Mapping[str, str | None]


class Word(NamedTuple):
    """One word as the program receives it.

    ``path`` leads to the string of the container with the word, ``start`` and ``end`` are its offsets there
    in code points. Unless it ``is_known``, the text contains references as written; if it also ``may_split``,
    the shell may expand it to no word or to several. If it ``is_pattern``, the shell replaces it by the names
    of matching files, if there are any.
    """

    text: str
    path: Path = ()
    start: int = 0
    end: int = 0
    is_known: bool = True
    may_split: bool = False
    is_pattern: bool = False

    @property
    def place(self) -> Path:
        """The path with the range of the word."""
        return TextPath(self.path, (self.start, self.end)) if self.end > self.start else self.path

    @property
    def base_name(self) -> str:
        """The last part of the text as a path: the name of a program."""
        return self.text.rpartition("/")[2]


class CommandLineError(NamedTuple):
    """An error that a program reports: the word (that of the launcher if one is missing), and a sentence.

    ``condition`` states when it occurs, if not always: in which versions, or with how many hosts.
    ``variable`` is the variable that has the value, if no word has it.
    """

    word: Word
    message: str
    condition: str = ""
    variable: str = ""

    @property
    def path(self) -> Path:
        return self.word.path
