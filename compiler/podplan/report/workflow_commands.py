"""Workflow commands of GitHub Actions, and text for its log that is none, whatever is in it.

The runner takes a line for a command that begins with ``::`` after blanks, or that has ``##[`` anywhere. It
shows ten annotations of a level for a step, and of each 4,096 characters
(docs/evidence/github-actions.md#annotations).
"""

from __future__ import annotations

import re

from podplan.report.sanitization import visible

MAX_OF_LEVEL = 10
MAX_CHARACTERS = 4096
_HALF_ESCAPE = re.compile("%[0-9A-F]?$")


def annotation(level: str, message: str, **properties: str | int) -> str:
    """The command for an annotation, cut where the runner would; ``level`` is error, warning or notice."""
    told = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    text = _data("\n".join(map(visible, message.split("\n"))))
    if len(text) > MAX_CHARACTERS:
        text = _HALF_ESCAPE.sub("", text[: MAX_CHARACTERS - 1]) + "…"
    return f"::{level} {told}::{text}"


def log_line(text: str) -> str:
    """``text`` as one line of the log that the runner takes for no command."""
    line = visible(text).replace("##[", "## [")
    return f".{line}" if line.lstrip().startswith("::") else line


def _data(text: str) -> str:
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return escaped.replace("##[", "## [")


def _property(text: str) -> str:
    return _data(visible(text)).replace(":", "%3A").replace(",", "%2C")
