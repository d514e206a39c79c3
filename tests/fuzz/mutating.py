"""Mutations that keep the format of an input: lines of other inputs, keywords.

The byte mutations of atheris are one of them; most of their results are no YAML.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

Mutate = Callable[[bytes, int], bytes]


def mutated(
    data: bytes, max_size: int, seed: int, words: Sequence[bytes], lines: Sequence[bytes], mutate: Mutate
) -> bytes:
    """Mutate ``data`` to at most ``max_size`` bytes; ``lines`` are those of all seeds, or none."""
    chance = random.Random(seed)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        way = chance.randrange(8)
        if way < 2 or not words:
            data = mutate(data, max_size)
        elif way < 5 or not lines:
            data = _with_word(data, chance.choice(words), chance)
        else:
            data = _with_lines(data, lines, chance)
    return data[:max_size]


def _with_word(data: bytes, word: bytes, chance: random.Random) -> bytes:
    """Insert a word, or replace the text after a colon or a blank by it."""
    at = chance.randint(0, len(data))
    if chance.random() < 0.5:
        return data[:at] + word + data[at:]
    start = max(data.find(b" ", at), 0)
    end = min(found for found in (data.find(b"\n", start), len(data)) if found >= 0)
    return data[: start + 1] + word + data[end:]


def _with_lines(data: bytes, lines: Sequence[bytes], chance: random.Random) -> bytes:
    """Remove, duplicate, move or indent lines, or insert others."""
    found = data.split(b"\n")
    at, other = chance.randrange(len(found)), chance.randrange(len(found))
    end = at + chance.choice((1, 1, 2, 4, 8))
    piece = found[at:end]
    way = chance.randrange(6)
    if way == 0:
        found[at:end] = []
    elif way == 1:
        found[other:other] = piece
    elif way == 2:
        found[at], found[other] = found[other], found[at]
    elif way == 3:
        found[at:end] = [(b"  " + line) if chance.random() < 0.5 else line[2:] for line in piece]
    elif way == 4:
        found[at] = _at_indentation_of(found[at], chance.choice(lines))
    else:
        found[at:at] = [_at_indentation_of(found[at], chance.choice(lines))]
    return b"\n".join(found)


def _at_indentation_of(there: bytes, line: bytes) -> bytes:
    return there[: len(there) - len(there.lstrip(b" "))] + line.lstrip(b" ")
