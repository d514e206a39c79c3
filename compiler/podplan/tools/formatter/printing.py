"""A tree as YAML text: two blanks for a level, a line for an entry, brackets kept where they fit in the line.

What stands in the data is not looked at but for its spelling: booleans, nulls and quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from podplan.core.typing import NamedTuple
from podplan.tools.importer.layout import scalar
from podplan.yaml import scalars
from podplan.yaml.tree import Leaf, Tree
from podplan.yaml.writer import emit_document

WIDTH = 110
_LINE_BREAK = re.compile(r"\r\n?|\n")
_AS_IT_IS = re.compile(r"[^\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff\"\\]*")

Line = str | None  # None for a blank line that may go


class Form(NamedTuple):
    """How lists are indented below their key, whether words are spelled anew, and how wide lines may be."""

    dash: str = "  "
    spells: bool = True
    width: int = WIDTH


FORM = Form()


def lines_of(tree: Tree, text: str, form: Form = FORM, indent: str = "") -> list[str]:
    """The lines of a map or list that is not empty; ``text`` is what it was read from."""
    return _single_blanks(_block(tree, indent, text, form))


def entry_lines(leaf: Leaf, text: str, form: Form, indent: str) -> list[str]:
    """The lines of one entry of a map, with its comments."""
    return _single_blanks(list(_entry(leaf, indent, text, form)))


def _single_blanks(lines: list[Line]) -> list[str]:
    kept: list[str] = []
    for line in lines:
        if line is not None or (kept and kept[-1] != ""):
            kept.append(line or "")
    return kept


def _block(tree: Tree, indent: str, text: str, form: Form) -> list[Line]:
    lines = [*_remarks(tree.opening, indent)]
    for leaf in tree.entries:
        lines += _entry(leaf, indent, text, form)
    while lines and lines[0] is None:
        del lines[0]
    return [*lines, *_remarks(tree.closing, indent)]


def _remarks(found: tuple[str, ...], indent: str) -> Iterator[Line]:
    return (indent + line if line else None for line in found)


def _entry(leaf: Leaf, indent: str, text: str, form: Form) -> Iterator[Line]:
    leaf = _hoisted(leaf)
    yield from _remarks(leaf.above, indent)
    head = indent + ("-" if leaf.key is None else f"{_key(leaf.key, text)}:")
    value, beside = leaf.value, f"  {leaf.beside}" if leaf.beside else ""
    if value.style in ("|", ">") and value.value.strip():
        yield from _long_text(value, head, indent, text, beside)
    elif value.what in ("scalar", "alias"):
        first, *rest = _spelled(value, text, form)
        lines = [f"{head} {first}".rstrip(), *(line and f"{indent}  {line}" for line in rest)]
        yield from lines[:-1]
        yield lines[-1] + beside
    elif (flow := _flow(value, text, form)) is not None and len(head) + 1 + len(flow) <= form.width:
        yield f"{head} {flow}{beside}"
    else:
        yield from _below(leaf, head, indent, text, form, beside)
    yield from _remarks(leaf.below, f"{indent}  ")


def _hoisted(leaf: Leaf) -> Leaf:
    """An entry of a list with the comments above its first field, for there is no room behind a dash."""
    value = leaf.value
    if leaf.key is not None or value.flow or not value.entries:
        return leaf
    first = _hoisted(value.entries[0])
    above = (*leaf.above, *value.opening, *first.above)
    value = value._replace(opening=(), entries=(first._replace(above=()), *value.entries[1:]))
    return leaf._replace(value=value, above=above)


def _below(leaf: Leaf, head: str, indent: str, text: str, form: Form, beside: str) -> Iterator[Line]:
    """An entry with a block, which begins in the same line behind a dash."""
    value = leaf.value
    deeper = indent + (form.dash if leaf.key is not None and value.what == "list" else "  ")
    lines = _block(value, deeper, text, form)
    if leaf.key is None and not value.prefix and not beside:
        first, *lines = lines
        assert first is not None, "a block begins with an entry"
        yield f"{head} {first[len(deeper) :]}"
    else:
        yield _behind(head, value.prefix) + beside
    yield from lines


def _behind(head: str, words: str) -> str:
    return f"{head} {words}" if words else head


def _flow(tree: Tree, text: str, form: Form) -> str | None:
    """A value in one line; None for a block, and for what has several lines."""
    if tree.what in ("scalar", "alias"):
        lines = _spelled(tree, text, form)
        return lines[0] if len(lines) == 1 else None
    if not tree.flow:
        return None
    below = []
    for leaf in tree.entries:
        value = _flow(leaf.value, text, form)
        if value is None:
            return None
        below.append(value if leaf.key is None else _behind(f"{_key(leaf.key, text)}:", value))
    inner = ", ".join(below)
    return f"{tree.prefix} ".lstrip() + (f"{{{inner}}}" if tree.what == "map" else f"[{inner}]")


def _key(key: Tree, text: str) -> str:
    """A key, with quotes only where it needs them."""
    if key.what == "alias":
        return f"*{key.value} "
    if key.start < 0:
        return key.value
    written = text[key.start : key.end]
    if _LINE_BREAK.search(written):  # which only a key in braces may have
        return _behind(key.prefix, scalar(key.value)).lstrip()
    return scalar(key.value) if key.style and not key.prefix else written


def _spelled(tree: Tree, text: str, form: Form) -> list[str]:
    """A scalar or an alias as the lines that it takes, the first behind its key, without their indents."""
    if tree.what == "alias":
        return [f"*{tree.value}"]
    if tree.start < 0:  # not written before
        return [tree.value]
    if tree.style in ("|", ">"):  # nothing but blanks
        return [_behind(tree.prefix, emit_document(tree.value).rstrip("\n")).lstrip()]
    lines = [line.strip(" \t") for line in _LINE_BREAK.split(text[tree.start : tree.end])]
    if len(lines) > 1 or not form.spells or "!" in tree.prefix:
        return lines
    if not tree.style:
        value = scalars.resolve(tree.value)
        word = "null" if value is None else str(value).lower() if isinstance(value, bool) else tree.value
        return [_behind(tree.prefix, word).lstrip()]
    if tree.style == "'" and _AS_IT_IS.fullmatch(tree.value):
        return [_behind(tree.prefix, f'"{tree.value}"').lstrip()]
    return lines


def _long_text(tree: Tree, head: str, indent: str, text: str, beside: str) -> Iterator[Line]:
    """A text of several lines below | or >."""
    lines = _literal(tree) if tree.style == "|" else _folded(tree, text)
    opening, *rest = lines
    yield f"{_behind(head, tree.prefix)} {opening}{beside}"
    yield from (line and f"{indent}  {line}" for line in rest)


def _literal(tree: Tree) -> list[str]:
    value = tree.value
    body = value.rstrip("\n")
    more = len(value) - len(body)
    begins_blank = value.lstrip("\n").startswith((" ", "\t")) or value.startswith(" ")
    opening = f"|{'2' if begins_blank else ''}{'-' if more == 0 else '' if more == 1 else '+'}"
    return [opening, *body.split("\n"), *[""] * (more - 1)]


def _folded(tree: Tree, text: str) -> list[str]:
    """The lines as they are written, for what is folded cannot be told from the value."""
    written = text[tree.start : tree.end].removeprefix(tree.prefix).lstrip()
    opening, *lines = _LINE_BREAK.split(written)
    header = opening.partition("#")[0].strip()
    first = next(line for line in lines if line.strip(" "))
    own = len(first) - len(first.lstrip(" "))
    step = re.sub("[^0-9]", "", header)
    if step:
        own = tree.column + int(step)
    kept = [line[own:] for line in lines]
    while kept and not kept[-1]:
        kept.pop()
    blanks = len(tree.value) - len(tree.value.rstrip("\n")) - 1 if "+" in header else 0
    return [header.replace(step, "2") if step else header, *kept, *[""] * blanks]
