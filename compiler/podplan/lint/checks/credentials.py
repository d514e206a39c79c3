"""Passwords and tokens in command lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, TextPath
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_mapping, get_texts
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation
from podplan.redaction.detection import find_command_secrets

_HOLDERS: tuple[tuple[str, ...], ...] = (
    (),
    ("lifecycle", "postStart", "exec"),
    ("lifecycle", "preStop", "exec"),
    ("startupProbe", "exec"),
    ("livenessProbe", "exec"),
    ("readinessProbe", "exec"),
)


@check()
def credentials_in_command(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A secret in a command line; value ``what``, which does not have the secret itself."""
    for base in _HOLDERS:
        holder: Any = subject.data
        for step in base:
            holder = get_mapping(holder, step)
        words: list[tuple[Path, str]] = [
            ((*base, key, at), word) for key in ("command", "args") for at, word in get_texts(holder, key)
        ]
        for found in find_command_secrets([word for _, word in words]):
            yield Violation(TextPath(words[found.number][0], found.span), {"what": found.what})
