"""Expands the pieces of a shell word to the words that the program receives: braces, references,
splitting."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import NamedTuple
from podplan.launchers.tokens import Piece, Token
from podplan.launchers.words import MAX_ARGUMENTS_LENGTH, Word

MAX_BRACE_WORDS = 1_000  # words from the braces of one word
_BLANKS_PATTERN = compile_lazily(r"([ \t\n]+)")
_GLOB_PATTERN = compile_lazily(r"[*?\[]")
_SEQUENCE_PATTERN = compile_lazily(
    r"(?:(-?[0-9]{1,9})\.\.(-?[0-9]{1,9})|([A-Za-z])\.\.([A-Za-z]))(?:\.\.(-?[0-9]{1,9}))?\Z"
)
_ASSIGNED_TILDE_PATTERN = compile_lazily(r"[A-Za-z_][A-Za-z0-9_]*=~(?=/|\Z)")

# A piece, or one character of unquoted text.
Atom = Piece | str


class ShellScope:
    """The state of a shell while its string is parsed: variables, ``$1`` and so on.

    The budget stops a string that doubles a variable repeatedly, or repeats ``$@``; when it is used up, every
    value is unknown. It is counted as Linux does: the text, its terminator, and a pointer for each word.
    """

    def __init__(self, variables: dict[str, str | None], positional: Sequence[Word] | None) -> None:
        self.variables = variables
        self.positional = positional
        self.budget = MAX_ARGUMENTS_LENGTH
        self._positional_length = sum(len(word.text) + 9 for word in (positional or ())[1:])

    def reserve_positional(self) -> bool:
        """Whether the budget allows another expansion of ``$@``, whose size it then deducts."""
        self.budget -= self._positional_length
        return self.budget >= 0

    def get_value(self, name: str) -> str | None:
        """Return the value of a name; None if it is unknown."""
        positional = self.positional
        if name == "#" and positional is not None:
            return str(len(positional[1:]))
        if name.isdigit() and positional is not None:
            return (
                positional[int(name)].text
                if int(name) < len(positional) and positional[int(name)].is_known
                else None
            )
        return self.variables.get(name)


class _TextPart(NamedTuple):
    """A part of a text; with ``may_split`` the shell splits it at blanks."""

    text: str
    is_quoted: bool
    may_split: bool = False
    is_known: bool = True


def expand_token(token: Token, scope: ShellScope, *, braces: bool = True) -> list[Word]:
    """Return the words that one written word expands to: often one, none for an empty variable, several
    for ``$@``."""
    unexpanded_word = Word(token.text, start=token.start, end=token.end)
    expanded_words: list[Word] = []
    for pieces in _expand_braces(token.pieces) if braces else [token.pieces]:
        if pieces is None:
            return [unexpanded_word._replace(is_known=False, may_split=True)]
        expanded_words += _split_fields(pieces, scope, unexpanded_word)
    return expanded_words


def expand_value(pieces: Sequence[Piece], scope: ShellScope) -> str | None:
    """Return the value of an assignment or the target of a redirection, which is not split; None if it is
    unknown."""
    parts = list(_expand_pieces(_expand_tilde(pieces, scope), scope))
    return "".join(part.text for part in parts) if all(part.is_known for part in parts) else None


def _split_fields(pieces: Sequence[Piece], scope: ShellScope, unexpanded_word: Word) -> list[Word]:
    finished_words: list[Word] = []
    current: Word | None = None

    def append_text(appended: str, *, pattern: bool = False) -> Word:
        previous = current if current is not None else unexpanded_word._replace(text="")
        return previous._replace(text=previous.text + appended, is_pattern=pattern or previous.is_pattern)

    for part in _expand_pieces(_expand_tilde(pieces, scope), scope):
        if not part.is_known:
            splits = part.may_split or (current is not None and current.may_split)
            current = append_text(part.text)._replace(is_known=False, may_split=splits)
        elif not part.may_split:
            pattern = not part.is_quoted and bool(_GLOB_PATTERN.search(part.text))
            current = append_text(part.text, pattern=pattern)
        elif part.text == "$@":
            positional_words = list(scope.positional or ())[1:]
            if positional_words and current is not None:
                positional_words[0] = positional_words[0]._replace(
                    text=current.text + positional_words[0].text
                )
            if positional_words:
                finished_words += positional_words[:-1]
                current = positional_words[-1]
        else:
            for number, field_text in enumerate(_BLANKS_PATTERN.split(part.text)):
                if number % 2:
                    finished_words += [current] if current is not None else []
                    current = None
                elif field_text:
                    current = append_text(field_text, pattern=bool(_GLOB_PATTERN.search(field_text)))
    return finished_words if current is None else [*finished_words, current]


def _expand_pieces(pieces: Sequence[Piece], scope: ShellScope) -> Iterator[_TextPart]:
    """Yield the pieces with their references replaced by known values."""
    for piece in pieces:
        if piece.name in ("@", "*") and scope.positional is not None and not piece.operator:
            if not scope.reserve_positional():
                yield _TextPart(piece.text, piece.is_quoted, may_split=not piece.is_quoted, is_known=False)
            elif piece.is_quoted and piece.name == "*":
                yield _TextPart(" ".join(word.text for word in scope.positional[1:]), is_quoted=True)
            else:
                yield _TextPart("$@", is_quoted=False, may_split=True)
        elif piece.is_opaque:
            yield _TextPart(piece.text, piece.is_quoted, may_split=not piece.is_quoted, is_known=False)
        elif not piece.name:
            yield _TextPart(piece.text, piece.is_quoted)
        else:
            yield from _expand_reference(piece, scope)


def _expand_reference(piece: Piece, scope: ShellScope) -> Iterator[_TextPart]:
    value = scope.get_value(piece.name)
    operator = piece.operator.lstrip(":")
    if value is None or (operator == "?" and not value):
        yield _TextPart(piece.text, piece.is_quoted, may_split=not piece.is_quoted, is_known=False)
        return
    is_set = bool(value) or not piece.operator.startswith(":")
    if operator == "+" and not is_set:
        yield _TextPart("", piece.is_quoted, may_split=not piece.is_quoted)
    elif operator == "+" or (operator and not is_set):
        for part in _expand_pieces(piece.default_pieces, scope):
            yield part._replace(may_split=not part.is_quoted)
    else:
        scope.budget -= len(value)
        if scope.budget >= 0 and not piece.is_quoted:  # splitting counts against the budget, too
            scope.budget -= 9 * len(value.split())
        is_known = scope.budget >= 0
        yield _TextPart(
            value if is_known else piece.text,
            piece.is_quoted,
            may_split=not piece.is_quoted,
            is_known=is_known,
        )


def _expand_tilde(pieces: Sequence[Piece], scope: ShellScope) -> Sequence[Piece]:
    """Expand ``~`` at the start of a word, or of an assigned value, to the home directory."""
    first_piece = pieces[0] if pieces else Piece("")
    if first_piece.is_quoted or first_piece.name or first_piece.is_opaque or "~" not in first_piece.text:
        return pieces
    if first_piece.text.startswith("~"):
        tilde_index = 0
    elif match := _ASSIGNED_TILDE_PATTERN.match(first_piece.text):
        tilde_index = match.end() - 1
    else:
        return pieces
    user = first_piece.text[tilde_index + 1 :].partition("/")[0]
    if not user and len(pieces) > 1 and first_piece.text == first_piece.text[: tilde_index + 1]:
        return pieces
    home = scope.variables.get("HOME") if not user else None
    tilde = (
        Piece(first_piece.text[tilde_index : tilde_index + 1 + len(user)], is_opaque=True)
        if home is None
        else Piece(home, is_quoted=True)
    )
    return [
        Piece(first_piece.text[:tilde_index]),
        tilde,
        Piece(first_piece.text[tilde_index + 1 + len(user) :]),
        *pieces[1:],
    ]


def _expand_braces(pieces: tuple[Piece, ...]) -> Iterator[Sequence[Piece] | None]:
    """Yield the words from ``{a,b}`` and ``{1..3}``; None if there are too many."""
    plain_texts = [piece.text for piece in pieces if _is_plain_piece(piece)]
    if not any("{" in part for part in plain_texts):
        yield pieces
        return
    atoms: list[Atom] = []
    for piece in pieces:
        atoms += piece.text if _is_plain_piece(piece) else [piece]
    if sum(part.count("{") for part in plain_texts) > 64:
        yield None
        return
    alternatives = _list_alternatives(atoms)
    if alternatives is None:
        yield None
        return
    for alternative in alternatives:
        yield _join_atoms(alternative)


def _list_alternatives(atoms: Sequence[Atom]) -> list[list[Atom]] | None:
    """Return the combinations of all braces, in the order of bash; None for more than MAX_BRACE_WORDS."""
    for start, atom in enumerate(atoms):
        if atom != "{" or (start == 0 and list(atoms[1:2]) == ["}"]):
            continue
        parts, end = _split_braces(atoms, start)
        if end < 0:
            continue
        choices = _list_choices(parts)
        if choices is None:
            continue
        suffixes = _list_alternatives(atoms[end + 1 :])
        if suffixes is None or any(choice is None for choice in choices):
            return None
        infixes = [one for choice in choices if choice is not None for one in choice]
        if len(infixes) * len(suffixes) > MAX_BRACE_WORDS:
            return None
        prefix = list(atoms[:start])
        return [[*prefix, *one, *rest] for one in infixes for rest in suffixes]
    return [list(atoms)]


def _split_braces(atoms: Sequence[Atom], start: int) -> tuple[list[Sequence[Atom]], int]:
    """Return the parts between the brace at ``start`` and its closing brace, split at commas, and the end.

    As in bash, a brace closes only after a comma or two dots; otherwise it is text.
    """
    parts: list[Sequence[Atom]] = []
    depth, part_start, is_divided = 0, start + 1, False
    for index in range(start + 1, len(atoms)):
        atom = atoms[index]
        if atom == "}" and depth == 0 and is_divided:
            return [*parts, atoms[part_start:index]], index
        if atom in ("{", "}"):
            depth = max(0, depth + (1 if atom == "{" else -1))
        elif depth == 0 and atom == ",":
            parts.append(atoms[part_start:index])
            part_start, is_divided = index + 1, True
        elif (
            depth == 0
            and list(atoms[index : index + 2]) == [".", "."]
            and list(atoms[index + 2 : index + 3]) != ["}"]
        ):
            is_divided = True
    return [], -1


def _list_choices(parts: list[Sequence[Atom]]) -> list[list[list[Atom]] | None] | None:
    """Return the alternatives of one pair of braces; None if they are literal braces."""
    if len(parts) > 1:
        return [_list_alternatives(part) for part in parts]
    if not all(isinstance(atom, str) for atom in parts[0]):
        return None
    match = _SEQUENCE_PATTERN.match("".join(str(atom) for atom in parts[0]))
    if match is None:
        return None
    numeric = match[1] is not None
    range_start, range_end = (int(match[1]), int(match[2])) if numeric else (ord(match[3]), ord(match[4]))
    step = abs(int(match[5] or 1)) or 1
    if abs(range_end - range_start) // step >= MAX_BRACE_WORDS:
        return [None]
    values = (
        range(range_start, range_end + 1, step)
        if range_start <= range_end
        else range(range_start, range_end - 1, -step)
    )
    if not numeric:
        return [[[chr(value)]] for value in values]
    padded = any(re.match(r"-?0[0-9]", end) for end in (match[1], match[2]))
    width = max(len(match[1]), len(match[2])) if padded else 0
    return [[list(f"{value:0{width}d}" if width else str(value))] for value in values]


def _is_plain_piece(piece: Piece) -> bool:
    """Whether a piece is unquoted text."""
    return not (piece.is_quoted or piece.name or piece.is_opaque)


def _extends_name(piece: Piece, character: str) -> bool:
    """Whether ``character`` would extend the name of a reference: bash parses names after expanding
    braces."""
    is_bare_reference = piece.name.isidentifier() and piece.text == f"${piece.name}" and not piece.is_quoted
    return is_bare_reference and character.isascii() and (character.isalnum() or character == "_")


def _join_atoms(atoms: Sequence[Atom]) -> list[Piece]:
    """Join adjacent characters to pieces."""
    pieces: list[Piece] = []
    for atom in atoms:
        if isinstance(atom, Piece):
            pieces.append(atom)
        elif pieces and _extends_name(pieces[-1], atom):
            name = pieces[-1].name + atom
            pieces[-1] = pieces[-1]._replace(text=f"${name}", name=name)
        elif pieces and _is_plain_piece(pieces[-1]):
            pieces[-1] = pieces[-1]._replace(text=pieces[-1].text + atom)
        else:
            pieces.append(Piece(atom))
    return pieces
