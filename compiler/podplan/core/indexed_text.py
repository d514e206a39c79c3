"""Text that varies from replica to replica, or has a piece for each of them, written out on request."""

from __future__ import annotations

from podplan.core.typing import NamedTuple


class Indexed(NamedTuple):
    """Text that depends on the index of the replica; a number n among the parts stands for index + n."""

    parts: tuple[str | int, ...]

    def text_at(self, index: int) -> str:
        """The text of the replica with this index, from 0."""
        return "".join([str(index + part) if isinstance(part, int) else part for part in self.parts])


class RepeatedLine(NamedTuple):
    """``line`` for each index from ``start`` on, ``replicas`` times."""

    line: Indexed
    start: int
    replicas: int


class Listing(NamedTuple):
    """Text that has a piece for every replica, such as a hostfile; written out only on request."""

    pieces: tuple[str | RepeatedLine, ...]

    def full_text(self) -> str:
        """The whole text, a line for each replica."""
        return "".join(
            piece
            if isinstance(piece, str)
            else "".join(piece.line.text_at(i) for i in range(piece.start, piece.start + piece.replicas))
            for piece in self.pieces
        )

    def folded_text(self) -> str:
        """The text with each run of replicas as one piece, the index written as ``{0..31}``."""
        return "".join(
            piece if isinstance(piece, str) else _fold_repeated_line(piece) for piece in self.pieces
        )


class ListedTexts(NamedTuple):
    """A list that has an entry for every replica, such as the Pods of a Role; written out on request."""

    pieces: tuple[RepeatedLine, ...]

    def full_text(self) -> list[str]:
        """All entries."""
        return [
            piece.line.text_at(i)
            for piece in self.pieces
            for i in range(piece.start, piece.start + piece.replicas)
        ]

    def folded_text(self) -> list[str]:
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
