"""What is wrong with a text that is not YAML: libyaml's reason, in words that say what to write."""

from __future__ import annotations

from yaml import YAMLError
from yaml.reader import ReaderError

from podplan.core.lazy_regex import pattern
from podplan.core.typing import Any, NamedTuple
from podplan.yaml.positions import line_start

# All that YAML allows in a stream, the other way round.
_NOT_ALLOWED = pattern("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TEMPLATE = pattern(r"""(?:^|[\s:,\[{-])(\$?\{\{.*?(?:\}\}|$))""")
_INDENTATION = pattern(r"[ \t]*")


class Syntax(NamedTuple):
    """A reason with its place: offsets into the text, the end exclusive."""

    rule: str
    message: str
    start: int
    end: int


def explain(error: YAMLError, text: str) -> Syntax:
    """Why the parser gave up on ``text``, and where somebody should look first."""
    if isinstance(error, ReaderError):
        return not_allowed(text)
    problem = str(getattr(error, "problem", None) or "")
    context = str(getattr(error, "context", None) or "")
    at = _offset(getattr(error, "problem_mark", None), 0, text)
    since = _offset(getattr(error, "context_mark", None), at, text)
    return (
        _tab(problem, at, text) or _template(at, since, text) or _by_reason(problem, context, at, since, text)
    )


def not_allowed(text: str) -> Syntax:
    """The first character of ``text`` that YAML does not allow."""
    match = _NOT_ALLOWED.search(text)
    at = match.start() if match else 0
    code = f"U+{ord(text[at]):04X}" if match else "a character"
    message = f"{code} is not allowed in YAML; remove it, or write it as an escape in double quotes"
    return Syntax("YAML009", message, at, at + 1)


def _offset(mark: Any, otherwise: int, text: str) -> int:
    return otherwise if mark is None else min(mark.index, len(text))


def _line(text: str, at: int) -> tuple[int, int]:
    """Where the line at offset ``at`` begins and ends."""
    start = line_start(text, at)
    ends = [end for end in (text.find("\n", at), text.find("\r", at)) if end >= 0]
    return start, min(ends, default=len(text))


def _tab(problem: str, at: int, text: str) -> Syntax | None:
    start, _ = _line(text, at)
    indentation = _INDENTATION.match(text, start)
    tab = text.find("\t", start, indentation.end() if indentation else start)
    if tab < 0 and text[at : at + 1] == "\t" and "start any token" in problem:
        tab = at
    if tab < 0:
        return None
    return Syntax("YAML003", "a tab stands where YAML wants spaces; replace it by spaces", tab, tab + 1)


def _template(at: int, since: int, text: str) -> Syntax | None:
    """An unquoted ``{{`` or ``${{`` in a line that took part in the error."""
    for offset in dict.fromkeys((since, at)):
        start, end = _line(text, offset)
        match = _TEMPLATE.search(text[start:end])
        if match:
            opening = match[1][: match[1].index("{{") + 2]
            message = (
                f'"{opening}" is not quoted, so YAML takes the braces for mappings; quote the whole value'
            )
            return Syntax("YAML001", message, start + match.start(1), start + match.end(1))
    return None


def _by_reason(problem: str, context: str, at: int, since: int, text: str) -> Syntax:
    since_line = text.count("\n", 0, since) + 1
    here = text[at : at + 1]
    rule = "YAML001"
    start = at
    if "quoted scalar" in context and ("unexpected end" in problem or "document indicator" in problem):
        start, message = since, "this quote is never closed; close it, or put the value in a block scalar (|)"
    elif "flow" in context and problem.startswith("did not find expected ',' or"):
        closing = problem[-2]
        start = since
        message = (
            f'this bracket is not closed where "{closing}" or a comma is due; close it or quote the value'
        )
    elif problem == "mapping values are not allowed in this context":
        line_start, _ = _line(text, at)
        if ": " in text[line_start:at]:
            message = 'a ": " may not stand here; quote the value, or put the key on a line of its own'
        else:
            start = line_start + len(text[line_start:at]) - len(text[line_start:at].lstrip())
            message = "this key stands inside the value above it; correct the indentation, or quote the value"
    elif problem == "block sequence entries are not allowed in this context":
        message = 'a list item may not stand here; put each "- " on a line of its own below the key'
    elif problem == "mapping keys are not allowed in this context":
        message = 'a "? " may not stand here; quote the value if it is one'
    elif problem == "could not find expected ':'":
        start = since
        message = 'this line has no ": "; write "key: value", or indent it below the value that it continues'
    elif "expected key" in problem and here == ":":
        message = 'no key stands before this ":"; write one'
    elif "expected key" in problem and text[:at].rstrip(" ")[-1:] in ("'", '"'):
        message = "the quoted value ends before this; quote all of it, and write ' inside of it as ''"
    elif "expected key" in problem or "'-' indicator" in problem:
        what = "list" if "'-'" in problem else "mapping"
        message = (
            f"this does not fit the {what} of line {{line}}; align it with the entries there, or quote it"
        )
    elif "<document start>" in problem:
        message = "the document is complete above this; correct the indentation, or write --- before it"
    elif "node content" in problem:
        message = "the text ends where a value is due"
        if here:
            message = f'a value is due before "{here}"; write one, or quote the text'
    elif "start any token" in problem:
        message = f'a value cannot start with "{here}"; quote it'
    elif "escape" in problem and "quoted" in context:
        message = 'this backslash begins no escape that YAML knows; write "\\\\", or use single quotes'
    elif "anchor" in context or "alias" in context:
        start = since
        message = f'a value that starts with "{text[since : since + 1]}" is an anchor or alias; quote it'
    elif "tag handle" in problem or "tag" in context:
        rule, start = "YAML004", since
        message = "this is not a tag that is defined; quote the value if it is one"
    elif "directive" in context or "YAML" in problem:
        rule, start = "YAML011", since
        message = "a line that starts with % is a directive, which Kubernetes refuses; remove or quote it"
    elif "block scalar" in context:
        message = "after | or > only + or - and a digit may stand; put the text on the next line"
    else:
        message = f"{problem or 'the text is not YAML'}; quote the value if it is plain text"
    return Syntax(rule, message.replace("{line}", str(since_line)), start, min(start + 1, len(text)))
