"""Quoting of words for a shell line, and splitting of a line as a shell does."""

from __future__ import annotations

from collections.abc import Iterable
from shlex import join

from podplan.core.typing import NamedTuple
from podplan.launchers.shell import parse_script
from podplan.launchers.tokens import tokenize
from podplan.launchers.words import EnvVariables, Word


class ResplitLine(NamedTuple):
    """The words that a shell reads from a line that should contain only words.

    ``error`` is the syntax error of the line. ``operator`` is the first operator in it (``;``, ``>``, ``#``
    for a comment), with its ``offset``; ``words`` are then those of the first command.
    """

    words: tuple[Word, ...]
    error: str = ""
    operator: str = ""
    offset: int = 0


def quote_words(words: Iterable[str]) -> str:
    """Return a line that every shell parses to ``words``."""
    return join(words)


def resplit_line(text: str, variables: EnvVariables | None = None) -> ResplitLine:
    """Return the words that ``bash -c "program TEXT"`` passes to the program."""
    parsed = parse_script(f": {text}", variables or {})
    words = parsed.commands[0].words[1:] if parsed.commands else ()
    located_words = tuple(word._replace(start=word.start - 2, end=word.end - 2) for word in words)
    if parsed.syntax_error is not None:
        return ResplitLine(
            located_words, parsed.syntax_error.message, offset=max(0, parsed.syntax_error.offset - 2)
        )
    line_tokens, _ = tokenize(text)
    for token in line_tokens:
        if token.is_operator:
            return ResplitLine(located_words, operator=token.text, offset=token.start)
    trailing_text = text[line_tokens[-1].end :] if line_tokens else text
    if trailing_text.lstrip(" \t\\\n").startswith("#"):
        return ResplitLine(
            located_words, operator="#", offset=text.index("#", line_tokens[-1].end if line_tokens else 0)
        )
    return ResplitLine(located_words)
