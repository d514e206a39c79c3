"""From the pieces of a shell word to the words that the program gets: braces, references, splitting."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from podplan.core.lazy_regex import pattern
from podplan.core.typing import NamedTuple
from podplan.launchers.tokens import Piece, Token
from podplan.launchers.words import MAX_ARGUMENTS, Word

MAX_BRACED = 1_000  # words that the braces of one word may make
_SPLIT = pattern(r"([ \t\n]+)")
_PATTERN = pattern(r"[*?\[]")
_SEQUENCE = pattern(r"(?:(-?[0-9]{1,9})\.\.(-?[0-9]{1,9})|([A-Za-z])\.\.([A-Za-z]))(?:\.\.(-?[0-9]{1,9}))?\Z")
_ASSIGNED_HOME = pattern(r"[A-Za-z_][A-Za-z0-9_]*=~(?=/|\Z)")

# A piece, or one character of the text that stands outside of quotes.
Atom = Piece | str


class Scope:
    """What a shell knows while it reads a string: variables, ``$1`` and so on.

    The budget ends a string that doubles a variable again and again, or repeats ``$@``; beyond it nothing is
    known. It is counted as Linux does: the text, its end, and a pointer for each word.
    """

    def __init__(self, variables: dict[str, str | None], positional: Sequence[Word] | None) -> None:
        self.variables = variables
        self.positional = positional
        self.budget = MAX_ARGUMENTS
        self._all_given = sum(len(word.text) + 9 for word in (positional or ())[1:])

    def has_room_for_all(self) -> bool:
        """Whether the budget allows for ``$@`` once more, which it then pays."""
        self.budget -= self._all_given
        return self.budget >= 0

    def value(self, name: str) -> str | None:
        """What a name stands for; None where that is not known."""
        given = self.positional
        if name == "#" and given is not None:
            return str(len(given[1:]))
        if name.isdigit() and given is not None:
            return given[int(name)].text if int(name) < len(given) and given[int(name)].known else None
        return self.variables.get(name)


class _Part(NamedTuple):
    """A stretch of text; ``splits`` where the shell splits it at blanks."""

    text: str
    quoted: bool
    splits: bool = False
    known: bool = True


def words(token: Token, scope: Scope, *, braces: bool = True) -> list[Word]:
    """The words that one written word becomes: often one, none for an empty variable, several for ``$@``."""
    whole = Word(token.text, start=token.start, end=token.end)
    found: list[Word] = []
    for pieces in _braced(token.pieces) if braces else [token.pieces]:
        if pieces is None:
            return [whole._replace(known=False, splits=True)]
        found += _fields(pieces, scope, whole)
    return found


def text(pieces: Sequence[Piece], scope: Scope) -> str | None:
    """The value of an assignment or the target of a redirection: not split; None where it is not known."""
    parts = list(_parts(_at_home(pieces, scope), scope))
    return "".join(part.text for part in parts) if all(part.known for part in parts) else None


def _fields(pieces: Sequence[Piece], scope: Scope, whole: Word) -> list[Word]:
    made: list[Word] = []
    current: Word | None = None

    def grown(part: str, *, pattern: bool = False) -> Word:
        before = current if current is not None else whole._replace(text="")
        return before._replace(text=before.text + part, pattern=pattern or before.pattern)

    for part in _parts(_at_home(pieces, scope), scope):
        if not part.known:
            splits = part.splits or (current is not None and current.splits)
            current = grown(part.text)._replace(known=False, splits=splits)
        elif not part.splits:
            pattern = not part.quoted and bool(_PATTERN.search(part.text))
            current = grown(part.text, pattern=pattern)
        elif part.text == "$@":
            given = list(scope.positional or ())[1:]
            if given and current is not None:
                given[0] = given[0]._replace(text=current.text + given[0].text)
            if given:
                made += given[:-1]
                current = given[-1]
        else:
            for number, field in enumerate(_SPLIT.split(part.text)):
                if number % 2:
                    made += [current] if current is not None else []
                    current = None
                elif field:
                    current = grown(field, pattern=bool(_PATTERN.search(field)))
    return made if current is None else [*made, current]


def _parts(pieces: Sequence[Piece], scope: Scope) -> Iterator[_Part]:
    """The pieces with their references replaced where the value is known."""
    for piece in pieces:
        if piece.name in ("@", "*") and scope.positional is not None and not piece.operator:
            if not scope.has_room_for_all():
                yield _Part(piece.text, piece.quoted, splits=not piece.quoted, known=False)
            elif piece.quoted and piece.name == "*":
                yield _Part(" ".join(word.text for word in scope.positional[1:]), quoted=True)
            else:
                yield _Part("$@", quoted=False, splits=True)
        elif piece.opaque:
            yield _Part(piece.text, piece.quoted, splits=not piece.quoted, known=False)
        elif not piece.name:
            yield _Part(piece.text, piece.quoted)
        else:
            yield from _reference(piece, scope)


def _reference(piece: Piece, scope: Scope) -> Iterator[_Part]:
    value = scope.value(piece.name)
    replaced = piece.operator.lstrip(":")
    if value is None or (replaced == "?" and not value):
        yield _Part(piece.text, piece.quoted, splits=not piece.quoted, known=False)
        return
    set_ = bool(value) or not piece.operator.startswith(":")
    if replaced == "+" and not set_:
        yield _Part("", piece.quoted, splits=not piece.quoted)
    elif replaced == "+" or (replaced and not set_):
        for part in _parts(piece.otherwise, scope):
            yield part._replace(splits=not part.quoted)
    else:
        scope.budget -= len(value)
        if scope.budget >= 0 and not piece.quoted:  # to split is work, too
            scope.budget -= 9 * len(value.split())
        known = scope.budget >= 0
        yield _Part(value if known else piece.text, piece.quoted, splits=not piece.quoted, known=known)


def _at_home(pieces: Sequence[Piece], scope: Scope) -> Sequence[Piece]:
    """``~`` at the start of a word, or of the value assigned, is the home directory."""
    first = pieces[0] if pieces else Piece("")
    if first.quoted or first.name or first.opaque or "~" not in first.text:
        return pieces
    if first.text.startswith("~"):
        at = 0
    elif match := _ASSIGNED_HOME.match(first.text):
        at = match.end() - 1
    else:
        return pieces
    user = first.text[at + 1 :].partition("/")[0]
    if not user and len(pieces) > 1 and first.text == first.text[: at + 1]:
        return pieces
    home = scope.variables.get("HOME") if not user else None
    tilde = (
        Piece(first.text[at : at + 1 + len(user)], opaque=True) if home is None else Piece(home, quoted=True)
    )
    return [Piece(first.text[:at]), tilde, Piece(first.text[at + 1 + len(user) :]), *pieces[1:]]


def _braced(pieces: tuple[Piece, ...]) -> Iterator[Sequence[Piece] | None]:
    """The words that ``{a,b}`` and ``{1..3}`` make; None where they are too many."""
    plain = [piece.text for piece in pieces if _plain(piece)]
    if not any("{" in part for part in plain):
        yield pieces
        return
    atoms: list[Atom] = []
    for piece in pieces:
        atoms += piece.text if _plain(piece) else [piece]
    if sum(part.count("{") for part in plain) > 64:
        yield None
        return
    expanded = _alternatives(atoms)
    if expanded is None:
        yield None
        return
    for alternative in expanded:
        yield _joined(alternative)


def _alternatives(atoms: Sequence[Atom]) -> list[list[Atom]] | None:
    """Every way through the braces, in the order of bash; None where there are more than MAX_BRACED."""
    for start, atom in enumerate(atoms):
        if atom != "{" or (start == 0 and list(atoms[1:2]) == ["}"]):
            continue
        parts, end = _between(atoms, start)
        if end < 0:
            continue
        choices = _choices(parts)
        if choices is None:
            continue
        after = _alternatives(atoms[end + 1 :])
        if after is None or any(choice is None for choice in choices):
            return None
        inner = [one for choice in choices if choice is not None for one in choice]
        if len(inner) * len(after) > MAX_BRACED:
            return None
        before = list(atoms[:start])
        return [[*before, *one, *rest] for one in inner for rest in after]
    return [list(atoms)]


def _between(atoms: Sequence[Atom], start: int) -> tuple[list[Sequence[Atom]], int]:
    """What the commas divide between the brace at ``start`` and the one that closes it, and where that is.

    As in bash, a brace closes only behind a comma or two dots; before one it is text.
    """
    parts: list[Sequence[Atom]] = []
    depth, begin, divided = 0, start + 1, False
    for at in range(start + 1, len(atoms)):
        atom = atoms[at]
        if atom == "}" and depth == 0 and divided:
            return [*parts, atoms[begin:at]], at
        if atom in ("{", "}"):
            depth = max(0, depth + (1 if atom == "{" else -1))
        elif depth == 0 and atom == ",":
            parts.append(atoms[begin:at])
            begin, divided = at + 1, True
        elif depth == 0 and list(atoms[at : at + 2]) == [".", "."] and list(atoms[at + 2 : at + 3]) != ["}"]:
            divided = True
    return [], -1


def _choices(parts: list[Sequence[Atom]]) -> list[list[list[Atom]] | None] | None:
    """What may stand in the place of one pair of braces; None where they are only braces."""
    if len(parts) > 1:
        return [_alternatives(part) for part in parts]
    if not all(isinstance(atom, str) for atom in parts[0]):
        return None
    match = _SEQUENCE.match("".join(str(atom) for atom in parts[0]))
    if match is None:
        return None
    numeric = match[1] is not None
    first, last = (int(match[1]), int(match[2])) if numeric else (ord(match[3]), ord(match[4]))
    step = abs(int(match[5] or 1)) or 1
    if abs(last - first) // step >= MAX_BRACED:
        return [None]
    values = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    if not numeric:
        return [[[chr(value)]] for value in values]
    padded = any(re.match(r"-?0[0-9]", end) for end in (match[1], match[2]))
    width = max(len(match[1]), len(match[2])) if padded else 0
    return [[list(f"{value:0{width}d}" if width else str(value))] for value in values]


def _plain(piece: Piece) -> bool:
    """Whether a piece is text outside of quotes."""
    return not (piece.quoted or piece.name or piece.opaque)


def _runs_on(piece: Piece, after: str) -> bool:
    """Whether ``after`` belongs to the name of a reference: bash looks for names after the braces."""
    bare = piece.name.isidentifier() and piece.text == f"${piece.name}" and not piece.quoted
    return bare and after.isascii() and (after.isalnum() or after == "_")


def _joined(atoms: Sequence[Atom]) -> list[Piece]:
    """Characters side by side as one piece again."""
    pieces: list[Piece] = []
    for atom in atoms:
        if isinstance(atom, Piece):
            pieces.append(atom)
        elif pieces and _runs_on(pieces[-1], atom):
            name = pieces[-1].name + atom
            pieces[-1] = pieces[-1]._replace(text=f"${name}", name=name)
        elif pieces and _plain(pieces[-1]):
            pieces[-1] = pieces[-1]._replace(text=pieces[-1].text + atom)
        else:
            pieces.append(Piece(atom))
    return pieces
