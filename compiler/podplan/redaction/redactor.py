"""Secrets taken out of texts and data: the one way in which podplan hides them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from podplan.core.lazy_regex import pattern
from podplan.core.typing import Any
from podplan.redaction.detection import find_secrets, find_text_secrets, merge_spans, secret_values
from podplan.redaction.matching import SHORTEST, Matcher

REDACTED = "***"
NOT_SHOWN = "(not shown: secret)"  # instead, where nothing but the value would stand
ANOTHER = " (another value)"  # said behind the stars of a secret that differs from another one
_LONGEST_LINE = 8  # characters of a line of a secret that is looked for by itself, at least
_QUOTED = pattern(r'"[^"]*"')
_STEP = pattern(r"\[([^\]]*)\]|([^.\[\]]+)")


class Redactor:
    """Hides values wherever a text or data has them: as they are, escaped, cut short, or split by a shell."""

    __slots__ = ("_short", "_texts", "_words", "values")

    def __init__(self, values: Iterable[str] = ()) -> None:
        self.values = known = frozenset(values)
        self._texts = Matcher(form for value in known for part in _parts(value) for form in _forms(part))
        words = (word for value in known for word in value.split() if word != value)
        self._words = Matcher(form for word in words for form in _forms(word))
        self._short = frozenset(f'"{value}"' for value in known if 0 < len(value) < SHORTEST)

    def __bool__(self) -> bool:
        return bool(self._texts or self._short)

    def text(self, text: str) -> str:
        """A text for people without the values, nor their words where it quotes any."""
        if self._words or self._short:
            text = _QUOTED.sub(lambda match: self._quoted(match[0]), text)
        return _replaced(text, self._texts.spans(text))

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where a text has the values: offsets, the end exclusive."""
        return self._texts.spans(text)

    def value(self, data: Any) -> Any:
        """Data without the values, wherever in it they are."""
        if not self._texts:
            return data
        if isinstance(data, dict):
            return {self.value(key): self.value(below) for key, below in data.items()}
        if isinstance(data, list):
            return [self.value(below) for below in data]
        if isinstance(data, str):
            return _replaced(data, self._texts.spans(data))
        if isinstance(data, bool) or not isinstance(data, int | float):
            return data
        return REDACTED if str(data) in self._texts else data

    def _quoted(self, quoted: str) -> str:
        if quoted in self._short:
            return f'"{REDACTED}"'
        return _replaced(quoted, self._words.spans(quoted))


def build_redactor(documents: Iterable[Any], values: Iterable[str] = ()) -> Redactor:
    """What hides the secrets of documents, and further ``values``."""
    return Redactor([*values, *(value for data in documents for value in secret_values(data))])


def _parts(value: str) -> Iterator[str]:
    """A value, and the lines of one that has several: a report may show each by itself."""
    yield value
    if "\n" in value:
        yield from (line for line in map(str.strip, value.splitlines()) if len(line) >= _LONGEST_LINE)


def _forms(text: str) -> Iterator[str]:
    """A text as it is, and as JSON has it."""
    yield text
    if len(text) >= SHORTEST:
        yield json.dumps(text)[1:-1]
        yield json.dumps(text, ensure_ascii=False)[1:-1]


def _replaced(text: str, spans: Iterable[tuple[int, int]]) -> str:
    parts: list[str] = []
    done = 0
    for start, end in spans:
        parts += [text[done:start], REDACTED]
        done = end
    return "".join([*parts, text[done:]]) if parts else text


def redact_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """A text with a star for each character of ``spans``, so that lines and columns stay what they are."""
    parts: list[str] = []
    done = 0
    for start, end in merge_spans(spans):
        hidden = text[start:end]
        stars = "".join(letter if letter in "\r\n\x85\u2028\u2029" else "*" for letter in hidden)
        parts += [text[done:start], stars]
        done = end
    return "".join([*parts, text[done:]]) if parts else text


def redact_data(data: Any) -> Any:
    """Data without what is secret in it by its names, kinds and forms."""
    if isinstance(data, str):
        return _replaced(data, find_text_secrets(data))
    tree: dict[Any, Any] = {}
    for secret in find_secrets(data):
        if not secret.path:
            return REDACTED
        node = tree
        for step in secret.path[:-1]:
            node = node.setdefault(step, {})
        node.setdefault(secret.path[-1], bool(secret.part))
    return _without(data, tree) if tree else data


def path_steps(part: str) -> list[str]:
    """The steps of a path as people write it, such as env[TOKEN].value."""
    return [match[1] or match[2] or "" for match in _STEP.finditer(part)]


def redact_at(steps: Sequence[Any], data: Any, kind: str = "") -> Any:
    """The same for data at a path of an object of a ``kind``."""
    whole = data
    for step in reversed(steps):
        whole = {step: whole}
    if steps and kind:
        whole["kind"] = kind
    found = redact_data(whole)
    for step in steps:
        found = found[step]
    return found


def redact_change(
    before: Any, after: Any, steps: Sequence[Any], kind: str, secrets: Redactor
) -> tuple[Any, Any]:
    """Both sides of a change at a path of an object of a ``kind``; of a secret, only that it changes."""
    one, other = (secrets.value(redact_at(steps, value, kind)) for value in (before, after))
    if one == other and isinstance(other, str):
        other += ANOTHER
    elif one == other and isinstance(other, list) and other:
        other = [*other, ANOTHER.strip()]
    return one, other


def _without(data: Any, tree: Mapping[Any, Any]) -> Any:
    """``data`` without what ``tree`` has there: a mapping, or whether only parts of a text are secret."""
    steps = data.items() if isinstance(data, dict) else enumerate(data)
    new = {step: _below(value, tree[step]) if step in tree else value for step, value in steps}
    return new if isinstance(data, dict) else list(new.values())


def _below(value: Any, tree: Any) -> Any:
    if isinstance(tree, dict):
        return _without(value, tree)
    return _replaced(value, find_text_secrets(value)) if tree else REDACTED
