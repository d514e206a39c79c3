"""What is wrong with a text or deserves a hint, before anybody looked up the lines."""

from __future__ import annotations

from podplan.core.truncation import truncate
from podplan.core.typing import Any, NamedTuple

_MAX_KEY_LENGTH = 61


class RawDiagnostic(NamedTuple):
    """A fault or a hint: offsets into the text that was parsed.

    ``message`` may hold ``{line}``, which stands for the line of the offset ``first``.
    """

    rule: str
    message: str
    start: int
    end: int
    document: int
    line_offset: int = -1


class DiagnosticCollector:
    """The faults and hints of one text as they are met; hints are what YAML010 is about.

    ``document`` is the index of the document at hand.
    """

    __slots__ = ("diagnostics", "document", "hints")

    def __init__(self, document: int) -> None:
        self.document = document
        self.diagnostics: list[RawDiagnostic] = []
        self.hints: list[RawDiagnostic] = []

    def add(self, rule: str, message: str, start: int, end: int, line_offset: int = -1) -> None:
        self.diagnostics.append(RawDiagnostic(rule, message, start, end, self.document, line_offset))

    def add_at(self, event: Any, rule: str, message: str) -> None:
        self.add(rule, message, event.start_mark.index, event.end_mark.index)

    def add_hint(self, event: Any, message: str) -> None:
        start, end = event.start_mark.index, event.end_mark.index
        self.hints.append(RawDiagnostic("YAML010", message, start, end, self.document))


def format_key(key: str) -> str:
    """``key`` so that it fits into a message of one line, and into one that has a place for ``{line}``."""
    return truncate(key, _MAX_KEY_LENGTH).replace("{line}", "{ line }").replace("\n", "\\n")
