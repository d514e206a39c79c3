"""Text that varies from replica to replica, or has a piece for each of them, written out on request."""

from __future__ import annotations

from podplan.core.typing import NamedTuple


class Indexed(NamedTuple):
    """Text that depends on the index of the replica; a number n among the parts stands for index + n."""

    parts: tuple[str | int, ...]

    def text(self, index: int) -> str:
        """The text of the replica with this index, from 0."""
        return "".join([str(index + part) if isinstance(part, int) else part for part in self.parts])


class Run(NamedTuple):
    """``line`` for each index from ``start`` on, ``replicas`` times."""

    line: Indexed
    start: int
    replicas: int


class Listing(NamedTuple):
    """Text that has a piece for every replica, such as a hostfile; written out only on request."""

    pieces: tuple[str | Run, ...]

    def text(self) -> str:
        """The whole text, a line for each replica."""
        return "".join(
            piece
            if isinstance(piece, str)
            else "".join(piece.line.text(i) for i in range(piece.start, piece.start + piece.replicas))
            for piece in self.pieces
        )

    def folded(self) -> str:
        """The text with each run of replicas as one piece, the index written as ``{0..31}``."""
        return "".join(piece if isinstance(piece, str) else _folded_run(piece) for piece in self.pieces)


def _folded_run(run: Run) -> str:
    first, last = run.start, run.start + run.replicas - 1
    if run.replicas <= 1:
        return run.line.text(first) if run.replicas else ""
    return "".join(
        part if isinstance(part, str) else f"{{{first + part}..{last + part}}}" for part in run.line.parts
    )
