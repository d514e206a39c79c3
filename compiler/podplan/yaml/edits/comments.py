"""Removes a rule from a suppression comment, or the whole comment if it names no other rule."""

from __future__ import annotations

from podplan.core.findings import Edit, Fix, Location
from podplan.core.lazy_regex import compile_lazily
from podplan.yaml.document import count_byte_order_marks
from podplan.yaml.positions import LINE_BREAK

_RULE_LIST = compile_lazily(r"\[([^\]]*)\]")


def remove_rule_from_comment(text: str, location: Location, rule: str, is_only_rule: bool) -> Fix | None:
    """Build the fix for a comment at ``location`` in the text of a file; None if there is no comment.

    ``is_only_rule``: the comment names no other rule.
    """
    starts = [0, *(match.end() for match in LINE_BREAK.finditer(text))]
    starts[0] = count_byte_order_marks(text)
    comment_line_start = starts[location.line - 1]
    start, end = (
        comment_line_start + location.column - 1,
        starts[location.end_line - 1] + location.end_column - 1,
    )
    comment = text[start:end]
    if not comment.startswith("#"):
        return None
    if not is_only_rule:
        return _remove_listed_rule(comment, location, start, rule)
    before = text[comment_line_start:start]
    if before.strip():
        start = comment_line_start + len(before.rstrip())
        return Fix(
            "remove the comment",
            True,
            (_build_edit(location, start - comment_line_start + 1, start, end, ""),),
        )
    after = LINE_BREAK.match(text, end)
    if after is None:
        return Fix("remove the comment", True, (_build_edit(location, 1, comment_line_start, end, ""),))
    edit = Edit(
        location.file, location.line, 1, location.end_line + 1, 1, comment_line_start, after.end(), ""
    )
    return Fix("remove the comment", True, (edit,))


def _remove_listed_rule(comment: str, location: Location, start: int, rule: str) -> Fix | None:
    rule_list = _RULE_LIST.search(comment)
    if rule_list is None:
        return None
    words = [word.strip() for word in rule_list[1].split(",")]
    remaining = [word for word in words if word != rule]
    if not remaining or len(remaining) == len(words):
        return None
    first, last = rule_list.span(1)
    edit = _build_edit(location, location.column + first, start + first, start + last, ", ".join(remaining))
    return Fix(f"take {rule} out of the comment", True, (edit._replace(end_column=location.column + last),))


def _build_edit(location: Location, column: int, start: int, end: int, text: str) -> Edit:
    return Edit(
        location.file, location.line, column, location.end_line, location.end_column, start, end, text
    )
