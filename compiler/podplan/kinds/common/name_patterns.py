"""Text with words in braces, such as ``{base}-{type}-{index}``: how settings say what a controller writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from podplan.core.indexed_text import IndexDigits, Indexed
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any

WordValues = Mapping[str, Any]  # text, a number, an Indexed text, or None for what is not known, by word
WORD_PATTERN = compile_lazily(r"\{([a-z]+(?:-[a-z]+)*)\}")
INDEX_TEXT = Indexed((0,))


def fill_pattern(text_pattern: str, word_values: WordValues) -> str | Indexed | None:
    """``pattern`` with its words filled in: Indexed where one is; None where a word has no value here.

    A word in braces that is not in ``known`` stays as it is.
    """
    text, words = _split_pattern(text_pattern)
    parts: list[str | int | IndexDigits] = []
    for word, following_text in words:
        value = word_values.get(word, f"{{{word}}}")
        if value is None:
            return None
        for part in value.parts if isinstance(value, Indexed) else (str(value),):
            if isinstance(part, str):
                text += part
            else:
                parts += (text, part) if text else (part,)
                text = ""
        text += following_text
    if not parts:
        return text
    return Indexed((*parts, text) if text else tuple(parts))


@lru_cache(maxsize=256)
def _split_pattern(text_pattern: str) -> tuple[str, list[tuple[str, str]]]:
    """The text before the words of a pattern, and each word with the text behind it.

    There are as many patterns as facts and settings.
    """
    leading_text, *rest = WORD_PATTERN.split(text_pattern)
    return leading_text, list(zip(rest[::2], rest[1::2], strict=True))


def fill_options(patterns: Iterable[str], word_values: WordValues) -> list[str | Indexed]:
    """The words of options such as ``--role {type}``, those left out that have no value here."""
    words: list[str | Indexed] = []
    for text in patterns:
        option = [fill_pattern(word, word_values) for word in text.split()]
        words += [word for word in option if word is not None] if None not in option else []
    return words


def build_name_words(
    job_words: WordValues, type_name: str = "", name: str | Indexed | None = None, index: Any = None
) -> dict[str, Any]:
    """The words for the names of a job and, where they are given, of a replica."""
    return {**job_words, "type": type_name or None, "index": index, "name": name}
