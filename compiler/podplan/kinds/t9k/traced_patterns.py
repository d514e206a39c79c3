"""Patterns in values of env and in options, filled in with traced values."""

from __future__ import annotations

from podplan.core.provenance import Behavior, Cursor, Traced, attribute_to
from podplan.core.replica_groups import CONFIGURED_BASIS
from podplan.kinds.common.name_patterns import WORD_PATTERN, fill_pattern

# By placeholder: a traced value, or None if it is unknown.
TracedWords = dict[str, Traced | None]


def build_patterned_variables(
    behavior: Behavior, words: TracedWords, requesting_cursor: Cursor
) -> list[Traced]:
    """Return the variables whose patterns ``behavior`` lists by name, without those that have no value."""
    variables = (
        (name, fill_traced_pattern(str(pattern), words, behavior, requesting_cursor))
        for name, pattern in behavior.value.items()
    )
    return [
        Traced({"name": name, "value": value}, value.origin) for name, value in variables if value is not None
    ]


def fill_traced_pattern(
    text_pattern: str, words: TracedWords, behavior: Behavior, requesting_cursor: Cursor
) -> Traced | None:
    """Fill in the placeholders of a pattern; for a single placeholder, return its value with its origin.

    Other text originates from ``requesting_cursor``, the field that requests it.
    """
    word_match = WORD_PATTERN.fullmatch(text_pattern)
    if word_match and word_match[1] in words:
        value = words[word_match[1]]
        if value is None or behavior.basis != CONFIGURED_BASIS or _is_configured(value):
            return value
        return Traced(value.value, value.origin._replace(behavior=behavior))
    text = fill_pattern(text_pattern, {word: value and value.value for word, value in words.items()})
    return None if text is None else attribute_to((behavior, requesting_cursor), text)


def _is_configured(value: Traced) -> bool:
    return value.origin.behavior is not None and value.origin.behavior.basis == CONFIGURED_BASIS
