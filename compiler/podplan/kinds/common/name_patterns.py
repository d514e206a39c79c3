"""Patterns such as ``{base}-{type}-{index}``, in which lowering options state the texts of a controller."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from podplan.core.indexed_text import IndexDigits, Indexed
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any

WordValues = Mapping[str, Any]  # by placeholder: text, a number, an Indexed text, or None if it is unknown
WORD_PATTERN = compile_lazily(r"\{([a-z]+(?:-[a-z]+)*)\}")
INDEX_TEXT = Indexed((0,))


def fill_pattern(text_pattern: str, word_values: WordValues) -> str | Indexed | None:
    """Fill in the placeholders of ``text_pattern``; Indexed if a value is; None if one has no value.

    A placeholder that is not in ``word_values`` stays as written.
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
    """Return the text before the first placeholder, and each placeholder with the text after it.

    The cache is bounded by the number of behaviors and options.
    """
    leading_text, *rest = WORD_PATTERN.split(text_pattern)
    return leading_text, list(zip(rest[::2], rest[1::2], strict=True))


def fill_options(patterns: Iterable[str], word_values: WordValues) -> list[str | Indexed]:
    """Return the words of options such as ``--role {type}``, without those that have no value."""
    words: list[str | Indexed] = []
    for text in patterns:
        option = [fill_pattern(word, word_values) for word in text.split()]
        words += [word for word in option if word is not None] if None not in option else []
    return words


def build_name_words(
    job_words: WordValues, type_name: str = "", name: str | Indexed | None = None, index: Any = None
) -> dict[str, Any]:
    """Return the placeholder values for the names of a job and, if given, of a replica."""
    return {**job_words, "type": type_name or None, "index": index, "name": name}
