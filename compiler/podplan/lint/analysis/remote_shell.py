"""What a shell on another host makes of a text that was sent to it, as bash reads it.

The words of a command line are those of :mod:`podplan.launchers.tokens`, with the braces of bash expanded.
"""

from __future__ import annotations

import re
from itertools import pairwise

from podplan.core.lazy_regex import pattern
from podplan.core.typing import NamedTuple
from podplan.launchers.tokens import Piece, tokens

MAX_WORDS = 64  # of one argument; more are as wrong as two
_SEQUENCE = pattern(r"(-?\d{1,9})\.\.(-?\d{1,9})|([A-Za-z])\.\.([A-Za-z])")


class Arrival(NamedTuple):
    """What arrives: the words, or why there are none.

    ``fault`` says what a shell cannot read. ``ends`` is the operator at which the shell takes the text for
    the end of the command. ``replaced`` is what the shell replaces by something only known there.
    """

    words: tuple[str, ...] = ()
    fault: str = ""
    ends: str = ""
    replaced: str = ""
    swallows: bool = False


# What is the home folder at the start of a word, or of the value of what looks like an assignment.
_HOME = pattern(r"(?:[A-Za-z_]\w*=)?(~)(?:/|\Z)")
# A path that names files, or all files there are: a pattern that will hardly find nothing.
_FILES = pattern(r"(/.*[*?].*|\*)\Z", re.DOTALL)

# A character of a word, and whether quotes take away what it would mean.
_Char = tuple[str, bool]


def arrival(text: str) -> Arrival:
    """What the arguments of a command become that a shell reads as ``text``."""
    found, fault = tokens(text)
    if fault is not None:
        return Arrival(fault=fault.sentence)
    words: list[str] = []
    for token in found:
        if token.operator:
            return Arrival(tuple(words), ends=token.text)
        unknown = _replaced(token.pieces)
        if unknown:
            return Arrival(tuple(words), replaced=unknown)
        words += ["".join(char for char, _ in word) for word in _braces(_chars(token.pieces)) if word]
        if len(words) > MAX_WORDS:
            break
    return Arrival(tuple(words))


def _replaced(pieces: tuple[Piece, ...]) -> str:
    found = next((piece.text for piece in pieces if piece.opaque or piece.name), "")
    if found or len(pieces) != 1 or pieces[0].quoted:
        return found
    home, files = _HOME.match(pieces[0].text), _FILES.match(pieces[0].text)
    return home[1] if home else files[1] if files else ""


def _chars(pieces: tuple[Piece, ...]) -> list[_Char]:
    """The characters of a word; an empty one stands for quotes with nothing between, which keep a word."""
    chars: list[_Char] = []
    for piece in pieces:
        chars += [(char, piece.quoted) for char in piece.text] or [("", piece.quoted)]
    return chars


def _braces(word: list[_Char]) -> list[list[_Char]]:
    """The words that ``{a,b}`` and ``{1..3}`` make of one (bash manual, 3.5.1)."""
    done: list[list[_Char]] = []
    left = [word]
    while left:
        current = left.pop()
        made = None if len(done) + len(left) > MAX_WORDS else _first_braces(current)
        if made is None:
            done.append(current)
        else:
            left += reversed(made)
    return done


def _first_braces(word: list[_Char]) -> list[list[_Char]] | None:
    """The words that the first braces with something to choose from make; None where there are none."""
    for start, char in enumerate(word):
        if char != ("{", False):
            continue
        end, commas = _closing(word, start)
        if end is None:
            continue
        inside = word[start + 1 : end]
        choices = _split(word, [start, *commas, end]) if commas else _sequence(inside)
        if choices:
            return [word[:start] + choice + word[end + 1 :] for choice in choices]
    return None


def _closing(word: list[_Char], start: int) -> tuple[int | None, list[int]]:
    """Where the brace at ``start`` is closed, and the commas that belong to it.

    As in bash, a brace is closed only behind a comma or two dots of its own, and {} begins no word.
    """
    depth, dots, commas = 0, False, list[int]()
    if start == 0 and word[1:2] == [("}", False)]:
        return None, []
    for at in range(start + 1, len(word)):
        match word[at]:
            case ("{", False):
                depth += 1
            case ("}", False) if depth:
                depth -= 1
            case ("}", False) if commas or dots:
                return at, commas
            case (",", False) if not depth:
                commas.append(at)
            case (".", False) if not depth and word[at + 1 : at + 2] == [(".", False)]:
                dots = dots or word[at + 2 : at + 3] != [("}", False)]
    return None, []


def _split(word: list[_Char], at: list[int]) -> list[list[_Char]]:
    return [word[a + 1 : b] for a, b in pairwise(at)]


def _sequence(inside: list[_Char]) -> list[list[_Char]]:
    """The texts of ``1..3`` or ``a..c``; none for anything else."""
    match = _SEQUENCE.fullmatch("".join(char for char, _ in inside))
    if match is None or any(quoted for _, quoted in inside):
        return []
    if match[1]:
        first, last = int(match[1]), int(match[2])
    else:
        first, last = ord(match[3]), ord(match[4])
    step = 1 if last >= first else -1
    numbers = range(first, last + step, step)[: MAX_WORDS + 1]
    return [[(c, True) for c in (str(n) if match[1] else chr(n))] for n in numbers]
