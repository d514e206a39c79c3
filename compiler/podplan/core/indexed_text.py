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
    """Text with a line for every replica, such as a hostfile; expanded only on request."""

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
        """The text with each run of replicas as one line, the index written as ``{0..31}``."""
        return "".join(
            piece if isinstance(piece, str) else _fold_repeated_line(piece) for piece in self.pieces
        )


def _fold_repeated_line(repeated: RepeatedLine) -> str:
    first, last = repeated.start, repeated.start + repeated.replicas - 1
    if repeated.replicas <= 1:
        return repeated.line.text_at(first) if repeated.replicas else ""
    return "".join(
        part if isinstance(part, str) else f"{{{first + part}..{last + part}}}"
        for part in repeated.line.parts
    )
