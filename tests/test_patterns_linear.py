"""What strangers write is searched in time that grows with its length, and not with its square."""

from __future__ import annotations

import re
from time import process_time

import pytest

from podplan.lint.checks.waits import _ENDLESS_LOOP, _WAIT_LOOP
from podplan.lint.suppression_syntax import _MISPLACED_UNTIL_PATTERN
from podplan.redaction.detection import _URL_WITH_PASSWORD
from podplan.redaction.secret_objects import _SECRET_MENTION
from podplan.report.sanitization import _WORKFLOW_COMMAND

LENGTH = 40_000  # characters, of which the square takes seconds; an eighth of them a 64th of that
LEAST = 0.01  # seconds: less cannot be told from nothing
SEARCHES = {
    "letters that may begin a URL": (_URL_WITH_PASSWORD, "a" * LENGTH),
    "URLs within URLs": (_URL_WITH_PASSWORD, "a://" * (LENGTH // 4)),
    "an endless loop and many empty lines": (_ENDLESS_LOOP, "while true" + "\n" * LENGTH),
    "an endless loop and many blanks": (_ENDLESS_LOOP, "while true" + " " * LENGTH),
    "a condition of blanks": (_WAIT_LOOP, "until" + " " * LENGTH),
    "a reason of blanks": (_MISPLACED_UNTIL_PATTERN, "until" + " " * LENGTH),
    "kinds with properties": (_SECRET_MENTION, "kind:&" * (LENGTH // 6)),
    "a kind with many properties": (_SECRET_MENTION, "kind: " + "&a " * (LENGTH // 3)),
    "a kind and blanks": (_SECRET_MENTION, "kind" + " " * LENGTH),
    "blanks behind a kind": (_SECRET_MENTION, "kind:" + " " * LENGTH),
    "empty lines before no command": (_WORKFLOW_COMMAND, "\n" * LENGTH),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_takes_no_square(name: str) -> None:
    pattern, text = SEARCHES[name]
    assert not pattern.search(text)
    assert _taken(pattern, text) < 24 * max(_taken(pattern, text[: LENGTH // 8]), LEAST)


def _taken(pattern: re.Pattern[str], text: str) -> float:
    begun = process_time()
    pattern.search(text)
    return process_time() - begun


@pytest.mark.parametrize(
    "text",
    [
        "until nslookup a; do sleep 1; done",
        "until   nslookup a\ndo\n  sleep 1\ndone",
        "while !  nc -z a 1 ;\n do sleep 1; done",
    ],
)
def test_loops_are_found(text: str) -> None:
    assert _WAIT_LOOP.search(text)


@pytest.mark.parametrize(
    "text", ["while true; do ping a; done", "while [ 1 ] \n\n do\nping a\ndone", "while :\r\ndo :; done"]
)
def test_endless_loops_are_found(text: str) -> None:
    assert _ENDLESS_LOOP.search(text)


@pytest.mark.parametrize("text", ["http://u:secret@h", "see postgres+pg://u:secret@h/d"])
def test_passwords_of_urls_are_found(text: str) -> None:
    assert _URL_WITH_PASSWORD.search(text)
    assert not _URL_WITH_PASSWORD.search(text.replace("secret", "$PASSWORD"))


@pytest.mark.parametrize("text", ["until 2026-01-01", "until=2026-01-01", "so until = 2026-01-01"])
def test_late_days_are_found(text: str) -> None:
    assert _MISPLACED_UNTIL_PATTERN.search(text)
