"""Errors and hints about a text."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.truncation import truncate
from podplan.core.typing import Any
from podplan.yaml.document import LineIndex
from podplan.yaml.positions import find_scalar_end

_MAX_KEY_LENGTH = 61


class DiagnosticCollector:
    """Collects the errors and hints of a part of a text; hints are those of YAML010.

    ``document`` is the index of the current document; offsets count from ``start`` of the part.
    """

    __slots__ = ("_lines", "_start", "diagnostics", "document", "hints")

    def __init__(self, document: int, lines: LineIndex, start: int) -> None:
        self.document, self._lines, self._start = document, lines, start
        self.diagnostics: list[Diagnostic] = []
        self.hints: list[Diagnostic] = []

    def add(self, rule: str, message: str, start: int, end: int, line_offset: int = -1) -> None:
        """Add an error; ``{line}`` in its message becomes the line of ``line_offset``."""
        if line_offset >= 0:
            line, _ = self._lines.line_and_column(line_offset + self._start)
            message = message.replace("{line}", str(line))
        self.diagnostics.append(self._build(rule, message, start, end))

    def add_at(self, event: Any, rule: str, message: str) -> None:
        self.add(rule, message, event.start_mark.index, event.end_mark.index)

    def add_hint(self, event: Any, message: str) -> None:
        self.hints.append(self._build("YAML010", message, event.start_mark.index, event.end_mark.index))

    def _build(self, rule: str, message: str, start: int, end: int) -> Diagnostic:
        start += self._start
        end = find_scalar_end(self._lines.text, start, end + self._start)
        return Diagnostic(
            rule, message, span=self._lines.build_span(start, end), document_index=self.document
        )


def format_key(key: str) -> str:
    """Return ``key`` escaped for a message on one line, which may contain ``{line}``."""
    return truncate(key, _MAX_KEY_LENGTH).replace("{line}", "{ line }").replace("\n", "\\n")
