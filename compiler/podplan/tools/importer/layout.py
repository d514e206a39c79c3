"""A profile as YAML that people will edit: comments, and short maps and lists on one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from podplan.core.findings import Path
from podplan.core.typing import Any, NamedTuple
from podplan.tools.importer.comments import PlacedComment
from podplan.yaml.scalars import resolve
from podplan.yaml.writer import emit_document

WIDTH = 100
_MOST_IN_FLOW = 8
# What a plain scalar may look like, in a flow collection too: words, paths, flags, images.
_LETTERS = r"(?:[A-Za-z0-9_./@=+%-]|:(?=[A-Za-z0-9_./-]))"
_PLAIN = re.compile(rf"(?:--?|[/.]{{1,3}})?[A-Za-z]{_LETTERS}*(?: {_LETTERS}+)*")
_AMOUNT = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[KMGTP]i|[mMGT])|(?:[0-9]+[dhms])+")
_SINGLE_QUOTED = re.compile(r"[ -~]*\"[ -~]*")
_LITERAL = re.compile(r"[!-~](?:[ -~]*[!-~])?(?:\n(?:[ -~]*[!-~])?)*\n?")
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
# Fields that are read more easily with a line for each entry, however short.
_ALWAYS_BLOCK = (("spec",), ("spec", "env"))


class Page(NamedTuple):
    """The comments at each path, and the paths that have comments somewhere below."""

    marks: dict[Path, list[PlacedComment]]
    crowded: frozenset[Path]


def written(profile: dict[str, Any], comments: Iterable[PlacedComment] = ()) -> str:
    """The YAML text of ``profile``; the paths of ``comments`` are in it."""
    marks: dict[Path, list[PlacedComment]] = {}
    for comment in comments:
        marks.setdefault(comment.path, []).append(comment)
    page = Page(marks, frozenset(path[:cut] for path in marks for cut in range(len(path))))
    lines = [comment.text for comment in marks.get((), ()) if comment.where != "end"]
    lines += _block(profile, (), "", page)
    lines += [comment.text for comment in marks.get((), ()) if comment.where == "end"]
    return "\n".join(lines) + "\n"


def _block(value: Any, path: Path, indent: str, page: Page) -> Iterator[str]:
    """The lines of a map or list that is not empty, one entry after the other."""
    for step, below in value.items() if isinstance(value, dict) else enumerate(value):
        inner = (*path, step)
        own = page.marks.get(inner, [])
        yield from (indent + comment.text for comment in own if comment.where == "above")
        beside = [comment.text for comment in own if comment.where == "beside"]
        yield from (indent + text for text in beside[:-1])
        head = f"{indent}{_key(step)}:" if isinstance(value, dict) else f"{indent}-"
        yield from _entry(head, below, inner, indent, f"  {beside[-1]}" if beside else "", page)
        yield from (indent + comment.text for comment in own if comment.where == "below")


def _entry(head: str, value: Any, path: Path, indent: str, beside: str, page: Page) -> Iterator[str]:
    if isinstance(value, str) and _is_literal(value):
        yield f"{head} |{'' if value.endswith(chr(10)) else '-'}{beside}"
        yield from (f"{indent}  {line}".rstrip() for line in value.removesuffix("\n").split("\n"))
        return
    flow = _flow(value, path, page)
    if flow is not None and (not isinstance(value, dict | list) or len(head) + 1 + len(flow) <= WIDTH):
        yield f"{head} {flow}{beside}"
        return
    lines = list(_block(value, path, f"{indent}  ", page))
    if (
        head.endswith("-")
        and not beside
        and isinstance(value, dict)
        and not lines[0].lstrip().startswith("#")
    ):
        lines[0] = f"{head} {lines[0].lstrip()}"
    else:
        yield f"{head}{beside}"
    yield from lines


def _is_literal(text: str) -> bool:
    return "\n" in text and not text.endswith("\n\n") and bool(_LITERAL.fullmatch(text))


def _flow(value: Any, path: Path, page: Page) -> str | None:
    """``value`` on one line; None where it is too much for that, or comments stand in it."""
    if not isinstance(value, dict | list):
        return scalar(value)
    if not value:
        return "{}" if isinstance(value, dict) else "[]"
    if path in _ALWAYS_BLOCK or path in page.crowded or not _is_small(value):
        return None
    return _inline(value)


def _is_small(value: Any) -> bool:
    """Whether a collection reads well on one line: scalars, and at most one level of short collections."""
    if _holds_literal(value):
        return False
    if isinstance(value, list):
        return not any(isinstance(entry, dict | list) for entry in value)
    below = [entry for entry in value.values() if isinstance(entry, dict | list)]
    flat = all(
        not any(
            isinstance(leaf, dict | list) for leaf in (entry.values() if isinstance(entry, dict) else entry)
        )
        for entry in below
    )
    return flat and sum(map(_leaves, value.values())) <= _MOST_IN_FLOW


def _holds_literal(value: Any) -> bool:
    entries = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(_holds_literal, entries)) or (isinstance(value, str) and _is_literal(value))


def _leaves(value: Any) -> int:
    return len(value) if isinstance(value, dict | list) else 1


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)}: {_inline(below)}" for key, below in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return scalar(value)


def _key(step: Any) -> str:
    return scalar(str(step))


def scalar(value: Any) -> str:
    """A scalar on one line; a string is plain only where every reader takes it for the same string."""
    if not isinstance(value, str):
        return emit_document([value]).removeprefix("- ").rstrip("\n")
    if _is_plain(value):
        return value
    if _SINGLE_QUOTED.fullmatch(value):
        return "'" + value.replace("'", "''") + "'"
    return emit_document(value).rstrip("\n")


def _is_plain(text: str) -> bool:
    word = _PLAIN.fullmatch(text) and text.lower() not in _WORDS
    return bool(word or _AMOUNT.fullmatch(text)) and resolve(text) == text
