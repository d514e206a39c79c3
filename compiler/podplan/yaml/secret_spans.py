"""Where the text of a file holds secrets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podplan.core.lazy_regex import pattern
from podplan.redaction.broken_text import find_broken_text_secrets
from podplan.redaction.detection import LEAST, find_secrets, find_text_secrets, merge_spans, secret_values
from podplan.redaction.matching import Matcher
from podplan.yaml.document import Document, Path

Offsets = tuple[int, int]
_MOST_PARTS = 100
_COMMENT = pattern(r"(?:(?<=\s)|\A)#[^\r\n]*")


def secret_spans(text: str, documents: Iterable[Document], is_broken: bool) -> list[Offsets]:
    """The offsets of the secrets in a text, in order, the end exclusive, wherever the text repeats them.

    ``documents`` are what could be read of it; where it is broken, that is not all.
    """
    found: list[Offsets] = []
    values: set[str] = set()
    for document in documents:
        found += _of_document(document)
        values.update(value for value in secret_values(document.data) if len(value) >= LEAST)
    beside = find_broken_text_secrets(text) if is_broken else _of_comments(text)
    return merge_spans([*found, *Matcher(values).spans(text), *beside])


def _of_document(document: Document) -> Iterator[Offsets]:
    parts: dict[Path, list[str]] = {}
    for secret in find_secrets(document.data):
        parts.setdefault(secret.path, []).append(secret.part)
    for path, some in parts.items():
        span = document.span(path)
        written = document.text[span.start : span.end]
        if "" in some or not _holds(written, some):
            yield span.start, span.end  # all of it, as a part that is written otherwise cannot be found
        else:
            yield from ((span.start + at, span.start + end) for at, end in Matcher(some).spans(written))


def _holds(written: str, parts: list[str]) -> bool:
    """Whether a text has parts of the value that it was read from as they are; of very many, nobody asks."""
    return len(parts) <= _MOST_PARTS and all(part in written for part in parts)


def _of_comments(text: str) -> Iterator[Offsets]:
    if "#" not in text:
        return
    for comment in _COMMENT.finditer(text):
        first = comment.start()
        yield from ((first + start, first + end) for start, end in find_text_secrets(comment[0]))
