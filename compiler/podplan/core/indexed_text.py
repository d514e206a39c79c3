"""Text that depends on the index of the replica, or that lists all replicas; expanded on request."""

from __future__ import annotations

import re

from podplan.core.typing import NamedTuple

MAX_INDEX_DIGITS = 9


class IndexDigits(NamedTuple):
    """One of the numbers that an index is made of, such as that of a Job and that of its Pod.

    It is index // ``divisor``, modulo ``modulus`` unless that is 0, plus ``offset``.
    """

    divisor: int = 1
    modulus: int = 0
    offset: int = 0

    def number_at(self, index: int) -> int:
        """Return the number for an index."""
        number = index // self.divisor
        return (number % self.modulus if self.modulus else number) + self.offset

    def range_of(self, start: int, replicas: int) -> tuple[int, int]:
        """Return the first and the last number for so many indexes."""
        last = start + replicas - 1
        if self.modulus and last // self.divisor - start // self.divisor >= self.modulus - 1:
            return self.offset, self.offset + self.modulus - 1
        return self.number_at(start), self.number_at(last)


class Indexed(NamedTuple):
    """Text that depends on the index of the replica; a number n among ``parts`` is replaced by index + n."""

    parts: tuple[str | int | IndexDigits, ...]

    def text_at(self, index: int) -> str:
        """Return the text of the replica with this index, from 0."""
        return "".join([_write_part(part, index) for part in self.parts])

    def spread(self, width: int) -> Indexed:
        """Return the text for an index that counts ``width`` parts of each replica."""
        return Indexed(
            tuple(IndexDigits(width, 0, part) if isinstance(part, int) else part for part in self.parts)
            if width > 1
            else self.parts
        )

    def find_index(self, text: str) -> int | None:
        """Return the index whose text this is; None if there is none."""
        match = re.fullmatch(
            "".join(
                re.escape(part) if isinstance(part, str) else rf"(\d{{1,{MAX_INDEX_DIGITS}}})"
                for part in self.parts
            ),
            text,
            re.ASCII,
        )
        if match is None:
            return None
        index, numbers = 0, iter(match.groups())
        for part in dict.fromkeys(part for part in self.parts if not isinstance(part, str)):
            digits = IndexDigits(offset=part) if isinstance(part, int) else part
            index += (int(next(numbers)) - digits.offset) * digits.divisor
        return index if index >= 0 and self.text_at(index) == text else None


def _write_part(part: str | int | IndexDigits, index: int) -> str:
    if isinstance(part, str):
        return part
    return str(index + part) if isinstance(part, int) else str(part.number_at(index))


class Digest(NamedTuple):
    """The SHA-1 digest of a text that depends on the index of the replica."""

    text: Indexed

    def text_at(self, index: int) -> str:
        """Return the digest of the replica with this index."""
        from hashlib import sha1

        return sha1(self.text.text_at(index).encode(), usedforsecurity=False).hexdigest()

    def folded_text(self, start: int = 0, replicas: int = 1) -> str:
        """Return the digest of a single replica, else what it is of."""
        if replicas == 1:
            return self.text_at(start)
        return f"sha1({Listing((self.text,)).folded_text(start, replicas)})"

    def spread(self, width: int) -> Digest:
        """Return the digest for an index that counts ``width`` parts of each replica."""
        return Digest(self.text.spread(width))


class RepeatedLine(NamedTuple):
    """``line`` for each index from ``start`` on, ``replicas`` times."""

    line: Indexed
    start: int
    replicas: int


class Listing(NamedTuple):
    """Text with a line for every replica, such as a hostfile; expanded only on request.

    An ``Indexed`` piece depends on the index of the replica that gets the text.
    """

    pieces: tuple[str | RepeatedLine | Indexed, ...]

    def text_at(self, index: int) -> str:
        """The whole text for the replica with this index, a line for each replica."""
        return "".join([self._write_piece(piece, index) for piece in self.pieces])

    def full_text(self) -> str:
        """The whole text of a listing that is the same for all replicas."""
        return self.text_at(0)

    def folded_text(self, start: int = 0, replicas: int = 1) -> str:
        """The text with each run of replicas as one piece, the index written as ``{0..31}``.

        ``start`` and ``replicas`` are the replicas that get the text.
        """
        return "".join(
            piece
            if isinstance(piece, str)
            else _fold_repeated_line(
                RepeatedLine(piece, start, replicas) if isinstance(piece, Indexed) else piece
            )
            for piece in self.pieces
        )

    @staticmethod
    def _write_piece(piece: str | RepeatedLine | Indexed, index: int) -> str:
        if isinstance(piece, str):
            return piece
        if isinstance(piece, Indexed):
            return piece.text_at(index)
        line, start = piece.line, piece.start
        return "".join([line.text_at(i) for i in range(start, start + piece.replicas)])


class ListedTexts(NamedTuple):
    """A list that has an entry for every replica, such as the Pods of a Role; written out on request."""

    pieces: tuple[RepeatedLine, ...]

    def text_at(self, _index: int) -> list[str]:
        """All entries, which are the same for all replicas."""
        return [
            piece.line.text_at(i)
            for piece in self.pieces
            for i in range(piece.start, piece.start + piece.replicas)
        ]

    def folded_text(self, _start: int = 0, _replicas: int = 1) -> list[str]:
        """One entry for each run of replicas, the index written as ``{0..31}``."""
        return [_fold_repeated_line(piece) for piece in self.pieces if piece.replicas > 0]


def _fold_repeated_line(repeated: RepeatedLine) -> str:
    if repeated.replicas <= 1:
        return repeated.line.text_at(repeated.start) if repeated.replicas else ""
    return "".join(_fold_part(part, repeated) for part in repeated.line.parts)


def _fold_part(part: str | int | IndexDigits, repeated: RepeatedLine) -> str:
    if isinstance(part, str):
        return part
    digits = IndexDigits(offset=part) if isinstance(part, int) else part
    first, last = digits.range_of(repeated.start, repeated.replicas)
    return str(first) if first == last else f"{{{first}..{last}}}"
