"""The words and operators of a shell string, by the rules of POSIX 2.3 and a few of bash.

https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html
"""

from __future__ import annotations

import re

from podplan.core.lazy_regex import pattern
from podplan.core.typing import NamedTuple

MAX_NESTING = 8  # of ${A:-${B:-…}}

OPERATOR = pattern(r"&&|\|\||;;&|;;|;&|\|&|&>>|&>|<<<|<<-|<<|<&|<>|>>|>&|>\||[;&|<>()\n]")
REDIRECTIONS = {"&>>", "&>", "<<<", "<<-", "<<", "<&", "<>", ">>", ">&", ">|", "<", ">"}
_BLANK = pattern(r"(?:[ \t]|\\\n)+")
_COMMENT = pattern(r"[^\n]*")
_PLAIN = pattern(r"[^ \t\n'\"\\$`;&|<>()]+")
_IN_DOUBLE = pattern(r'[^"\\$`]+')
_IN_BRACES = pattern(r"[^'\"\\$`]+")
_NAME = pattern(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_PARAMETER = pattern(r"([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])(?:(:?[-=+?])(.*))?\Z", re.DOTALL)
_ARRAY = pattern(r"[A-Za-z_][A-Za-z0-9_]*\+?=\Z")
_OF_NOTE = pattern(r"[\\'\"`(){}]|\$[({]?")
_ANSI = pattern(r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|([0-7]{1,3})|(.))|[^\\']+", re.DOTALL)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


class Piece(NamedTuple):
    """A part of a word: text, or a reference to the variable ``name``, written as ``text``.

    ``operator`` and ``otherwise`` are those of ``${NAME:-otherwise}``. What is ``opaque`` only a running
    shell can tell: command substitution, arithmetic, patterns cut off a value.
    """

    text: str
    quoted: bool = False
    name: str = ""
    operator: str = ""
    otherwise: tuple[Piece, ...] = ()
    opaque: bool = False


class Token(NamedTuple):
    """A word with its pieces, or an operator, with offsets into the string; a newline is an operator."""

    text: str
    start: int
    end: int
    pieces: tuple[Piece, ...] = ()
    operator: bool = False


class Fault(NamedTuple):
    """Why a shell cannot read on, and where."""

    offset: int
    sentence: str


class Refused(Exception):
    """What the scanner raises to leave a word that does not end; never seen outside of this module."""


def tokens(text: str) -> tuple[list[Token], Fault | None]:
    """The tokens of a shell string up to its end or the fault; the bodies of here-documents are left out."""
    found: list[Token] = []
    heredocs: list[tuple[str, bool]] = []
    at = 0
    try:
        while at < len(text):
            if blank := _BLANK.match(text, at):
                at = blank.end()
            elif text[at] == "#":
                at = _end(_COMMENT, text, at)
            elif operator := OPERATOR.match(text, at):
                found.append(Token(operator[0], at, operator.end(), operator=True))
                at = operator.end()
                if operator[0] == "\n" and heredocs:
                    at = _after_bodies(text, at, heredocs)
            else:
                pieces, end = _word(text, at)
                if found and found[-1].text in ("<<", "<<-") and found[-1].operator:
                    heredocs.append(("".join(piece.text for piece in pieces), found[-1].text == "<<-"))
                if pieces:
                    found.append(Token(text[at:end], at, end, pieces))
                at = end
    except Refused as refused:
        offset, sentence = refused.args
        return found, Fault(offset, sentence)
    return found, None


def comments(text: str) -> list[tuple[int, int]]:
    """Where the comments of a shell string are, without their line breaks; none beside here-documents."""
    found, fault = tokens(text)
    if any(token.operator and token.text in ("<<", "<<-") for token in found):
        return []
    end = len(text) if fault is None else fault.offset
    places: list[tuple[int, int]] = []
    at = 0
    for start, stop in [*((token.start, token.end) for token in found), (end, end)]:
        while (blank := _BLANK.match(text, at)) is not None:
            at = blank.end()
        if at < start and text[at] == "#":
            places.append((at, start))
        at = stop
    return places


def _after_bodies(text: str, at: int, heredocs: list[tuple[str, bool]]) -> int:
    """The offset after the bodies of here-documents that were announced in the line before ``at``."""
    for delimiter, tabs in heredocs:
        while at < len(text):
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            line = text[at:end]
            at = end + 1
            if (line.lstrip("\t") if tabs else line) == delimiter:
                break
    heredocs.clear()
    return min(at, len(text))


def _word(text: str, at: int) -> tuple[tuple[Piece, ...], int]:
    """The pieces of the word that starts at ``at``, and where it ends."""
    pieces: list[Piece] = []
    start = at
    while at < len(text):
        char = text[at]
        if plain := _PLAIN.match(text, at):
            pieces.append(Piece(plain[0]))
            at = plain.end()
        elif char == "(" and _ARRAY.match(text[start:at]):
            end = _closing(text, at + 1, ")", at)
            pieces.append(Piece(text[at:end], opaque=True))
            at = end
        elif char in " \t\n;&|<>()":
            break
        else:
            made, at = _special(text, at)
            pieces += made
    return tuple(pieces), min(at, len(text))


def _special(text: str, at: int, depth: int = 0) -> tuple[list[Piece], int]:
    """The pieces of what starts with a quote, a backslash, ``$`` or a backtick outside of double quotes."""
    char, after = text[at], text[at + 1 : at + 2]
    if char == "'":
        end = text.find("'", at + 1)
        if end < 0:
            raise Refused(at, "the single quote is never closed")
        return [Piece(text[at + 1 : end], quoted=True)], end + 1
    if char == '"':
        return _double(text, at, depth)
    if char == "\\":
        if after == "\n":
            return [], at + 2
        return [Piece(after or "\\", quoted=True)], at + 2
    if char == "$" and after == "'":
        return _ansi(text, at)
    if char == "$" and after == '"':
        return _double(text, at + 1, depth)
    return _dollar(text, at, quoted=False, depth=depth)


def _double(text: str, at: int, depth: int) -> tuple[list[Piece], int]:
    """The pieces between double quotes; an empty one where there is nothing between them."""
    start, at = at, at + 1
    pieces = [Piece("", quoted=True)]
    while at < len(text):
        if plain := _IN_DOUBLE.match(text, at):
            pieces.append(Piece(plain[0], quoted=True))
            at = plain.end()
        elif text[at] == '"':
            return pieces, at + 1
        elif text[at] == "\\":
            escaped = text[at + 1 : at + 2]
            kept = "" if escaped == "\n" else escaped if escaped in '$`"\\' else "\\" + escaped
            pieces.append(Piece(kept, quoted=True))
            at += 2
        else:
            made, at = _dollar(text, at, quoted=True, depth=depth)
            pieces += made
    raise Refused(start, "the double quote is never closed")


def _ansi(text: str, at: int) -> tuple[list[Piece], int]:
    """The text of ``$'…'``."""
    start, at = at, at + 2
    parts: list[str] = []
    while at < len(text) and text[at] != "'":
        match = _ANSI.match(text, at)
        if match is None:
            break
        code = match[1] or match[2]
        if code or match[3]:
            parts.append(chr(int(code, 16) if code else int(match[3], 8) & 0xFF))
        elif match[4]:
            parts.append(_ANSI_LETTERS.get(match[4], match[4] if match[4] in "\\'\"?" else match[0]))
        else:
            parts.append(match[0])
        at = match.end()
    if text[at : at + 1] != "'":
        raise Refused(start, "the single quote is never closed")
    return [Piece("".join(parts), quoted=True)], at + 1


def _dollar(text: str, at: int, *, quoted: bool, depth: int) -> tuple[list[Piece], int]:
    """What a ``$`` or a backtick begins: a reference, something opaque, or only itself."""
    if text[at] == "`":
        end = _closing(text, at + 1, "`", at)
        return [Piece(text[at:end], quoted, opaque=True)], end
    after = text[at + 1 : at + 2]
    if after == "(":
        end = _closing(text, at + 2, ")", at)
        return [Piece(text[at:end], quoted, opaque=True)], end
    if after == "{":
        end = _closing(text, at + 2, "}", at)
        return [_parameter(text[at:end], quoted, depth)], end
    if name := _NAME.match(text, at + 1):
        return [Piece(text[at : name.end()], quoted, name[0])], name.end()
    return [Piece("$", quoted)], at + 1


def _parameter(text: str, quoted: bool, depth: int) -> Piece:
    """The reference that ``${…}`` is."""
    match = _PARAMETER.match(text[2:-1])
    if match is None or (match[2] and depth >= MAX_NESTING):
        return Piece(text, quoted, opaque=True)
    otherwise = tuple(_otherwise(match[3], quoted, depth + 1)) if match[3] else ()
    return Piece(text, quoted, match[1], match[2] or "", otherwise)


def _otherwise(text: str, quoted: bool, depth: int) -> list[Piece]:
    """The pieces of the word after the operator of ``${NAME:-word}``; blanks belong to it."""
    pieces: list[Piece] = []
    at = 0
    while at < len(text):
        if plain := _IN_BRACES.match(text, at):
            pieces.append(Piece(plain[0], quoted))
            at = plain.end()
        elif quoted and text[at] == "'":
            pieces.append(Piece("'", quoted=True))
            at += 1
        elif quoted and text[at] == "\\":
            pieces.append(Piece(text[at + 1 : at + 2], quoted=True))
            at += 2
        else:
            made, at = _special(text, at, depth)
            pieces += [piece._replace(quoted=True) for piece in made] if quoted else made
    return pieces


def _closing(text: str, at: int, closer: str, start: int) -> int:
    """The offset after the ``closer`` of what began at ``start``; one pass, whatever is nested."""
    stack = [closer]
    while match := _OF_NOTE.search(text, at):
        found, top = match[0], stack[-1]
        at = match.end()
        if found == "\\":
            at += 1
        elif found == top:
            stack.pop()
            if not stack:
                return at
        elif top == "`":
            continue
        elif found in ("$(", "${"):
            stack.append(")" if found == "$(" else "}")
        elif found == "`":
            stack.append("`")
        elif top == '"':
            continue
        elif found == '"':
            stack.append('"')
        elif found == "'":
            at = text.find("'", at) + 1
            if at == 0:
                break
        elif found == "(" and top == ")":
            stack.append(")")
    raise Refused(start, f"{text[start : start + 2].rstrip()} is never closed")


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at
