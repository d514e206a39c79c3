"""Words to a shell line and back: what is safe to hand to a shell, and what a shell makes of a line."""

from __future__ import annotations

from collections.abc import Iterable
from shlex import join

from podplan.core.typing import NamedTuple
from podplan.launchers.shell import script
from podplan.launchers.tokens import tokens
from podplan.launchers.words import Variables, Word


class Resplit(NamedTuple):
    """What a shell makes of a line that was meant to be words.

    ``fault`` is why it cannot read the line. ``operator`` is what stands in it and is no word to the shell
    (``;``, ``>``, ``#`` for a comment), with its ``offset``; ``words`` are then those of the first command.
    """

    words: tuple[Word, ...]
    fault: str = ""
    operator: str = ""
    offset: int = 0


def quote(words: Iterable[str]) -> str:
    """A line that every shell reads back as ``words``."""
    return join(words)


def resplit(text: str, variables: Variables | None = None) -> Resplit:
    """The words that ``bash -c "program TEXT"`` hands to the program."""
    read = script(f": {text}", variables or {})
    words = read.commands[0].words[1:] if read.commands else ()
    shifted = tuple(word._replace(start=word.start - 2, end=word.end - 2) for word in words)
    if read.fault is not None:
        return Resplit(shifted, read.fault.sentence, offset=max(0, read.fault.offset - 2))
    found, _ = tokens(text)
    for token in found:
        if token.operator:
            return Resplit(shifted, operator=token.text, offset=token.start)
    rest = text[found[-1].end :] if found else text
    if rest.lstrip(" \t\\\n").startswith("#"):
        return Resplit(shifted, operator="#", offset=text.index("#", found[-1].end if found else 0))
    return Resplit(shifted)
