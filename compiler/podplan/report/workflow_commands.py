"""Workflow commands of GitHub Actions, and log text that contains none.

The runner executes a line that begins with ``::`` after blanks, or that contains ``##[``. It shows ten
annotations of a level per step, and 4,096 characters of each (docs/evidence/github-actions.md#annotations).
"""

from __future__ import annotations

import re

from podplan.report.sanitization import escape_text

MAX_ANNOTATIONS_PER_LEVEL = 10
MAX_CHARACTERS = 4096
_HALF_ESCAPE = re.compile("%[0-9A-F]?$")


def format_annotation(level: str, message: str, **properties: str | int) -> str:
    """Return the command for an annotation, truncated as by the runner; ``level`` is error, warning or
    notice."""
    property_text = ",".join(f"{name}={_escape_property(str(value))}" for name, value in properties.items())
    text = _escape_data("\n".join(map(escape_text, message.split("\n"))))
    if len(text) > MAX_CHARACTERS:
        text = _HALF_ESCAPE.sub("", text[: MAX_CHARACTERS - 1]) + "…"
    return f"::{level} {property_text}::{text}"


def format_log_line(text: str) -> str:
    """Return ``text`` as one line of the log that the runner does not interpret as a command."""
    line = escape_text(text).replace("##[", "## [")
    return f".{line}" if line.lstrip().startswith("::") else line


def _escape_data(text: str) -> str:
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return escaped.replace("##[", "## [")


def _escape_property(text: str) -> str:
    return _escape_data(escape_text(text)).replace(":", "%3A").replace(",", "%2C")
