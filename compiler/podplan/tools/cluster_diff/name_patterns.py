"""Replaces the parts of real texts by placeholders: ``bert-worker-3`` is ``{base}-{type}-{index}``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from podplan.core.typing import Any

Placeholders = Mapping[str, str]  # the value of each placeholder

# Placeholders in the order of the search: the most specific first.
_PLACEHOLDER_ORDER = (
    *("master-addr", "name", "host", "service", "pod", "base", "job", "namespace", "kind", "component"),
    *("hostfile", "launch-arguments", "master-port", "nnodes", "world-size", "replicas", "processes"),
    *("rank", "max-restarts", "rdzv-backend", "type", "slots", "index"),
)
# Where a value may begin and end; a number is too unspecific to be searched inside a text.
_WORD_EDGES = (r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])")
_TEXT_EDGES = (r"\A", r"\Z")
_EDGES = {
    "index": (r"(?:(?<=[-/])|\A)", r"(?=[.:/]|\Z)"),
    "master-port": (r"(?:(?<=:)|\A)", r"\Z"),
    "slots": (r"(?:(?<=[=: ])|\A)", r"(?=[\s]|\Z)"),
}


def insert_placeholders(text: str, placeholders: Placeholders, words: Iterable[str]) -> str:
    """Return ``text`` with values replaced by placeholders; only those in ``words`` may be used."""
    allowed = set(words)
    pieces: list[tuple[str, bool]] = [(text, False)]
    for word in _PLACEHOLDER_ORDER:
        value = placeholders.get(word, "")
        if word in allowed and value:
            pieces = [new for piece in pieces for new in _replace_in_piece(piece, value, word)]
    return "".join(piece for piece, _ in pieces)


def _replace_in_piece(piece: tuple[str, bool], value: str, word: str) -> list[tuple[str, bool]]:
    text, is_placeholder = piece
    if is_placeholder:
        return [piece]
    before, after = _EDGES.get(word, _TEXT_EDGES if value.isdigit() else _WORD_EDGES)
    parts = re.split(f"{before}{re.escape(value)}{after}", text)
    pieces: list[tuple[str, bool]] = []
    for number, part in enumerate(parts):
        if number:
            pieces.append((f"{{{word}}}", True))
        if part:
            pieces.append((part, False))
    return pieces


def find_common_pattern(texts: Sequence[tuple[Any, Placeholders]], words: Iterable[str]) -> str | None:
    """Return one pattern for the texts of several replicas, or None.

    Of placeholders with the same value at the first replica, those are used that also fit the others.
    """
    allowed = list(words)
    for excluded in ((), ("index",), ("rank",), ("type",), ("type", "index"), ("rank", "index")):
        usable = [word for word in allowed if word not in excluded]
        patterns = {insert_placeholders(str(text), known, usable) for text, known in texts}
        if len(patterns) == 1:
            return patterns.pop()
    return None
