"""A rule taken out of a comment that ignores it, and the comment with it where that says nothing else."""

from __future__ import annotations

from podplan.core.findings import Edit, Fix, Location
from podplan.core.lazy_regex import pattern
from podplan.yaml.document import marked
from podplan.yaml.positions import LINE_BREAK

_LIST = pattern(r"\[([^\]]*)\]")


def without_rule(text: str, where: Location, rule: str, alone: bool) -> Fix | None:
    """The fix for a comment at ``where`` in the text of a file; None where it is not found there.

    ``alone`` tells that the comment names no other rule.
    """
    starts = [0, *(match.end() for match in LINE_BREAK.finditer(text))]
    starts[0] = marked(text)
    line = starts[where.line - 1]
    start, end = line + where.column - 1, starts[where.end_line - 1] + where.end_column - 1
    comment = text[start:end]
    if not comment.startswith("#"):
        return None
    if not alone:
        return _shorter(comment, where, start, rule)
    before = text[line:start]
    if before.strip():
        start = line + len(before.rstrip())
        return Fix("remove the comment", True, (_edit(where, start - line + 1, start, end, ""),))
    after = LINE_BREAK.match(text, end)
    if after is None:
        return Fix("remove the comment", True, (_edit(where, 1, line, end, ""),))
    edit = Edit(where.file, where.line, 1, where.end_line + 1, 1, line, after.end(), "")
    return Fix("remove the comment", True, (edit,))


def _shorter(comment: str, where: Location, start: int, rule: str) -> Fix | None:
    listed = _LIST.search(comment)
    if listed is None:
        return None
    words = [word.strip() for word in listed[1].split(",")]
    kept = [word for word in words if word != rule]
    if not kept or len(kept) == len(words):
        return None
    first, last = listed.span(1)
    edit = _edit(where, where.column + first, start + first, start + last, ", ".join(kept))
    return Fix(f"take {rule} out of the comment", True, (edit._replace(end_column=where.column + last),))


def _edit(where: Location, column: int, start: int, end: int, text: str) -> Edit:
    return Edit(where.file, where.line, column, where.end_line, where.end_column, start, end, text)
