"""Stars in texts in place of the secrets that they quote: whole, escaped, cut short, or split by a shell."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from podplan.lint.checks._secrets import secret_values
from podplan.patterns import pattern
from podplan.typing import Any, NamedTuple

STARS = "***"
SHORTEST = 4  # a part that is shorter is in any text
_QUOTED = pattern(r'"[^"]*"')


class Hidden(NamedTuple):
    """What no text may have: ``texts`` anywhere, ``words`` in what it quotes; both sorted."""

    texts: Known
    words: Known


class Known(NamedTuple):
    """Texts in order, as a set, by how they start, and the lengths that they have, the longest first."""

    ordered: list[str]
    texts: frozenset[str]
    starts: frozenset[str]
    lengths: list[int]


def hidden(texts: Iterable[str], split: Iterable[str] = ()) -> Hidden:
    """What is to be hidden so that nobody learns ``texts``, or the words of those that a shell may split."""
    return Hidden(
        _known(form for text in texts for form in _forms(text)),
        _known(form for text in split for word in text.split() for form in _forms(word)),
    )


def _forms(text: str) -> Iterator[str]:
    """A text as it is, and as JSON has it."""
    if len(text) >= SHORTEST:
        yield text
        yield json.dumps(text)[1:-1]
        yield json.dumps(text, ensure_ascii=False)[1:-1]


def _known(texts: Iterable[str]) -> Known:
    every = frozenset(texts)
    starts = frozenset(text[:SHORTEST] for text in every)
    return Known(sorted(every), every, starts, sorted({len(text) for text in every}, reverse=True))


def without(text: str, secrets: Hidden) -> str:
    """``text`` with stars for what is hidden; the time it takes does not depend on how much that is."""
    if secrets.words.texts:
        text = _QUOTED.sub(lambda match: _starred(match[0], secrets.words), text)
    return _starred(text, secrets.texts)


def starred(text: str, document: Any) -> str:
    """``text`` with stars in place of what is secret in a document that it may quote."""
    return without(text, hidden(secret_values(document)))


def _starred(text: str, known: Known) -> str:
    parts: list[str] = []
    done = at = 0
    cuts = [place for place, letter in enumerate(text) if letter == "…"]
    while at <= len(text) - SHORTEST:
        end = _end(text, at, known, cuts) if text[at : at + SHORTEST] in known.starts else at
        if end > at:
            parts += [text[done:at], STARS]
            done = at = end
        else:
            at += 1
    return "".join([*parts, text[done:]]) if parts else text


def _end(text: str, at: int, known: Known, cuts: list[int]) -> int:
    """Where the longest hidden text that begins at ``at`` ends, or what a "…" leaves of one; else ``at``."""
    left = len(text) - at
    whole = next((n for n in known.lengths if n <= left and text[at : at + n] in known.texts), 0)
    for cut in cuts:
        if cut - at >= max(SHORTEST, whole):
            beginning = text[at:cut]
            place = bisect_left(known.ordered, beginning)
            if place < len(known.ordered) and known.ordered[place].startswith(beginning):
                return cut
    return at + whole
