"""A word of a command line, with its place; and what a program would refuse about it."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.findings import Path, TextPath
from podplan.core.typing import NamedTuple

# Linux takes no argument that is longer (MAX_ARG_STRLEN, execve(2)), and no more in all (ARG_MAX).
MAX_ARGUMENT_LENGTH = 131_072
MAX_ARGUMENTS_LENGTH = 2 * 1024 * 1024

# Variables by name; None is one that is set, to a value that is not known offline.
EnvVariables = Mapping[str, str | None]


class Word(NamedTuple):
    """One word as the program gets it.

    ``path`` leads to the string of the container that it stands in, ``start`` and ``end`` are its offsets
    there in code points. Where it is not ``known`` the text holds references as they were written; if it also
    ``splits``, the shell may make no word of it or several. A ``pattern`` is replaced by the names of files
    that match, if any do.
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
        """The last part of the text as a path: what a program is called by."""
        return self.text.rpartition("/")[2]


class CommandLineError(NamedTuple):
    """What a program refuses: the word, or the launcher's own where one is missing, and a sentence.

    ``only`` says when it is refused, where not always: in which versions, or with how many hosts.
    """

    word: Word
    message: str
    condition: str = ""

    @property
    def path(self) -> Path:
        return self.word.path
