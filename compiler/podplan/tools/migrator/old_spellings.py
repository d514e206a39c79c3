"""Old spellings of a CR as edits of its text, one after the other; what they are called now is data.

Names and words change in place. A field that has moved takes its comments along.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Change, Edit, Path, value_at
from podplan.core.typing import Any, NamedTuple
from podplan.schema.old_spellings import old_field, old_kind, old_places, old_value_places, word_places
from podplan.tools.formatter.rewriting import changed, field, position, word
from podplan.tools.importer.normalization import is_free, target, words
from podplan.yaml import Document
from podplan.yaml.edits.changes import Refused, edits_for
from podplan.yaml.tree import Leaf, Tree

Data = dict[str, Any]


class Old(NamedTuple):
    """Something spelled as it once was: its path in the document, what to do about it, and what that is for.

    ``change`` is made in the text; without one, the field has moved to ``to``.
    """

    path: Path
    change: Change | None
    to: Path
    says: str
    why: str


def old_spellings(cr: Data, top: Path) -> Iterator[Old]:
    """What is spelled as it once was in a CR that stands at ``top`` of a document, the outermost first."""
    named = cr.get("kind")
    kind = old_kind(named) if isinstance(named, str) else ""
    if kind:
        path = (*top, "kind")
        yield Old(path, Change("", "set", path, kind), path, f"kind {named} → {kind}", "the API has no other")
    kind = kind or str(named)
    for path, name in old_places(kind, cr):
        old, new, _ = target(cr, path, name)
        if is_free(cr, new):
            known = old_field(kind, path)
            why = f"so far {known.effect}" if known is not None else ""
            says = f"{path[-1]} → {name.removeprefix('spec.')}"
            here, there = (*top, *old), (*top, *new)
            renames = old[:-1] == new[:-1]
            yield Old(here, Change("", "rename", here, new[-1]) if renames else None, there, says, why)
    for path, values in old_value_places(kind, cr):
        now = value_at(cr, path)
        value = str(now).capitalize()
        if value in values and value != now:
            here = (*top, *path)
            why = "the API server refuses other values"
            yield Old(here, Change("", "set", here, value), here, f"{path[-1]} {now} → {value}", why)
    for path in word_places(cr):
        listed = words(value_at(cr, path))
        if listed:
            here = (*top, *path)
            why = "the API server wants a list of words"
            yield Old(
                here, Change("", "set", here, listed), here, f"{path[-1]}: a text → a list of words", why
            )


def edits(document: Document, old: Old) -> tuple[Edit, ...]:
    """The edits for what changes in place. Raises Refused."""
    assert old.change is not None
    return edits_for(document, old.change)


def moved(tree: Tree, old: Old) -> Tree:
    """The root of a document in which a field has moved. Raises Refused."""
    try:
        leaf = _at(tree, old.path)
    except LookupError:
        raise Refused("it comes through an alias or a merge key") from None
    common = 0
    while common < len(old.to) - 1 and old.path[:-1][common : common + 1] == old.to[common : common + 1]:
        common += 1
    name = old.to[-1]
    new = leaf._replace(key=word(str(name)))
    if common == len(old.path) - 1:
        # Its own map gets the maps in between: template.containers → template.spec.containers.
        for step in reversed(old.to[common:-1]):
            new = field(str(step), Tree("map", -1, -1, entries=(new,)))
        return changed(tree, old.path[:-1], lambda below: _replaced(below, old.path[-1], new))
    tree, comments = without(tree, old.path)
    return _with(tree, old.to, new._replace(above=(*comments, *new.above)))


def _at(tree: Tree, path: Path) -> Leaf:
    for step in path[:-1]:
        tree = tree.entries[position(tree, step)].value
    return tree.entries[position(tree, path[-1])]


def _replaced(tree: Tree, name: str | int, new: Leaf) -> Tree:
    index = position(tree, name)
    return tree._replace(entries=(*tree.entries[:index], new, *tree.entries[index + 1 :]))


def without(tree: Tree, path: Path) -> tuple[Tree, tuple[str, ...]]:
    """``tree`` without an entry, and the map that held nothing else; and the comments of that map."""
    parent = path[:-1]
    held = _at(tree, parent)
    if len(held.value.entries) == 1 and isinstance(parent[-1], str):
        tree, comments = without(tree, parent)
        own = (*held.above, held.beside, *held.value.opening, *held.value.closing, *held.below)
        return tree, (*comments, *(line for line in own if line))
    index = position(held.value, path[-1])
    kept = (*held.value.entries[:index], *held.value.entries[index + 1 :])
    return changed(tree, parent, lambda below: below._replace(entries=kept)), ()


def _with(tree: Tree, path: Path, new: Leaf) -> Tree:
    """``tree`` with an entry at the end of the map that ``path`` leads to, which is made where it is not."""
    depth = 0
    here = tree
    while depth < len(path) - 1:
        try:
            here = here.entries[position(here, path[depth])].value
        except LookupError:
            break
        depth += 1
    if here.what != "map":
        raise Refused(f"{path[depth - 1]} is no mapping of its own")
    for step in reversed(path[depth:-1]):
        new = field(str(step), Tree("map", -1, -1, entries=(new,)))
    return changed(tree, path[:depth], lambda below: below._replace(entries=(*below.entries, new)))
