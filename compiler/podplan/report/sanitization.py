"""Text from strangers, made harmless to look at: it moves no cursor, and hides and turns nothing."""

from __future__ import annotations

from podplan.core.lazy_regex import compile_lazily

# Control characters but the tab, and what changes the direction or cannot be seen at all.
_INVISIBLE = compile_lazily(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
# Commands that GitHub Actions obeys in a log, see podplan.report.workflow_commands; ":::" is none.
_WORKFLOW_COMMAND = compile_lazily(r"(?m)^([^\S\n]*)::(?!:)")


MAX_TEXT_LENGTH = 6_000  # characters: what CEL may say, and no name or value of megabytes


def truncate_text(text: str) -> str:
    """``text``, without its end where it is so long that nobody would read it."""
    return text if len(text) <= MAX_TEXT_LENGTH else f"{text[:MAX_TEXT_LENGTH]}…"


def escape_text(text: str) -> str:
    """``text`` in one line, with ``\\x1b`` and the like written out."""
    if text.isprintable():
        return text  # as nearly all is, and what is unseen never
    return _INVISIBLE.sub(lambda match: match[0].encode("unicode_escape", "surrogatepass").decode(), text)


def escape_workflow_commands(text: str) -> str:
    """``text`` of any number of lines, in which a workflow finds no command that it would obey."""
    if "##[" in text:
        text = text.replace("##[", "## [")
    return _WORKFLOW_COMMAND.sub(r"\1\\x3a:", text) if "::" in text.replace(":::", "") else text
