"""Where every value came from.

Each step of the pipeline builds its result as a *marked tree*: dicts and lists that read like the
document they make, with a mark wherever a value comes from somewhere. ``split`` turns the tree into
a ``Doc``: plain data, and beside it the origin of every part. Three marks suffice:

* a ``Cursor`` as a leaf is copied, with everything below it;
* ``at(why, value)`` stands because of a place or of a fact;
* ``computed(function, *cursors)`` is worked out from the values at some places.

Whatever is below a mark inherits it, and a value without any mark is a ``TypeError``: to forget
where a value came from is loud. ``trace`` walks back from a document to the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from podplan.core.indexed_text import Indexed, Listing
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    from podplan.yaml import Document

Path = tuple[str | int, ...]
# Makes a NamedTuple of all its fields; its class does so through a call of Python, and origins are many.
_made = tuple.__new__


class Fact(NamedTuple):
    """Something a controller, a launcher or Kubernetes does, and how well that is known.

    ``basis`` is documented (prose, reference or observed output), anchored (at least two open systems
    agree) or assumed (one reasonable choice). ``value`` is the default that the fact gives, if any;
    configuration may replace the value of a fact under its ``id``. ``choices`` are all the values that it may
    have, if it may not have any; ``words`` are those that may stand in braces in it, and are filled in.
    """

    id: str
    text: str
    basis: str
    source: str
    value: Any = None
    choices: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


class Flag(NamedTuple):
    """A command-line flag or configuration key that gave a value, such as ``--set params.lr=0.1``."""

    name: str


class Place(NamedTuple):
    """A path in a document of an earlier step."""

    doc: Doc
    path: Path


class Origin(NamedTuple):
    """Why a part of a document is what it is.

    ``how`` is "copied" (what is below follows), "computed" or "because". The first of ``places`` is where a
    person would edit; the others had a part in it. ``overrides`` are places whose values lost to this one,
    the most recent loser first.
    """

    how: str
    places: tuple[Place, ...] = ()
    fact: Fact | None = None
    flag: Flag | None = None
    overrides: tuple[Place, ...] = ()


class Doc:
    """One document of one step: plain data, and where its parts came from.

    A document read from a file has a ``source`` and no origins. Any other has origins by path; a part
    without an origin of its own has that of its nearest ancestor. ``varies`` tells how the document
    differs from replica to replica (see ``Indexed`` and ``Listing``).
    """

    __slots__ = ("data", "name", "origins", "source", "varies")

    def __init__(
        self,
        name: str,
        data: Any,
        *,
        source: Document | None = None,
        origins: dict[Path, Origin] | None = None,
        varies: dict[Path, Indexed | Listing] | None = None,
    ) -> None:
        self.name = name
        self.data = data
        self.source = source
        self.origins = origins if origins is not None else {}
        self.varies = varies if varies is not None else {}

    def __repr__(self) -> str:
        return f"Doc({self.name!r})"


class Cursor:
    """A place together with its value. As a leaf of a marked tree it means: copied from there.

    Using a cursor itself as a value (``==``, ``+``, truth, formatting, iteration) is a ``TypeError``.
    A cursor may point at something that is not written: then ``exists`` is false, ``value`` is None,
    and as a leaf it drops its key. An explicit null counts as not written, as in Kubernetes.
    """

    __slots__ = ("doc", "path", "value")

    def __init__(self, doc: Doc, path: Path, value: Any) -> None:
        self.doc = doc
        self.path = path
        self.value = value

    @property
    def exists(self) -> bool:
        return self.value is not None

    def get(self, *steps: str | int) -> Cursor:
        """The place below, whether it is written or not."""
        value = self.value
        for step in steps:
            kind = value.__class__
            if kind is dict:
                value = value.get(step)
            elif kind is list and isinstance(step, int) and 0 <= step < len(value):
                value = value[step]
            else:
                value = None
        return Cursor(self.doc, self.path + steps, value)

    def __getitem__(self, step: str | int) -> Cursor:
        below = self.get(step)
        if not below.exists:
            raise KeyError(f"{self.doc.name}: nothing at {(*self.path, step)}")
        return below

    def fields(self) -> dict[str, Cursor]:
        """The keys of a mapping with their places; empty when this is not a mapping. Nulls are left out."""
        if not isinstance(self.value, dict):
            return {}
        return {
            key: Cursor(self.doc, (*self.path, key), value)
            for key, value in self.value.items()
            if value is not None
        }

    def entries(self) -> list[Cursor]:
        """The entries of a list; empty when this is not a list."""
        if not isinstance(self.value, list):
            return []
        return [Cursor(self.doc, (*self.path, i), value) for i, value in enumerate(self.value)]

    def otherwise(self, value: Any) -> Any:
        """The plain value, or ``value`` where nothing is written."""
        return self.value if self.value is not None else value

    @property
    def place(self) -> Place:
        return Place(self.doc, self.path)

    def __repr__(self) -> str:
        return f"Cursor({self.doc.name!r}, {self.path!r})"

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError(f"{self.path} in {self.doc.name} is a place; read its .value")

    __eq__ = __ne__ = __add__ = __radd__ = __bool__ = __iter__ = __len__ = _refuse
    __contains__ = __int__ = __float__ = __str__ = __format__ = __lt__ = __gt__ = _refuse
    __hash__ = None  # type: ignore[assignment]  # a place is no key of a dict, by mistake for its value


class Marked(NamedTuple):
    """A value with its origin, inside a marked tree."""

    value: Any
    origin: Origin


Why = Cursor | Fact | Flag


def at(why: Why | tuple[Why, ...], value: Any, over: tuple[Cursor, ...] = ()) -> Marked:
    """``value`` stands because of ``why``; ``over`` are the places whose values it replaces."""
    return _made(Marked, (value, _origin("because", why if why.__class__ is tuple else (why,), over)))


def computed(
    function: Callable[..., Any], *cursors: Cursor, fact: Fact | None = None, over: tuple[Cursor, ...] = ()
) -> Marked:
    """``function`` of the values at ``cursors``; the first cursor is where a person would edit."""
    whys: tuple[Why, ...] = (*cursors, fact) if fact else cursors
    return Marked(function(*(c.value for c in cursors)), _origin("computed", whys, over))


def copied(
    cursor: Cursor,
    over: tuple[Cursor, ...] = (),
    because: tuple[Cursor, ...] = (),
    fact: Fact | None = None,
) -> Marked:
    """``cursor`` with everything below it, where it replaces what stood at the places ``over``.

    ``because`` are places that led there, such as a name that was looked up; so is a ``fact``.
    """
    whys: tuple[Why, ...] = (cursor, *because, fact) if fact else (cursor, *because)
    return Marked(cursor.value, _origin("copied", whys, over))


def default(cursor: Cursor, fact: Fact, value: Any = None) -> Cursor | Marked:
    """What is written at ``cursor``, else the value that ``fact`` gives (or ``value``)."""
    if cursor.exists:
        return cursor
    return at((fact, cursor), fact.value if value is None else value)


def _origin(how: str, whys: tuple[Any, ...], over: tuple[Cursor, ...]) -> Origin:
    places: list[Place] = []
    fact: Fact | None = None
    flag: Flag | None = None
    for why in whys:
        kind = why.__class__
        if kind is Cursor:
            places.append(_made(Place, (why.doc, why.path)))
        elif kind is Fact:
            fact = fact or why
        elif kind is Flag:
            flag = flag or why
    lost = tuple(c.place for c in over if c.exists) if over else ()
    return _made(Origin, (how, tuple(places), fact, flag, lost))


def root(doc: Doc) -> Cursor:
    """The cursor at the top of a document."""
    return Cursor(doc, (), doc.data)


def split(tree: Any, name: str, index: int = 0) -> Doc:
    """The document that a marked tree describes.

    Index-dependent leaves get their text for ``index`` and are noted in ``varies``; listings get their
    folded text. Raises TypeError for a value that no mark covers.
    """
    doc = Doc(name, None, origins={}, varies={})
    doc.data = _plain(tree, (), False, doc, index)
    return doc


def _plain(node: Any, path: Path, covered: bool, doc: Doc, index: int) -> Any:
    """The plain data of a part of a marked tree, whose origins and variations are noted in ``doc``."""
    kind = node.__class__
    while kind is Marked:
        doc.origins[path] = node.origin
        if node.origin.how == "copied":
            return node.value
        covered, node = True, node.value
        kind = node.__class__
    if kind is Cursor:
        place = _made(Place, (node.doc, node.path))
        doc.origins[path] = _made(Origin, ("copied", (place,), None, None, ()))
        return node.value
    if not covered:
        raise TypeError(f"{doc.name}: nothing says where the value at {path} comes from")
    if kind is dict:
        return {
            key: value if value.__class__ is str else _plain(value, (*path, key), True, doc, index)
            for key, value in node.items()
            if value.__class__ is not Cursor or value.value is not None
        }
    if kind is list:
        kept = [entry for entry in node if entry.__class__ is not Cursor or entry.value is not None]
        return [_plain(entry, (*path, i), True, doc, index) for i, entry in enumerate(kept)]
    if kind is Indexed:
        doc.varies[path] = node
        return node.text(index)
    if kind is Listing:
        doc.varies[path] = node
        return node.folded()
    return node


def origin_of(doc: Doc, path: Path) -> tuple[Origin, Path]:
    """The origin that covers ``path`` and the rest of the path below it.

    Raises LookupError for a document from a file, which has no origins.
    """
    for cut in range(len(path), -1, -1):
        found = doc.origins.get(path[:cut])
        if found is not None:
            return found, path[cut:]
    raise LookupError(f"{doc.name} has no origin for {path}")


class Step(NamedTuple):
    """One document on the way back to the file. ``origin`` is None at the file itself."""

    doc: Doc
    path: Path
    origin: Origin | None


def trace(doc: Doc, path: Path) -> list[Step]:
    """The way from ``path`` in ``doc`` back to the line that somebody wrote, along the first places.

    The last step is a document of a file, or one whose origin is a fact or a flag alone.
    """
    steps: list[Step] = []
    while doc.source is None:
        origin, rest = origin_of(doc, path)
        steps.append(_made(Step, (doc, path, origin)))
        if not origin.places:
            return steps
        place = origin.places[0]
        doc, path = place.doc, place.path + rest if origin.how == "copied" else place.path
    steps.append(Step(doc, path, None))
    return steps


def origins_below(doc: Doc, path: Path) -> Iterator[tuple[Path, Origin]]:
    """The origins noted at ``path`` and below it, in document order."""
    depth = len(path)
    for at_path, origin in doc.origins.items():
        if at_path[:depth] == path:
            yield at_path, origin
