"""Locates secrets in the text of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.redaction.broken_text import find_broken_text_secrets
from podplan.redaction.detection import (
    MIN_SECRET_LENGTH,
    find_secrets,
    find_text_secrets,
    iter_secret_values,
    merge_spans,
)
from podplan.redaction.matching import ValueMatcher
from podplan.yaml.document import Document

Offsets = tuple[int, int]
_MAX_PARTS = 100
_COMMENT = compile_lazily(r"(?:(?<=\s)|\A)#[^\r\n]*")


def locate_secrets(text: str, documents: Iterable[Document], is_broken: bool) -> list[Offsets]:
    """Return the offsets of the secrets in a text, in order, the end exclusive, including repetitions.

    ``documents`` are the valid ones; with ``is_broken`` there may be others.
    """
    spans: list[Offsets] = []
    values: set[str] = set()
    for document in documents:
        spans += _locate_in_document(document)
        values.update(value for value in iter_secret_values(document.data) if len(value) >= MIN_SECRET_LENGTH)
    other_spans = find_broken_text_secrets(text) if is_broken else _locate_in_comments(text)
    return merge_spans([*spans, *ValueMatcher(values).iter_spans(text), *other_spans])


def _locate_in_document(document: Document) -> Iterator[Offsets]:
    parts: dict[Path, list[str]] = {}
    for secret in find_secrets(document.data):
        parts.setdefault(secret.path, []).append(secret.part)
    for path, secret_parts in parts.items():
        span = document.span(path)
        source_text = document.text[span.start : span.end]
        if "" in secret_parts or not _contains_parts(source_text, secret_parts):
            yield span.start, span.end  # the whole value: a part that is escaped cannot be located
        else:
            yield from (
                (span.start + at, span.start + end)
                for at, end in ValueMatcher(secret_parts).iter_spans(source_text)
            )


def _contains_parts(source_text: str, parts: list[str]) -> bool:
    """Whether a text contains parts of its value literally; false for very many parts."""
    return len(parts) <= _MAX_PARTS and all(part in source_text for part in parts)


def _locate_in_comments(text: str) -> Iterator[Offsets]:
    if "#" not in text:
        return
    for comment in _COMMENT.finditer(text):
        comment_start = comment.start()
        yield from (
            (comment_start + start, comment_start + end) for start, end in find_text_secrets(comment[0])
        )
