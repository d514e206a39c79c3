"""Suppressions as they are written: in a comment, or in an annotation. Text in, plain data out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from podplan.core.lazy_regex import pattern
from podplan.core.suggestions import nearest
from podplan.core.truncation import shortened
from podplan.core.typing import NamedTuple

FORM = "# podplan: ignore[RULE] until=YYYY-MM-DD -- reason"
ANNOTATION_FORM = '"RULE=reason; RULE=reason"'

DIRECTIVE = pattern(r"(?:(?<=[ \t\r\n\ufeff])|\A)#[ \t]*podplan:[ \t]*(?P<body>[^\r\n]*)")
_WORD = pattern(r"[A-Za-z_-]*")
_BRACKETS = pattern(r"[ \t]*\[([^\]]*)\][ \t]*")
_UNTIL = pattern(r"until=(\S+)[ \t]*")
_REASON = pattern(r"--[ \t]*")
_LATE_UNTIL = pattern(r"\buntil(?:\s*=)?\s*\d{4}-")
_WORDS = ("ignore", "ignore-file")


class Written(NamedTuple):
    """What a comment or an annotation asks for; ``fault`` says why it cannot be read, and is "" if it can.

    ``rules`` are codes, names or prefixes as written. ``until`` is YYYY-MM-DD or "".
    """

    whole_file: bool = False
    rules: tuple[str, ...] = ()
    until: str = ""
    reason: str = ""
    fault: str = ""


def directive(body: str) -> Written | None:
    """What stands after ``# podplan:`` in a comment; None for a comment that is no suppression."""
    word = _WORD.match(body)
    said = word[0] if word else ""
    if said not in _WORDS:
        return _misspelt(said)
    brackets = _BRACKETS.match(body, len(said))
    rules = _listed(brackets[1]) if brackets else ()
    if brackets is None or not rules:
        return Written(fault=f"this does not say which rules to ignore; the form is {FORM}")
    at = brackets.end()
    until = _UNTIL.match(body, at)
    if until is not None:
        at = until.end()
        if not is_day(until[1]):
            return Written(fault=f'until wants a day as YYYY-MM-DD, not "{until[1]}"')
    rest = body[at:].rstrip()
    dashes = _REASON.match(rest)
    if rest and dashes is None:
        return Written(fault=f'this cannot be read from "{_short(rest)}" on; the form is {FORM}')
    reason = rest[dashes.end() :] if dashes else ""
    if _LATE_UNTIL.search(reason):
        return Written(fault=f"until stands before the reason, or it is part of it; the form is {FORM}")
    return Written(said == "ignore-file", rules, until[1] if until else "", reason)


def annotation(value: object) -> Iterator[Written]:
    """What an annotation asks for, one rule after the other."""
    if not isinstance(value, str):
        return
    for part in value.split(";"):
        if not part.strip():
            continue
        rule, _, reason = part.partition("=")
        if not re.fullmatch(r"[\w:.-]+", rule.strip()):
            fault = f'"{_short(part.strip())}" is not RULE=reason; the form is {ANNOTATION_FORM}'
            yield Written(fault=fault)
        else:
            yield Written(rules=(rule.strip(),), reason=reason.strip())


def is_day(text: str) -> bool:
    """Whether a text is a day of the calendar, written YYYY-MM-DD."""
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    from datetime import date

    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _misspelt(word: str) -> Written | None:
    meant = "ignore" if word.startswith("ignore") else nearest(word, list(_WORDS)) if word else ""
    if not meant:
        return None
    return Written(fault=f'podplan knows no "{_short(word)}" here; did you mean "{meant}"?')


def _listed(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(rule.strip() for rule in text.split(",") if rule.strip()))


def _short(text: str) -> str:
    return shortened(text, 41)
