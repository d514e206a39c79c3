"""Command lines of containers, word by word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from re import Pattern

from podplan.core.findings import Path
from podplan.core.typing import Any
from podplan.kubernetes.accessors import texts


def options(container: Mapping[str, Any], pattern: Pattern[str]) -> Iterator[tuple[str, Path]]:
    """The values of options in command and args that ``pattern`` names, with the places of the values.

    Group 1 of the pattern is a value in the same word (``--port=80``); without one it is the next word.
    """
    for key in ("command", "args"):
        for value, number in options_in(list(texts(container, key)), pattern):
            yield value, (key, number)


def options_in(words: list[tuple[int, str]], pattern: Pattern[str]) -> Iterator[tuple[str, int]]:
    """The same for words with their numbers; the values come with the numbers of their words."""
    for at, (number, word) in enumerate(words):
        found = pattern.fullmatch(word)
        if found is not None and found[1] is not None:
            yield found[1], number
        elif found is not None and at + 1 < len(words):
            yield words[at + 1][1], words[at + 1][0]
