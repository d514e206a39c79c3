"""A tree that was changed as text: what is as it was keeps its characters, what is new is printed.

The old and the new tree share the entries that did not change; those are the same objects.
"""

from __future__ import annotations

from collections.abc import Callable

from podplan.tools.formatter.comments import said
from podplan.tools.formatter.printing import Form, entry_lines, lines_of
from podplan.yaml import read
from podplan.yaml.positions import LINE_BREAK, line_start
from podplan.yaml.tree import Leaf, Tree

Path = tuple[str | int, ...]


def changed(tree: Tree, path: Path, change: Callable[[Tree], Tree]) -> Tree:
    """``tree`` with the value at ``path`` changed. Raises LookupError where nothing is written there."""
    if not path:
        return change(tree)
    index = position(tree, path[0])
    leaf = tree.entries[index]
    leaf = leaf._replace(value=changed(leaf.value, path[1:], change))
    return tree._replace(entries=(*tree.entries[:index], leaf, *tree.entries[index + 1 :]))


def position(tree: Tree, step: str | int) -> int:
    """The index of an entry. Raises LookupError."""
    if isinstance(step, int) and tree.what == "list" and step < len(tree.entries):
        return step
    for index, leaf in enumerate(tree.entries):
        if leaf.key is not None and leaf.key.what == "scalar" and leaf.key.value == step:
            return index
    raise LookupError(step)


def word(text: str) -> Tree:
    """A scalar that is not written yet, as its text."""
    return Tree("scalar", -1, -1, value=text)


def field(name: str, value: Tree) -> Leaf:
    """An entry of a map that is not written yet."""
    return Leaf(word(name), value, -1)


def rewritten(text: str, old: Tree, new: Tree, start: int, end: int) -> str:
    """The text of a document, which is ``old`` between two offsets, when it is to be ``new``."""
    dash = "  " if _indents_lists(old) else ""
    form = Form(dash, spells=False, width=len(text))
    line_break = LINE_BREAK.search(text)
    broken = line_break[0] if line_break else "\n"
    whole = "\n".join(lines_of(new._replace(flow=False), text, form)) + "\n"
    if old.flow:
        return whole.replace("\n", broken)
    spliced = _spliced(text, old, new, start, end, form, broken)
    return spliced if _says_all(spliced, whole) else whole.replace("\n", broken)


def _says_all(spliced: str, whole: str) -> bool:
    """Whether one text has the data of another, and every comment of it."""
    made, wanted = read(spliced.encode(), ""), read(whole.encode(), "")
    data = [[one.data for one in source.documents] for source in (made, wanted)]
    return data[0] == data[1] and said(made) >= said(wanted)


def _indents_lists(tree: Tree) -> bool:
    """Whether the first list of a document stands further right than its key."""
    for leaf in tree.entries:
        value = leaf.value
        if value.what == "list" and not value.flow and value.entries and leaf.key is not None:
            return value.column > tree.column
        if value.entries and not value.flow:
            below = _first_list(value)
            if below is not None:
                return below
    return False


def _first_list(tree: Tree) -> bool | None:
    for leaf in tree.entries:
        value = leaf.value
        if value.flow or not value.entries:
            continue
        if value.what == "list" and leaf.key is not None:
            return value.column > tree.column
        below = _first_list(value)
        if below is not None:
            return below
    return None


def _spliced(text: str, old: Tree, new: Tree, start: int, end: int, form: Form, line_break: str) -> str:
    """The entries of a block, from behind its head to the end of what belongs to it."""
    starts = [_start(text, leaf, start) for leaf in old.entries]
    extents = list(zip(starts, [*starts[1:], end], strict=True))
    indent = " " * old.column
    in_line = bool(text[line_start(text, starts[0]) : starts[0]].strip())  # behind a dash
    at = {leaf.start: index for index, leaf in enumerate(old.entries)}
    parts = [text[start : starts[0]]]
    for number, leaf in enumerate(new.entries):
        index = at.get(leaf.start, -1)
        was, (first, last) = old.entries[index], extents[index]
        indented = not (in_line and index == 0)
        if index >= 0 and was is leaf:
            piece = text[first:last]
        elif index >= 0 and leaf._replace(value=was.value) == was and _is_block(was.value, leaf.value):
            child = _start(text, was.value.entries[0], _head_end(was))
            piece = text[first:child] + _spliced(text, was.value, leaf.value, child, last, form, line_break)
        else:
            piece = line_break.join(entry_lines(leaf, text, form, indent)) + line_break
            indented = True
        if indented and in_line and not number:
            piece = piece.removeprefix(indent)
        elif not indented and number:
            piece = indent + piece
        if number and not parts[-1].endswith(("\n", "\r")):
            parts.append(line_break)
        parts.append(piece)
    return "".join(parts)


def _is_block(*trees: Tree) -> bool:
    return all(tree.entries and not tree.flow for tree in trees)


def _head_end(leaf: Leaf) -> int:
    """Where the block below an entry may begin: behind its key, or its dash."""
    return leaf.key.end + 1 if leaf.key is not None else leaf.start + 1


def _start(text: str, leaf: Leaf, least: int) -> int:
    """Where an entry begins with the comments above it, which are its own."""
    start = line_start(text, leaf.start)
    if text[max(start, least) : leaf.start].strip(" \t") or start < least:
        return leaf.start
    comments = sum(1 for line in leaf.above if line)
    while start > least:
        above = line_start(text, start - 1 - (text[start - 2 : start] == "\r\n"))
        line = text[above:start].strip()
        if above < least or (line and (not line.startswith("#") or not comments)):
            break
        if not line and not comments:
            break
        comments -= bool(line)
        start = above
    return start
