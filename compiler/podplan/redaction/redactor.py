"""Redacts secrets in texts and data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.redaction.detection import find_secrets, find_text_secrets, iter_secret_values, merge_spans
from podplan.redaction.matching import MIN_MATCH_LENGTH, ValueMatcher

REDACTED = "***"
REDACTED_NOTICE = "(not shown: secret)"  # in place of a value that is completely secret
DIFFERENT_VALUE_NOTE = " (another value)"  # appended to the stars of a secret that differs from another one
_MIN_LINE_LENGTH = 8  # minimum length of a line of a secret that is matched separately
_QUOTED_TEXT = compile_lazily(r'"[^"]*"')
_STEP_PATTERN = compile_lazily(r"\[\"([^\"]*)\"\]|\[([^\]]*)\]|([^.\[\]]+)")


class Redactor:
    """Redacts values in text and data: literal, escaped, truncated, or split by a shell."""

    __slots__ = ("_short_quoted", "_text_matcher", "_word_matcher", "values")

    def __init__(self, values: Iterable[str] = ()) -> None:
        self.values = unique_values = frozenset(values)
        self._text_matcher = ValueMatcher(
            form for value in unique_values for part in _iter_parts(value) for form in _iter_encodings(part)
        )
        words = (word for value in unique_values for word in value.split() if word != value)
        self._word_matcher = ValueMatcher(form for word in words for form in _iter_encodings(word))
        self._short_quoted = frozenset(
            f'"{value}"' for value in unique_values if 0 < len(value) < MIN_MATCH_LENGTH
        )

    def __bool__(self) -> bool:
        return bool(self._text_matcher or self._short_quoted)

    def redact_text(self, text: str) -> str:
        """Return a text with the values redacted, and their words where the text quotes them."""
        if self._word_matcher or self._short_quoted:
            text = _QUOTED_TEXT.sub(lambda match: self._redact_quoted(match[0]), text)
        return _replace_spans(text, self._text_matcher.iter_spans(text))

    def iter_spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the ranges of the values in a text: offsets, the end exclusive."""
        return self._text_matcher.iter_spans(text)

    def redact_value(self, data: Any) -> Any:
        """Return data with the values redacted everywhere."""
        if not self._text_matcher:
            return data
        if isinstance(data, dict):
            return {self.redact_value(key): self.redact_value(below) for key, below in data.items()}
        if isinstance(data, list):
            return [self.redact_value(below) for below in data]
        if isinstance(data, str):
            return _replace_spans(data, self._text_matcher.iter_spans(data))
        if isinstance(data, bool) or not isinstance(data, int | float):
            return data
        return REDACTED if str(data) in self._text_matcher else data

    def _redact_quoted(self, quoted: str) -> str:
        if quoted in self._short_quoted:
            return f'"{REDACTED}"'
        return _replace_spans(quoted, self._word_matcher.iter_spans(quoted))


def build_redactor(documents: Iterable[Any], values: Iterable[str] = ()) -> Redactor:
    """Build the redactor for the secrets in documents, and for further ``values``."""
    return Redactor([*values, *(value for data in documents for value in iter_secret_values(data))])


def _iter_parts(value: str) -> Iterator[str]:
    """Yield a value, and its lines if it has several: a report may show each separately."""
    yield value
    if "\n" in value:
        yield from (line for line in map(str.strip, value.splitlines()) if len(line) >= _MIN_LINE_LENGTH)


def _iter_encodings(text: str) -> Iterator[str]:
    """Yield a text, and its encoding in JSON."""
    yield text
    if len(text) >= MIN_MATCH_LENGTH:
        yield json.dumps(text)[1:-1]
        yield json.dumps(text, ensure_ascii=False)[1:-1]


def _replace_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    parts: list[str] = []
    copied_to = 0
    for start, end in spans:
        parts += [text[copied_to:start], REDACTED]
        copied_to = end
    return "".join([*parts, text[copied_to:]]) if parts else text


def redact_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Replace each character of ``spans`` by a star, so that lines and columns stay the same."""
    parts: list[str] = []
    copied_to = 0
    for start, end in merge_spans(spans):
        hidden = text[start:end]
        stars = "".join(letter if letter in "\r\n\x85\u2028\u2029" else "*" for letter in hidden)
        parts += [text[copied_to:start], stars]
        copied_to = end
    return "".join([*parts, text[copied_to:]]) if parts else text


def redact_data(data: Any) -> Any:
    """Return data with everything redacted that is secret by its name, kind or form."""
    if isinstance(data, str):
        return _replace_spans(data, find_text_secrets(data))
    secret_tree: dict[Any, Any] = {}
    for secret in find_secrets(data):
        if not secret.path:
            return REDACTED
        node = secret_tree
        for step in secret.path[:-1]:
            node = node.setdefault(step, {})
        node.setdefault(secret.path[-1], bool(secret.part))
    return _redact_tree(data, secret_tree) if secret_tree else data


def split_path(path: str) -> list[str]:
    """Split a formatted path, such as env[TOKEN].value, into steps."""
    return [next(filter(None, match.groups()), "") for match in _STEP_PATTERN.finditer(path)]


def redact_value_at(steps: Sequence[Any], data: Any, kind: str = "") -> Any:
    """Redact data at a path of an object of a ``kind``."""
    tree = data
    for step in reversed(steps):
        tree = {step: tree}
    if steps and kind:
        tree["kind"] = kind
    redacted = redact_data(tree)
    for step in steps:
        redacted = redacted[step]
    return redacted


def redact_change(
    before: Any, after: Any, steps: Sequence[Any], kind: str, redactor: Redactor
) -> tuple[Any, Any]:
    """Redact both sides of a change at a path of an object of a ``kind``; of a secret, only the fact of a
    change is shown."""
    redacted_before, redacted_after = (
        redactor.redact_value(redact_value_at(steps, value, kind)) for value in (before, after)
    )
    if redacted_before == redacted_after and isinstance(redacted_after, str):
        redacted_after += DIFFERENT_VALUE_NOTE
    elif redacted_before == redacted_after and isinstance(redacted_after, list) and redacted_after:
        redacted_after = [*redacted_after, DIFFERENT_VALUE_NOTE.strip()]
    return redacted_before, redacted_after


def _redact_tree(data: Any, secret_tree: Mapping[Any, Any]) -> Any:
    """Return ``data`` with the values in ``secret_tree`` redacted: a mapping, or whether only parts of a
    text are secret."""
    steps = data.items() if isinstance(data, dict) else enumerate(data)
    redacted = {
        step: _redact_child(value, secret_tree[step]) if step in secret_tree else value
        for step, value in steps
    }
    return redacted if isinstance(data, dict) else list(redacted.values())


def _redact_child(value: Any, secret_tree: Any) -> Any:
    if isinstance(secret_tree, dict):
        return _redact_tree(value, secret_tree)
    return _replace_spans(value, find_text_secrets(value)) if secret_tree else REDACTED
