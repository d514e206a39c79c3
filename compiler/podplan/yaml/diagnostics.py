"""What is wrong with a text or deserves a hint, before anybody looked up the lines."""

from __future__ import annotations

from podplan.core.truncation import shortened
from podplan.core.typing import Any, NamedTuple

_LONGEST_SHOWN = 61


class Trouble(NamedTuple):
    """A fault or a hint: offsets into the text that was parsed.

    ``message`` may hold ``{line}``, which stands for the line of the offset ``first``.
    """

    rule: str
    message: str
    start: int
    end: int
    document: int
    first: int = -1


class Troubles:
    """The faults and hints of one text as they are met; hints are what YAML010 is about.

    ``document`` is the index of the document at hand.
    """

    __slots__ = ("document", "faults", "hints")

    def __init__(self, document: int) -> None:
        self.document = document
        self.faults: list[Trouble] = []
        self.hints: list[Trouble] = []

    def add(self, rule: str, message: str, start: int, end: int, first: int = -1) -> None:
        self.faults.append(Trouble(rule, message, start, end, self.document, first))

    def at(self, event: Any, rule: str, message: str) -> None:
        self.add(rule, message, event.start_mark.index, event.end_mark.index)

    def hint(self, event: Any, message: str) -> None:
        start, end = event.start_mark.index, event.end_mark.index
        self.hints.append(Trouble("YAML010", message, start, end, self.document))


def short(key: str) -> str:
    """``key`` so that it fits into a message of one line, and into one that has a place for ``{line}``."""
    return shortened(key, _LONGEST_SHOWN).replace("{line}", "{ line }").replace("\n", "\\n")
