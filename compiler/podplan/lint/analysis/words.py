"""Command lines of containers, word by word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from re import Pattern

from podplan.core.findings import Path
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_texts


def iter_option_values(container: Mapping[str, Any], pattern: Pattern[str]) -> Iterator[tuple[str, Path]]:
    """Yield the values of options in command and args that ``pattern`` matches, with their places.

    Group 1 of the pattern is a value in the same word (``--port=80``); without one it is the next word.
    """
    for key in ("command", "args"):
        for value, number in iter_word_option_values(list(get_texts(container, key)), pattern):
            yield value, (key, number)


def iter_word_option_values(words: list[tuple[int, str]], pattern: Pattern[str]) -> Iterator[tuple[str, int]]:
    """Yield the same for numbered words, with the number of the word of each value."""
    for position, (number, word) in enumerate(words):
        match = pattern.fullmatch(word)
        if match is not None and match[1] is not None:
            yield match[1], number
        elif match is not None and position + 1 < len(words):
            yield words[position + 1][1], words[position + 1][0]
