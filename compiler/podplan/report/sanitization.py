"""Escapes untrusted text for terminals and logs: control, invisible and bidirectional characters."""

from __future__ import annotations

from podplan.core.lazy_regex import compile_lazily

# Control characters except the tab, and characters that change the direction or are invisible.
_INVISIBLE = compile_lazily(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
# Commands that GitHub Actions executes from a log, see podplan.report.workflow_commands; ":::" is none.
_WORKFLOW_COMMAND = compile_lazily(r"(?m)^([^\S\n]*)::(?!:)")


MAX_TEXT_LENGTH = 6_000  # characters: enough for messages of CEL, but no name or value of megabytes


def truncate_text(text: str) -> str:
    """Return ``text`` truncated to a readable length."""
    return text if len(text) <= MAX_TEXT_LENGTH else f"{text[:MAX_TEXT_LENGTH]}…"


def escape_text(text: str) -> str:
    """Return ``text`` on one line, with control characters escaped as ``\\x1b``."""
    if text.isprintable():
        return text  # the usual case; printable text needs no escape
    return _INVISIBLE.sub(lambda match: match[0].encode("unicode_escape", "surrogatepass").decode(), text)


def escape_workflow_commands(text: str) -> str:
    """Return ``text`` of any number of lines, with workflow commands of GitHub escaped."""
    if "##[" in text:
        text = text.replace("##[", "## [")
    return _WORKFLOW_COMMAND.sub(r"\1\\x3a:", text) if "::" in text.replace(":::", "") else text
