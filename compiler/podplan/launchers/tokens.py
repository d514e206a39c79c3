"""Tokenizer for shell strings: words and operators, by the rules of POSIX 2.3 and some of bash.

https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html
"""

from __future__ import annotations

import re

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import NamedTuple

MAX_NESTING = 8  # of ${A:-${B:-…}}

OPERATOR_PATTERN = compile_lazily(r"&&|\|\||;;&|;;|;&|\|&|&>>|&>|<<<|<<-|<<|<&|<>|>>|>&|>\||[;&|<>()\n]")
REDIRECTIONS = {"&>>", "&>", "<<<", "<<-", "<<", "<&", "<>", ">>", ">&", ">|", "<", ">"}
_BLANK_PATTERN = compile_lazily(r"(?:[ \t]|\\\n)+")
_COMMENT_PATTERN = compile_lazily(r"[^\n]*")
_PLAIN_PATTERN = compile_lazily(r"[^ \t\n'\"\\$`;&|<>()]+")
_DOUBLE_QUOTED_PATTERN = compile_lazily(r'[^"\\$`]+')
_BRACED_PATTERN = compile_lazily(r"[^'\"\\$`]+")
_NAME_PATTERN = compile_lazily(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_PARAMETER_PATTERN = compile_lazily(
    r"([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])(?:(:?[-=+?])(.*))?\Z", re.DOTALL
)
_ARRAY_PATTERN = compile_lazily(r"[A-Za-z_][A-Za-z0-9_]*\+?=\Z")
_NESTING_PATTERN = compile_lazily(r"[\\'\"`(){}]|\$[({]?")
_ANSI_PATTERN = compile_lazily(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|([0-7]{1,3})|(.))|[^\\']+", re.DOTALL
)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


class Piece(NamedTuple):
    """A part of a word: text, or a reference to the variable ``name``, written as ``text``.

    ``operator`` and ``default_pieces`` are those of ``${NAME:-default}``. Only a running shell can evaluate
    what ``is_opaque``: command substitution, arithmetic, pattern removal.
    """

    text: str
    is_quoted: bool = False
    name: str = ""
    operator: str = ""
    default_pieces: tuple[Piece, ...] = ()
    is_opaque: bool = False


class Token(NamedTuple):
    """A word with its pieces, or an operator, with offsets into the string; a newline is an operator."""

    text: str
    start: int
    end: int
    pieces: tuple[Piece, ...] = ()
    is_operator: bool = False


class ShellSyntaxError(NamedTuple):
    """A syntax error of a shell string, and its offset."""

    offset: int
    message: str


class TokenizeError(Exception):
    """Raised for an unterminated word; only used in this module."""


def tokenize(text: str) -> tuple[list[Token], ShellSyntaxError | None]:
    """Tokenize a shell string up to its end or a syntax error; the bodies of here-documents are skipped."""
    token_list: list[Token] = []
    heredocs: list[tuple[str, bool]] = []
    position = 0
    try:
        while position < len(text):
            if blank := _BLANK_PATTERN.match(text, position):
                position = blank.end()
            elif text[position] == "#":
                position = _match_end(_COMMENT_PATTERN, text, position)
            elif operator := OPERATOR_PATTERN.match(text, position):
                token_list.append(Token(operator[0], position, operator.end(), is_operator=True))
                position = operator.end()
                if operator[0] == "\n" and heredocs:
                    position = _skip_heredoc_bodies(text, position, heredocs)
            else:
                pieces, end = _scan_word(text, position)
                if token_list and token_list[-1].text in ("<<", "<<-") and token_list[-1].is_operator:
                    heredocs.append(("".join(piece.text for piece in pieces), token_list[-1].text == "<<-"))
                if pieces:
                    token_list.append(Token(text[position:end], position, end, pieces))
                position = end
    except TokenizeError as refused:
        offset, message = refused.args
        return token_list, ShellSyntaxError(offset, message)
    return token_list, None


def find_comments(text: str) -> list[tuple[int, int]]:
    """Return the ranges of the comments of a shell string, without line breaks; none if it has
    here-documents."""
    found, fault = tokenize(text)
    if any(token.is_operator and token.text in ("<<", "<<-") for token in found):
        return []
    end = len(text) if fault is None else fault.offset
    places: list[tuple[int, int]] = []
    at = 0
    for start, stop in [*((token.start, token.end) for token in found), (end, end)]:
        while (blank := _BLANK_PATTERN.match(text, at)) is not None:
            at = blank.end()
        if at < start and text[at] == "#":
            places.append((at, start))
        at = stop
    return places


def _skip_heredoc_bodies(text: str, position: int, heredocs: list[tuple[str, bool]]) -> int:
    """Return the offset after the bodies of the here-documents announced on the line before ``position``."""
    for delimiter, strips_tabs in heredocs:
        while position < len(text):
            end = text.find("\n", position)
            end = len(text) if end < 0 else end
            line = text[position:end]
            position = end + 1
            if (line.lstrip("\t") if strips_tabs else line) == delimiter:
                break
    heredocs.clear()
    return min(position, len(text))


def _scan_word(text: str, position: int) -> tuple[tuple[Piece, ...], int]:
    """Return the pieces of the word that starts at ``position``, and its end."""
    pieces: list[Piece] = []
    start = position
    while position < len(text):
        char = text[position]
        if plain := _PLAIN_PATTERN.match(text, position):
            pieces.append(Piece(plain[0]))
            position = plain.end()
        elif char == "(" and _ARRAY_PATTERN.match(text[start:position]):
            end = _find_closer(text, position + 1, ")", position)
            pieces.append(Piece(text[position:end], is_opaque=True))
            position = end
        elif char in " \t\n;&|<>()":
            break
        else:
            special_pieces, position = _scan_special(text, position)
            pieces += special_pieces
    return tuple(pieces), min(position, len(text))


def _scan_special(text: str, position: int, depth: int = 0) -> tuple[list[Piece], int]:
    """Return the pieces of an unquoted quote, backslash, ``$`` or backtick at ``position``, and the end."""
    char, next_char = text[position], text[position + 1 : position + 2]
    if char == "'":
        end = text.find("'", position + 1)
        if end < 0:
            raise TokenizeError(position, "the single quote is never closed")
        return [Piece(text[position + 1 : end], is_quoted=True)], end + 1
    if char == '"':
        return _scan_double_quotes(text, position, depth)
    if char == "\\":
        if next_char == "\n":
            return [], position + 2
        return [Piece(next_char or "\\", is_quoted=True)], position + 2
    if char == "$" and next_char == "'":
        return _scan_ansi_quotes(text, position)
    if char == "$" and next_char == '"':
        return _scan_double_quotes(text, position + 1, depth)
    return _scan_dollar(text, position, quoted=False, depth=depth)


def _scan_double_quotes(text: str, position: int, depth: int) -> tuple[list[Piece], int]:
    """Return the pieces between double quotes; an empty one if there is nothing between them."""
    start, position = position, position + 1
    pieces = [Piece("", is_quoted=True)]
    while position < len(text):
        if plain := _DOUBLE_QUOTED_PATTERN.match(text, position):
            pieces.append(Piece(plain[0], is_quoted=True))
            position = plain.end()
        elif text[position] == '"':
            return pieces, position + 1
        elif text[position] == "\\":
            escaped = text[position + 1 : position + 2]
            unescaped = "" if escaped == "\n" else escaped if escaped in '$`"\\' else "\\" + escaped
            pieces.append(Piece(unescaped, is_quoted=True))
            position += 2
        else:
            dollar_pieces, position = _scan_dollar(text, position, quoted=True, depth=depth)
            pieces += dollar_pieces
    raise TokenizeError(start, "the double quote is never closed")


def _scan_ansi_quotes(text: str, position: int) -> tuple[list[Piece], int]:
    """Return the text of ``$'…'``."""
    start, position = position, position + 2
    parts: list[str] = []
    while position < len(text) and text[position] != "'":
        match = _ANSI_PATTERN.match(text, position)
        if match is None:
            break
        code = match[1] or match[2]
        if code or match[3]:
            parts.append(chr(int(code, 16) if code else int(match[3], 8) & 0xFF))
        elif match[4]:
            parts.append(_ANSI_LETTERS.get(match[4], match[4] if match[4] in "\\'\"?" else match[0]))
        else:
            parts.append(match[0])
        position = match.end()
    if text[position : position + 1] != "'":
        raise TokenizeError(start, "the single quote is never closed")
    return [Piece("".join(parts), is_quoted=True)], position + 1


def _scan_dollar(text: str, position: int, *, quoted: bool, depth: int) -> tuple[list[Piece], int]:
    """Return what a ``$`` or a backtick starts: a reference, an opaque piece, or a literal."""
    if text[position] == "`":
        end = _find_closer(text, position + 1, "`", position)
        return [Piece(text[position:end], quoted, is_opaque=True)], end
    next_char = text[position + 1 : position + 2]
    if next_char == "(":
        end = _find_closer(text, position + 2, ")", position)
        return [Piece(text[position:end], quoted, is_opaque=True)], end
    if next_char == "{":
        end = _find_closer(text, position + 2, "}", position)
        return [_parse_parameter(text[position:end], quoted, depth)], end
    if name := _NAME_PATTERN.match(text, position + 1):
        return [Piece(text[position : name.end()], quoted, name[0])], name.end()
    return [Piece("$", quoted)], position + 1


def _parse_parameter(text: str, quoted: bool, depth: int) -> Piece:
    """Parse the reference ``${…}``."""
    match = _PARAMETER_PATTERN.match(text[2:-1])
    if match is None or (match[2] and depth >= MAX_NESTING):
        return Piece(text, quoted, is_opaque=True)
    default_pieces = tuple(_scan_default(match[3], quoted, depth + 1)) if match[3] else ()
    return Piece(text, quoted, match[1], match[2] or "", default_pieces)


def _scan_default(text: str, quoted: bool, depth: int) -> list[Piece]:
    """Return the pieces of the word after the operator of ``${NAME:-word}``, including blanks."""
    pieces: list[Piece] = []
    position = 0
    while position < len(text):
        if plain := _BRACED_PATTERN.match(text, position):
            pieces.append(Piece(plain[0], quoted))
            position = plain.end()
        elif quoted and text[position] == "'":
            pieces.append(Piece("'", is_quoted=True))
            position += 1
        elif quoted and text[position] == "\\":
            pieces.append(Piece(text[position + 1 : position + 2], is_quoted=True))
            position += 2
        else:
            special_pieces, position = _scan_special(text, position, depth)
            pieces += (
                [piece._replace(is_quoted=True) for piece in special_pieces] if quoted else special_pieces
            )
    return pieces


def _find_closer(text: str, position: int, closer: str, start: int) -> int:
    """Return the offset after the ``closer`` of what began at ``start``; one pass, also if nested."""
    stack = [closer]
    while match := _NESTING_PATTERN.search(text, position):
        matched, top = match[0], stack[-1]
        position = match.end()
        if matched == "\\":
            position += 1
        elif matched == top:
            stack.pop()
            if not stack:
                return position
        elif top == "`":
            continue
        elif matched in ("$(", "${"):
            stack.append(")" if matched == "$(" else "}")
        elif matched == "`":
            stack.append("`")
        elif top == '"':
            continue
        elif matched == '"':
            stack.append('"')
        elif matched == "'":
            position = text.find("'", position) + 1
            if position == 0:
                break
        elif matched == "(" and top == ")":
            stack.append(")")
    raise TokenizeError(start, f"{text[start : start + 2].rstrip()} is never closed")


def _match_end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position
