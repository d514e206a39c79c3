"""Real text with words in braces for what it has of a job: ``bert-worker-3`` is ``{base}-{type}-{index}``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from podplan.core.typing import Any

Known = Mapping[str, str]  # what each word stands for

# Words in the order in which they are looked for: the more that one says, the earlier.
_ORDER = (
    *("master-addr", "name", "host", "service", "pod", "base", "job", "namespace", "kind", "component"),
    *("hostfile", "launch-arguments", "master-port", "nnodes", "world-size", "replicas", "processes"),
    *("rank", "max-restarts", "rdzv-backend", "type", "slots", "index"),
)
# Where a word may begin and end; a number says too little to be looked for inside of a text.
_APART = (r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])")
_WHOLE = (r"\A", r"\Z")
_EDGES = {
    "index": (r"(?:(?<=[-/])|\A)", r"(?=[.:/]|\Z)"),
    "master-port": (r"(?:(?<=:)|\A)", r"\Z"),
    "slots": (r"(?:(?<=[=: ])|\A)", r"(?=[\s]|\Z)"),
}


def worded(text: str, known: Known, words: Iterable[str]) -> str:
    """``text`` with words for what they stand for; the words that may be used are ``words``."""
    allowed = set(words)
    pieces: list[tuple[str, bool]] = [(text, False)]
    for word in _ORDER:
        value = known.get(word, "")
        if word in allowed and value:
            pieces = [new for piece in pieces for new in _replaced(piece, value, word)]
    return "".join(piece for piece, _ in pieces)


def _replaced(piece: tuple[str, bool], value: str, word: str) -> list[tuple[str, bool]]:
    text, done = piece
    if done:
        return [piece]
    before, after = _EDGES.get(word, _WHOLE if value.isdigit() else _APART)
    parts = re.split(f"{before}{re.escape(value)}{after}", text)
    found: list[tuple[str, bool]] = []
    for number, part in enumerate(parts):
        if number:
            found.append((f"{{{word}}}", True))
        if part:
            found.append((part, False))
    return found


def for_all(texts: Sequence[tuple[Any, Known]], words: Iterable[str]) -> str | None:
    """One text with words for what was seen at several replicas; None where no one fits all.

    Of words that stand for the same at the first replica, those are taken that hold for the others too.
    """
    allowed = list(words)
    for without in ((), ("index",), ("rank",), ("type",), ("type", "index"), ("rank", "index")):
        usable = [word for word in allowed if word not in without]
        found = {worded(str(text), known, usable) for text, known in texts}
        if len(found) == 1:
            return found.pop()
    return None
