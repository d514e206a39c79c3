"""A profile as YAML that people will edit: comments, and short maps and lists on one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from podplan.core.findings import Path
from podplan.core.typing import Any, NamedTuple
from podplan.tools.importer.comments import PlacedComment
from podplan.yaml.scalars import resolve_plain
from podplan.yaml.writer import emit_document

LINE_WIDTH = 100
_MAX_FLOW_LEAVES = 8
# What a plain scalar may look like, in a flow collection too: words, paths, flags, images.
_PLAIN_LETTER = r"(?:[A-Za-z0-9_./@=+%-]|:(?=[A-Za-z0-9_./-]))"
_PLAIN = re.compile(rf"(?:--?|[/.]{{1,3}})?[A-Za-z]{_PLAIN_LETTER}*(?: {_PLAIN_LETTER}+)*")
_AMOUNT = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[KMGTP]i|[mMGT])|(?:[0-9]+[dhms])+")
_SINGLE_QUOTED = re.compile(r"[ -~]*\"[ -~]*")
_LITERAL = re.compile(r"[!-~](?:[ -~]*[!-~])?(?:\n(?:[ -~]*[!-~])?)*\n?")
_RESERVED_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
# Fields that are read more easily with a line for each entry, however short.
_ALWAYS_BLOCK = (("spec",), ("spec", "env"))


class CommentIndex(NamedTuple):
    """The comments at each path, and the paths that have comments somewhere below."""

    by_path: dict[Path, list[PlacedComment]]
    parent_paths: frozenset[Path]


def render_profile(profile: dict[str, Any], comments: Iterable[PlacedComment] = ()) -> str:
    """The YAML text of ``profile``; the paths of ``comments`` are in it."""
    comments_by_path: dict[Path, list[PlacedComment]] = {}
    for comment in comments:
        comments_by_path.setdefault(comment.path, []).append(comment)
    comment_index = CommentIndex(
        comments_by_path, frozenset(path[:cut] for path in comments_by_path for cut in range(len(path)))
    )
    lines = [comment.text for comment in comments_by_path.get((), ()) if comment.position != "end"]
    lines += _render_block(profile, (), "", comment_index)
    lines += [comment.text for comment in comments_by_path.get((), ()) if comment.position == "end"]
    return "\n".join(lines) + "\n"


def _render_block(value: Any, path: Path, indent: str, comment_index: CommentIndex) -> Iterator[str]:
    """The lines of a map or list that is not empty, one entry after the other."""
    for step, child in value.items() if isinstance(value, dict) else enumerate(value):
        inner = (*path, step)
        own_comments = comment_index.by_path.get(inner, [])
        yield from (indent + comment.text for comment in own_comments if comment.position == "above")
        trailing_comments = [comment.text for comment in own_comments if comment.position == "beside"]
        yield from (indent + text for text in trailing_comments[:-1])
        head = f"{indent}{_render_key(step)}:" if isinstance(value, dict) else f"{indent}-"
        yield from _render_entry(
            head,
            child,
            inner,
            indent,
            f"  {trailing_comments[-1]}" if trailing_comments else "",
            comment_index,
        )
        yield from (indent + comment.text for comment in own_comments if comment.position == "below")


def _render_entry(
    head: str, value: Any, path: Path, indent: str, trailing_comment: str, comment_index: CommentIndex
) -> Iterator[str]:
    if isinstance(value, str) and _is_literal(value):
        yield f"{head} |{'' if value.endswith(chr(10)) else '-'}{trailing_comment}"
        yield from (f"{indent}  {line}".rstrip() for line in value.removesuffix("\n").split("\n"))
        return
    flow = _render_flow(value, path, comment_index)
    if flow is not None and (not isinstance(value, dict | list) or len(head) + 1 + len(flow) <= LINE_WIDTH):
        yield f"{head} {flow}{trailing_comment}"
        return
    lines = list(_render_block(value, path, f"{indent}  ", comment_index))
    if (
        head.endswith("-")
        and not trailing_comment
        and isinstance(value, dict)
        and not lines[0].lstrip().startswith("#")
    ):
        lines[0] = f"{head} {lines[0].lstrip()}"
    else:
        yield f"{head}{trailing_comment}"
    yield from lines


def _is_literal(text: str) -> bool:
    return "\n" in text and not text.endswith("\n\n") and bool(_LITERAL.fullmatch(text))


def _render_flow(value: Any, path: Path, comment_index: CommentIndex) -> str | None:
    """``value`` on one line; None where it is too much for that, or comments stand in it."""
    if not isinstance(value, dict | list):
        return render_scalar(value)
    if not value:
        return "{}" if isinstance(value, dict) else "[]"
    if path in _ALWAYS_BLOCK or path in comment_index.parent_paths or not _is_small(value):
        return None
    return _render_inline(value)


def _is_small(value: Any) -> bool:
    """Whether a collection reads well on one line: scalars, and at most one level of short collections."""
    if _holds_literal(value):
        return False
    if isinstance(value, list):
        return not any(isinstance(entry, dict | list) for entry in value)
    nested = [entry for entry in value.values() if isinstance(entry, dict | list)]
    flat = all(
        not any(
            isinstance(leaf, dict | list) for leaf in (entry.values() if isinstance(entry, dict) else entry)
        )
        for entry in nested
    )
    return flat and sum(map(_count_leaves, value.values())) <= _MAX_FLOW_LEAVES


def _holds_literal(value: Any) -> bool:
    entries = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(_holds_literal, entries)) or (isinstance(value, str) and _is_literal(value))


def _count_leaves(value: Any) -> int:
    return len(value) if isinstance(value, dict | list) else 1


def _render_inline(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{_render_key(key)}: {_render_inline(below)}" for key, below in value.items())
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(_render_inline, value)) + "]"
    return render_scalar(value)


def _render_key(step: Any) -> str:
    return render_scalar(str(step))


def render_scalar(value: Any) -> str:
    """A scalar on one line; a string is plain only where every reader takes it for the same string."""
    if not isinstance(value, str):
        return emit_document([value]).removeprefix("- ").rstrip("\n")
    if _is_plain(value):
        return value
    if _SINGLE_QUOTED.fullmatch(value):
        return "'" + value.replace("'", "''") + "'"
    return emit_document(value).rstrip("\n")


def _is_plain(text: str) -> bool:
    word = _PLAIN.fullmatch(text) and text.lower() not in _RESERVED_WORDS
    return bool(word or _AMOUNT.fullmatch(text)) and resolve_plain(text) == text
