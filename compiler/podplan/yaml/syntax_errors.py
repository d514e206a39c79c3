"""Explains syntax errors: libyaml's reason, with what to write instead."""

from __future__ import annotations

from yaml import YAMLError
from yaml.reader import ReaderError

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any, NamedTuple
from podplan.yaml.positions import find_line_start

# Every character that YAML does not allow.
_FORBIDDEN_CHARACTER = compile_lazily("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TEMPLATE = compile_lazily(r"""(?:^|[\s:,\[{-])(\$?\{\{.*?(?:\}\}|$))""")
_INDENTATION = compile_lazily(r"[ \t]*")


class SyntaxDiagnostic(NamedTuple):
    """A reason with its place: offsets into the text, the end exclusive."""

    rule: str
    message: str
    start: int
    end: int


def explain_syntax_error(error: YAMLError, text: str) -> SyntaxDiagnostic:
    """Explain why the parser failed on ``text``, and return the most likely position."""
    if isinstance(error, ReaderError):
        return find_forbidden_character(text)
    problem = str(getattr(error, "problem", None) or "")
    context = str(getattr(error, "context", None) or "")
    offset = _mark_offset(getattr(error, "problem_mark", None), 0, text)
    context_offset = _mark_offset(getattr(error, "context_mark", None), offset, text)
    return (
        _explain_tab(problem, offset, text)
        or _explain_template(offset, context_offset, text)
        or _explain_by_reason(problem, context, offset, context_offset, text)
    )


def find_forbidden_character(text: str) -> SyntaxDiagnostic:
    """Return the first character of ``text`` that YAML does not allow."""
    match = _FORBIDDEN_CHARACTER.search(text)
    offset = match.start() if match else 0
    code = f"U+{ord(text[offset]):04X}" if match else "a character"
    message = f"{code} is not allowed in YAML; remove it, or write it as an escape in double quotes"
    return SyntaxDiagnostic("YAML009", message, offset, offset + 1)


def _mark_offset(mark: Any, default: int, text: str) -> int:
    return default if mark is None else min(mark.index, len(text))


def _find_line(text: str, offset: int) -> tuple[int, int]:
    """Return where the line at ``offset`` begins and ends."""
    start = find_line_start(text, offset)
    ends = [end for end in (text.find("\n", offset), text.find("\r", offset)) if end >= 0]
    return start, min(ends, default=len(text))


def _explain_tab(problem: str, offset: int, text: str) -> SyntaxDiagnostic | None:
    start, _ = _find_line(text, offset)
    indentation = _INDENTATION.match(text, start)
    tab = text.find("\t", start, indentation.end() if indentation else start)
    if tab < 0 and text[offset : offset + 1] == "\t" and "start any token" in problem:
        tab = offset
    if tab < 0:
        return None
    return SyntaxDiagnostic(
        "YAML003", "a tab stands where YAML wants spaces; replace it by spaces", tab, tab + 1
    )


def _explain_template(error_offset: int, context_offset: int, text: str) -> SyntaxDiagnostic | None:
    """Explain an unquoted ``{{`` or ``${{`` on a line of the error."""
    for offset in dict.fromkeys((context_offset, error_offset)):
        start, end = _find_line(text, offset)
        match = _TEMPLATE.search(text[start:end])
        if match:
            opening = match[1][: match[1].index("{{") + 2]
            message = (
                f'"{opening}" is not quoted, so YAML takes the braces for mappings; quote the whole value'
            )
            return SyntaxDiagnostic("YAML001", message, start + match.start(1), start + match.end(1))
    return None


def _explain_by_reason(
    problem: str, context: str, offset: int, context_offset: int, text: str
) -> SyntaxDiagnostic:
    context_line = text.count("\n", 0, context_offset) + 1
    character = text[offset : offset + 1]
    rule = "YAML001"
    start = offset
    if "quoted scalar" in context and ("unexpected end" in problem or "document indicator" in problem):
        start, message = (
            context_offset,
            "this quote is never closed; close it, or put the value in a block scalar (|)",
        )
    elif "flow" in context and problem.startswith("did not find expected ',' or"):
        closing = problem[-2]
        start = context_offset
        message = (
            f'this bracket is not closed where "{closing}" or a comma is due; close it or quote the value'
        )
    elif problem == "mapping values are not allowed in this context":
        line_begin, _ = _find_line(text, offset)
        if ": " in text[line_begin:offset]:
            message = 'a ": " may not stand here; quote the value, or put the key on a line of its own'
        else:
            start = line_begin + len(text[line_begin:offset]) - len(text[line_begin:offset].lstrip())
            message = "this key stands inside the value above it; correct the indentation, or quote the value"
    elif problem == "block sequence entries are not allowed in this context":
        message = 'a list item may not stand here; put each "- " on a line of its own below the key'
    elif problem == "mapping keys are not allowed in this context":
        message = 'a "? " may not stand here; quote the value if it is one'
    elif problem == "could not find expected ':'":
        start = context_offset
        message = 'this line has no ": "; write "key: value", or indent it below the value that it continues'
    elif "expected key" in problem and character == ":":
        message = 'no key stands before this ":"; write one'
    elif "expected key" in problem and text[:offset].rstrip(" ")[-1:] in ("'", '"'):
        message = "the quoted value ends before this; quote all of it, and write ' inside of it as ''"
    elif "expected key" in problem or "'-' indicator" in problem:
        collection = "list" if "'-'" in problem else "mapping"
        message = (
            f"this does not fit the {collection} of line {{line}}; align it with the entries there, or"
            " quote it"
        )
    elif "<document start>" in problem:
        message = "the document is complete above this; correct the indentation, or write --- before it"
    elif "node content" in problem:
        message = "the text ends where a value is due"
        if character:
            message = f'a value is due before "{character}"; write one, or quote the text'
    elif "start any token" in problem:
        message = f'a value cannot start with "{character}"; quote it'
    elif "escape" in problem and "quoted" in context:
        message = 'this backslash begins no escape that YAML knows; write "\\\\", or use single quotes'
    elif "anchor" in context or "alias" in context:
        start = context_offset
        message = (
            f'a value that starts with "{text[context_offset : context_offset + 1]}" is an anchor or alias;'
            " quote it"
        )
    elif "tag handle" in problem or "tag" in context:
        rule, start = "YAML004", context_offset
        message = "this is not a tag that is defined; quote the value if it is one"
    elif "directive" in context or "YAML" in problem:
        rule, start = "YAML011", context_offset
        message = "a line that starts with % is a directive, which Kubernetes refuses; remove or quote it"
    elif "block scalar" in context:
        message = "after | or > only + or - and a digit may stand; put the text on the next line"
    else:
        message = f"{problem or 'the text is not YAML'}; quote the value if it is plain text"
    return SyntaxDiagnostic(
        rule, message.replace("{line}", str(context_line)), start, min(start + 1, len(text))
    )
