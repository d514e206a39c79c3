"""Suppressions as they are written: in a comment, or in an annotation. Text in, plain data out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from podplan.core.lazy_regex import compile_lazily
from podplan.core.suggestions import suggest_name
from podplan.core.truncation import truncate
from podplan.core.typing import NamedTuple

COMMENT_SYNTAX = "# podplan: ignore[RULE] until=YYYY-MM-DD -- reason"
ANNOTATION_SYNTAX = '"RULE=reason; RULE=reason"'

DIRECTIVE_PATTERN = compile_lazily(r"(?:(?<=[ \t\r\n\ufeff])|\A)#[ \t]*podplan:[ \t]*(?P<body>[^\r\n]*)")
_WORD_PATTERN = compile_lazily(r"[A-Za-z_-]*")
_BRACKETS_PATTERN = compile_lazily(r"[ \t]*\[([^\]]*)\][ \t]*")
_UNTIL_PATTERN = compile_lazily(r"until=(\S+)[ \t]*")
_REASON_PATTERN = compile_lazily(r"--[ \t]*")
_MISPLACED_UNTIL_PATTERN = compile_lazily(r"\buntil(?:\s*=)?\s*\d{4}-")
# What follows the word of a comment that is meant as a suppression, and not as a sentence.
_DIRECTIVE_REMAINDER_PATTERN = compile_lazily(r"[ \t]*(?:\Z|[\[(=:]|--|[A-Z]{2,12}[0-9]{3})")
_DIRECTIVE_WORDS = ("ignore", "ignore-file")
_WORDS_OF_OTHER_TOOLS = ("allow", "disable", "disable-line", "noqa", "nolint", "off", "skip", "suppress")
_HEADER_WORD = "rendered"  # begins the header of rendered files


class SuppressionDirective(NamedTuple):
    """A parsed suppression comment or annotation; ``error`` is why it cannot be parsed, "" if it can.

    ``rules`` are codes, names or prefixes as written. ``expiry_date`` is YYYY-MM-DD or "".
    """

    whole_file: bool = False
    rules: tuple[str, ...] = ()
    expiry_date: str = ""
    reason: str = ""
    error: str = ""


def parse_directive(body: str) -> SuppressionDirective | None:
    """Parse the text after ``# podplan:`` in a comment; None for a comment that is no suppression."""
    word = _WORD_PATTERN.match(body)
    keyword = word[0] if word else ""
    if keyword not in _DIRECTIVE_WORDS:
        return _report_unknown_word(keyword, body[len(keyword) :])
    brackets = _BRACKETS_PATTERN.match(body, len(keyword))
    rules = _split_rules(brackets[1]) if brackets else ()
    if brackets is None or not rules:
        return SuppressionDirective(
            error=f"this does not say which rules to ignore; the form is {COMMENT_SYNTAX}"
        )
    position = brackets.end()
    until = _UNTIL_PATTERN.match(body, position)
    if until is not None:
        position = until.end()
        if not is_calendar_date(until[1]):
            return SuppressionDirective(error=f'until wants a day as YYYY-MM-DD, not "{until[1]}"')
    remainder = body[position:].rstrip()
    dashes = _REASON_PATTERN.match(remainder)
    if remainder and dashes is None:
        return SuppressionDirective(
            error=f'this cannot be read from "{_truncate_quoted(remainder)}" on; the form is {COMMENT_SYNTAX}'
        )
    reason = remainder[dashes.end() :] if dashes else ""
    if _MISPLACED_UNTIL_PATTERN.search(reason):
        return SuppressionDirective(
            error=f"until stands before the reason, or it is part of it; the form is {COMMENT_SYNTAX}"
        )
    return SuppressionDirective(keyword == "ignore-file", rules, until[1] if until else "", reason)


def parse_annotation(value: object) -> Iterator[SuppressionDirective]:
    """Parse an annotation, one rule after the other."""
    if not isinstance(value, str):
        return
    for part in value.split(";"):
        if not part.strip():
            continue
        rule, _, reason = part.partition("=")
        if not re.fullmatch(r"[\w:.-]+", rule.strip()):
            error = f'"{_truncate_quoted(part.strip())}" is not RULE=reason; the form is {ANNOTATION_SYNTAX}'
            yield SuppressionDirective(error=error)
        else:
            yield SuppressionDirective(rules=(rule.strip(),), reason=reason.strip())


def is_calendar_date(text: str) -> bool:
    """Whether a text is a day of the calendar, written YYYY-MM-DD."""
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    from datetime import date

    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _report_unknown_word(word: str, remainder: str) -> SuppressionDirective | None:
    """Report a word that is written where ``ignore`` would be; None for the header of a rendered file, and
    for a sentence."""
    if not word or word == _HEADER_WORD:
        return None
    if word.startswith("ignore") or word.lower() in _WORDS_OF_OTHER_TOOLS:
        suggestion = "ignore"
    else:
        suggestion = suggest_name(word, list(_DIRECTIVE_WORDS))
    if not suggestion and not _DIRECTIVE_REMAINDER_PATTERN.match(remainder):
        return None
    remedy = f'did you mean "{suggestion}"?' if suggestion else f"the form is {COMMENT_SYNTAX}"
    return SuppressionDirective(error=f'podplan knows no "{_truncate_quoted(word)}" here; {remedy}')


def _split_rules(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(rule.strip() for rule in text.split(",") if rule.strip()))


def _truncate_quoted(text: str) -> str:
    return truncate(text, 41)
