"""The words that a shell on another host parses from a text, as bash does.

The words of a command line are those of :mod:`podplan.launchers.tokens`, with the braces of bash expanded.
"""

from __future__ import annotations

import re
from itertools import pairwise

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import NamedTuple
from podplan.launchers.tokens import Piece, tokenize

MAX_EXPANDED_WORDS = 64  # of one argument; more are as wrong as two
_SEQUENCE_PATTERN = compile_lazily(r"(-?\d{1,9})\.\.(-?\d{1,9})|([A-Za-z])\.\.([A-Za-z])")


class ReceivedWords(NamedTuple):
    """The words that a program on another host gets from the shell there, or why that is not certain.

    ``error`` is what the shell cannot parse. ``terminator`` is the operator at which it ends the command.
    ``substitution`` is the text that it replaces by a value that is only known there. If it ``absorbs_next``,
    the next word becomes part of the last one.
    """

    words: tuple[str, ...] = ()
    error: str = ""
    terminator: str = ""
    substitution: str = ""
    absorbs_next: bool = False


# The home folder at the start of a word, or of a value that looks like an assignment.
_HOME_PATTERN = compile_lazily(r"(?:[A-Za-z_]\w*=)?(~)(?:/|\Z)")
# A path pattern that probably matches files.
_GLOB_PATTERN = compile_lazily(r"(/.*[*?].*|\*)\Z", re.DOTALL)

# A character of a word, and whether quotes remove its special meaning.
_Character = tuple[str, bool]


def parse_remote_words(text: str) -> ReceivedWords:
    """Return the arguments of a command that a shell parses from ``text``."""
    parsed_tokens, error = tokenize(text)
    if error is not None:
        return ReceivedWords(error=error.message)
    words: list[str] = []
    for token in parsed_tokens:
        if token.is_operator:
            return ReceivedWords(tuple(words), terminator=token.text)
        substitution = _find_substitution(token.pieces)
        if substitution:
            return ReceivedWords(tuple(words), substitution=substitution)
        words += [
            "".join(char for char, _ in word) for word in _expand_braces(_to_characters(token.pieces)) if word
        ]
        if len(words) > MAX_EXPANDED_WORDS:
            break
    return ReceivedWords(tuple(words))


def _find_substitution(pieces: tuple[Piece, ...]) -> str:
    opaque_text = next((piece.text for piece in pieces if piece.is_opaque or piece.name), "")
    if opaque_text or len(pieces) != 1 or pieces[0].is_quoted:
        return opaque_text
    home, files = _HOME_PATTERN.match(pieces[0].text), _GLOB_PATTERN.match(pieces[0].text)
    return home[1] if home else files[1] if files else ""


def _to_characters(pieces: tuple[Piece, ...]) -> list[_Character]:
    """Return the characters of a word; an empty one represents empty quotes, which make an empty word."""
    characters: list[_Character] = []
    for piece in pieces:
        characters += [(char, piece.is_quoted) for char in piece.text] or [("", piece.is_quoted)]
    return characters


def _expand_braces(word: list[_Character]) -> list[list[_Character]]:
    """Expand ``{a,b}`` and ``{1..3}`` in a word (bash manual, 3.5.1)."""
    expanded: list[list[_Character]] = []
    pending = [word]
    while pending:
        current = pending.pop()
        alternatives = (
            None if len(expanded) + len(pending) > MAX_EXPANDED_WORDS else _expand_first_braces(current)
        )
        if alternatives is None:
            expanded.append(current)
        else:
            pending += reversed(alternatives)
    return expanded


def _expand_first_braces(word: list[_Character]) -> list[list[_Character]] | None:
    """Expand the first braces with alternatives; None if there are none."""
    for start, char in enumerate(word):
        if char != ("{", False):
            continue
        end, commas = _find_closing_brace(word, start)
        if end is None:
            continue
        inside = word[start + 1 : end]
        choices = _split_at(word, [start, *commas, end]) if commas else _expand_sequence(inside)
        if choices:
            return [word[:start] + choice + word[end + 1 :] for choice in choices]
    return None


def _find_closing_brace(word: list[_Character], start: int) -> tuple[int | None, list[int]]:
    """Return the end of the brace at ``start``, and its commas.

    As in bash, a brace closes only after a comma or two dots of its own, and {} begins no word.
    """
    depth, dots, commas = 0, False, list[int]()
    if start == 0 and word[1:2] == [("}", False)]:
        return None, []
    for index in range(start + 1, len(word)):
        match word[index]:
            case ("{", False):
                depth += 1
            case ("}", False) if depth:
                depth -= 1
            case ("}", False) if commas or dots:
                return index, commas
            case (",", False) if not depth:
                commas.append(index)
            case (".", False) if not depth and word[index + 1 : index + 2] == [(".", False)]:
                dots = dots or word[index + 2 : index + 3] != [("}", False)]
    return None, []


def _split_at(word: list[_Character], indexes: list[int]) -> list[list[_Character]]:
    return [word[a + 1 : b] for a, b in pairwise(indexes)]


def _expand_sequence(inside: list[_Character]) -> list[list[_Character]]:
    """Return the texts of ``1..3`` or ``a..c``; none for anything else."""
    match = _SEQUENCE_PATTERN.fullmatch("".join(char for char, _ in inside))
    if match is None or any(quoted for _, quoted in inside):
        return []
    if match[1]:
        first, last = int(match[1]), int(match[2])
    else:
        first, last = ord(match[3]), ord(match[4])
    step = 1 if last >= first else -1
    numbers = range(first, last + step, step)[: MAX_EXPANDED_WORDS + 1]
    return [[(c, True) for c in (str(n) if match[1] else chr(n))] for n in numbers]
