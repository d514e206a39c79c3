"""Text that depends on the index of the replica, or that lists all replicas; expanded on request."""

from __future__ import annotations

from podplan.core.typing import NamedTuple


class Indexed(NamedTuple):
    """Text that depends on the index of the replica; a number n among ``parts`` is replaced by index + n."""

    parts: tuple[str | int, ...]

    def text_at(self, index: int) -> str:
        """Return the text of the replica with this index, from 0."""
        return "".join([str(index + part) if isinstance(part, int) else part for part in self.parts])


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
    first, last = repeated.start, repeated.start + repeated.replicas - 1
    if repeated.replicas <= 1:
        return repeated.line.text_at(first) if repeated.replicas else ""
    return "".join(
        part if isinstance(part, str) else f"{{{first + part}..{last + part}}}"
        for part in repeated.line.parts
    )
