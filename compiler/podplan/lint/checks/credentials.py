"""Passwords and tokens that stand in command lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from podplan.kubernetes.shape import mapping, texts
from podplan.lint.checks._secrets import is_secret, may_be_secret
from podplan.lint.subject import Hit, Subject
from podplan.patterns import pattern
from podplan.typing import Any

_URL = pattern(
    r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*://[^/\s:@\"']*:(?P<password>[^/\s@\"'$<{][^/\s@\"'$]{2,})@(?P<host>[\w.-]+)",
    re.IGNORECASE,
)
_OPTION = pattern(r"(?<![\w.$-])--?([A-Za-z][\w.-]*)(?:=|[ \t]+)[\"']?([^\s\"'$-][^\s\"'$]*)")
# Options of trainers such as --placeholder_token hold no secret.
_SECRET_OPTION = pattern(
    r"(?:.*[-_])?(?:password|passwd|passphrase|secret|(?:secret|api|access|private)[-_]?key"
    r"|(?:auth|access|api|hf|hub|github|gitlab|login)[-_]?token)",
    re.IGNORECASE,
)
_ASSIGNMENT = pattern(r"(?<![\w.$-])([A-Z_][A-Z0-9_]*)=[\"']?([^\s\"'$;&|]+)")
_HEADER = pattern(
    r"\bauthorization\s*:\s*(?:bearer|basic|token)\s+[\w.~+/=-]{8}|\bbearer\s+[\w.~+/=-]{16}", re.IGNORECASE
)
_USER = pattern(r"(?:^|\s)(?:-u|--user)(?:=|\s+)[\"']?[^\s\"':$]+:[^\s\"'$:]{3,}")
_TOKEN = pattern(
    r"\b(?:hf_[A-Za-z0-9]{30,}|gh[opsu]_[A-Za-z0-9]{30,}|github_pat_\w{30,}|glpat-[\w-]{20,}"
    r"|xox[abprs]-[A-Za-z0-9-]{20,}|sk-(?:proj-|ant-)?[A-Za-z0-9]{20,}|AIza[\w-]{35}|AKIA[A-Z0-9]{16})"
)
_LISTS: tuple[tuple[str, ...], ...] = (
    (),
    ("lifecycle", "postStart", "exec"),
    ("lifecycle", "preStop", "exec"),
    ("startupProbe", "exec"),
    ("livenessProbe", "exec"),
    ("readinessProbe", "exec"),
)


def credentials_in_command(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A secret in a command line; value ``what``, which does not have the secret itself."""
    for base in _LISTS:
        parent: Any = subject.data
        for step in base:
            parent = mapping(parent, step)
        before = ""
        for key in ("command", "args"):
            for at, word in texts(parent, key):
                what = _secret(word, before)
                if what:
                    yield Hit((*base, key, at), {"what": what})
                before = word


def _secret(word: str, before: str) -> str:
    """What kind of secret a word has in it, where it is no reference; "" for none."""
    for url in _URL.finditer(word) if "@" in word else ():
        return f"the password of a URL ({url['host']})"
    if _TOKEN.search(word):
        return "an access token"
    is_value = before.startswith("-") and "=" not in before and " " not in before
    joined = f"{before} {word}" if is_value else word
    for option in _OPTION.finditer(joined):
        if (
            _SECRET_OPTION.fullmatch(option[1])
            and may_be_secret("PASSWORD", option[2])
            and len(option[2]) > 5
        ):
            return f"the value of the option {option[1]}"
    for assignment in _ASSIGNMENT.finditer(word):
        if is_secret(assignment[1], assignment[2]):
            return f"the value of {assignment[1]}"
    if "curl" in word and _USER.search(word):
        return "the password of a user"
    return "the value of an Authorization header" if _HEADER.search(word) else ""
