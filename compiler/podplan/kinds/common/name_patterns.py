"""Text with words in braces, such as ``{base}-{type}-{index}``: how settings say what a controller writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from podplan.core.indexed_text import Indexed
from podplan.core.lazy_regex import pattern
from podplan.core.typing import Any
from podplan.kinds.t9k.job import Job

Known = Mapping[str, Any]  # text, a number, an Indexed text, or None for what is not known, by word
WORD = pattern(r"\{([a-z]+(?:-[a-z]+)*)\}")
INDEX = Indexed((0,))


def filled(pattern: str, known: Known) -> str | Indexed | None:
    """``pattern`` with its words filled in: Indexed where one is; None where a word has no value here.

    A word in braces that is not in ``known`` stays as it is.
    """
    text, words = _pieces(pattern)
    parts: list[str | int] = []
    for word, behind in words:
        value = known.get(word, f"{{{word}}}")
        if value is None:
            return None
        for part in value.parts if isinstance(value, Indexed) else (str(value),):
            if isinstance(part, str):
                text += part
            else:
                parts += (text, part) if text else (part,)
                text = ""
        text += behind
    if not parts:
        return text
    return Indexed((*parts, text) if text else tuple(parts))


@lru_cache(maxsize=256)
def _pieces(pattern: str) -> tuple[str, list[tuple[str, str]]]:
    """The text before the words of a pattern, and each word with the text behind it.

    There are as many patterns as facts and settings.
    """
    first, *rest = WORD.split(pattern)
    return first, list(zip(rest[::2], rest[1::2], strict=True))


def each_filled(patterns: Iterable[str], known: Known) -> list[str | Indexed]:
    """The words of options such as ``--role {type}``, those left out that have no value here."""
    words: list[str | Indexed] = []
    for text in patterns:
        option = [filled(word, known) for word in text.split()]
        words += [word for word in option if word is not None] if None not in option else []
    return words


def naming(job: Job, type_: str = "", name: str | Indexed | None = None, index: Any = None) -> dict[str, Any]:
    """The words for the names of a job and, where they are given, of a replica."""
    return {**job.words, "type": type_ or None, "index": index, "name": name}
