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

from podplan.core.indexed_text import Digest, Indexed, ListedTexts, Listing
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    from podplan.yaml import Document

Path = tuple[str | int, ...]
ReplicaText = Indexed | Digest | Listing | ListedTexts
# Makes a NamedTuple of all its fields; its class does so through a call of Python, and origins are many.
_new_tuple = tuple.__new__


class Behavior(NamedTuple):
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
    placeholders: tuple[str, ...] = ()


class Flag(NamedTuple):
    """A command-line flag or configuration key that gave a value, such as ``--set params.lr=0.1``."""

    name: str


class DocumentPath(NamedTuple):
    """A path in a document of an earlier step."""

    doc: TracedDocument
    path: Path


class Origin(NamedTuple):
    """Why a part of a document is what it is.

    ``how`` is "copied" (what is below follows), "computed" or "because". The first of ``places`` is where a
    person would edit; the others had a part in it. ``overrides`` are places whose values lost to this one,
    the most recent loser first.
    """

    derivation: str
    sources: tuple[DocumentPath, ...] = ()
    behavior: Behavior | None = None
    flag: Flag | None = None
    overridden: tuple[DocumentPath, ...] = ()


class TracedDocument:
    """One document of one step: plain data, and where its parts came from.

    A document read from a file has a ``source`` and no origins. Any other has origins by path; a part
    without an origin of its own has that of its nearest ancestor. ``varies`` tells how the document
    differs from replica to replica (see ``Indexed`` and ``Listing``).
    """

    __slots__ = ("data", "name", "origins", "replica_texts", "source")

    def __init__(
        self,
        name: str,
        data: Any,
        *,
        source: Document | None = None,
        origins: dict[Path, Origin] | None = None,
        replica_texts: dict[Path, ReplicaText] | None = None,
    ) -> None:
        self.name = name
        self.data = data
        self.source = source
        self.origins = origins if origins is not None else {}
        self.replica_texts = replica_texts if replica_texts is not None else {}

    def __repr__(self) -> str:
        return f"Doc({self.name!r})"


class Cursor:
    """A place together with its value. As a leaf of a marked tree it means: copied from there.

    Using a cursor itself as a value (``==``, ``+``, truth, formatting, iteration) is a ``TypeError``.
    A cursor may point at something that is not written: then ``exists`` is false, ``value`` is None,
    and as a leaf it drops its key. An explicit null counts as not written, as in Kubernetes.
    """

    __slots__ = ("doc", "path", "value")

    def __init__(self, doc: TracedDocument, path: Path, value: Any) -> None:
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
            value_type = value.__class__
            if value_type is dict:
                value = value.get(step)
            elif value_type is list and isinstance(step, int) and 0 <= step < len(value):
                value = value[step]
            else:
                value = None
        return Cursor(self.doc, self.path + steps, value)

    def __getitem__(self, step: str | int) -> Cursor:
        child = self.get(step)
        if not child.exists:
            raise KeyError(f"{self.doc.name}: nothing at {(*self.path, step)}")
        return child

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

    def value_or(self, value: Any) -> Any:
        """The plain value, or ``value`` where nothing is written."""
        return self.value if self.value is not None else value

    @property
    def document_path(self) -> DocumentPath:
        return DocumentPath(self.doc, self.path)

    def __repr__(self) -> str:
        return f"Cursor({self.doc.name!r}, {self.path!r})"

    def _reject_use(self, *_: object) -> NoReturn:
        raise TypeError(f"{self.path} in {self.doc.name} is a place; read its .value")

    __eq__ = __ne__ = __add__ = __radd__ = __bool__ = __iter__ = __len__ = _reject_use
    __contains__ = __int__ = __float__ = __str__ = __format__ = __lt__ = __gt__ = _reject_use
    __hash__ = None  # type: ignore[assignment]  # a place is no key of a dict, by mistake for its value


class Traced(NamedTuple):
    """A value with its origin, inside a marked tree."""

    value: Any
    origin: Origin


Cause = Cursor | Behavior | Flag


def attribute_to(cause: Cause | tuple[Cause, ...], value: Any, overridden: tuple[Cursor, ...] = ()) -> Traced:
    """``value`` stands because of ``why``; ``over`` are the places whose values it replaces."""
    return _new_tuple(
        Traced, (value, _build_origin("because", cause if cause.__class__ is tuple else (cause,), overridden))
    )


def compute_traced(
    function: Callable[..., Any],
    *cursors: Cursor,
    behavior: Behavior | None = None,
    overridden: tuple[Cursor, ...] = (),
) -> Traced:
    """``function`` of the values at ``cursors``; the first cursor is where a person would edit."""
    causes: tuple[Cause, ...] = (*cursors, behavior) if behavior else cursors
    return Traced(function(*(c.value for c in cursors)), _build_origin("computed", causes, overridden))


def copy_traced(
    cursor: Cursor,
    overridden: tuple[Cursor, ...] = (),
    via: tuple[Cursor, ...] = (),
    behavior: Behavior | None = None,
) -> Traced:
    """``cursor`` with everything below it, where it replaces what stood at the places ``over``.

    ``because`` are places that led there, such as a name that was looked up; so is a ``fact``.
    """
    causes: tuple[Cause, ...] = (cursor, *via, behavior) if behavior else (cursor, *via)
    return Traced(cursor.value, _build_origin("copied", causes, overridden))


def apply_default(cursor: Cursor, behavior: Behavior, value: Any = None) -> Cursor | Traced:
    """What is written at ``cursor``, else the value that ``fact`` gives (or ``value``)."""
    if cursor.exists:
        return cursor
    return attribute_to((behavior, cursor), behavior.value if value is None else value)


def _build_origin(derivation: str, causes: tuple[Any, ...], overridden: tuple[Cursor, ...]) -> Origin:
    sources: list[DocumentPath] = []
    behavior: Behavior | None = None
    flag: Flag | None = None
    for cause in causes:
        cause_type = cause.__class__
        if cause_type is Cursor:
            sources.append(_new_tuple(DocumentPath, (cause.doc, cause.path)))
        elif cause_type is Behavior:
            behavior = behavior or cause
        elif cause_type is Flag:
            flag = flag or cause
    overridden_paths = tuple(c.document_path for c in overridden if c.exists) if overridden else ()
    return _new_tuple(Origin, (derivation, tuple(sources), behavior, flag, overridden_paths))


def root_cursor(doc: TracedDocument) -> Cursor:
    """The cursor at the top of a document."""
    return Cursor(doc, (), doc.data)


def build_traced_document(tree: Any, name: str, index: int = 0) -> TracedDocument:
    """The document that a marked tree describes.

    Index-dependent leaves get their text for ``index`` and are noted in ``varies``; listings get their
    folded text. Raises TypeError for a value that no mark covers.
    """
    doc = TracedDocument(name, None, origins={}, replica_texts={})
    doc.data = _strip_origins(tree, (), False, doc, index)
    return doc


def _strip_origins(node: Any, path: Path, has_origin: bool, doc: TracedDocument, index: int) -> Any:
    """The plain data of a part of a marked tree, whose origins and variations are noted in ``doc``."""
    node_type = node.__class__
    while node_type is Traced:
        doc.origins[path] = node.origin
        if node.origin.derivation == "copied":
            return node.value
        has_origin, node = True, node.value
        node_type = node.__class__
    if node_type is Cursor:
        source = _new_tuple(DocumentPath, (node.doc, node.path))
        doc.origins[path] = _new_tuple(Origin, ("copied", (source,), None, None, ()))
        return node.value
    if not has_origin:
        raise TypeError(f"{doc.name}: nothing says where the value at {path} comes from")
    if node_type is dict:
        return {
            key: value if value.__class__ is str else _strip_origins(value, (*path, key), True, doc, index)
            for key, value in node.items()
            if value.__class__ is not Cursor or value.value is not None
        }
    if node_type is list:
        present = [entry for entry in node if entry.__class__ is not Cursor or entry.value is not None]
        return [_strip_origins(entry, (*path, i), True, doc, index) for i, entry in enumerate(present)]
    if node_type is Indexed or node_type is Digest:
        doc.replica_texts[path] = node
        return node.text_at(index)
    if node_type is Listing or node_type is ListedTexts:
        doc.replica_texts[path] = node
        return node.folded_text(index)
    return node


def find_origin(doc: TracedDocument, path: Path) -> tuple[Origin, Path]:
    """The origin that covers ``path`` and the rest of the path below it.

    Raises LookupError for a document from a file, which has no origins.
    """
    for cut in range(len(path), -1, -1):
        origin = doc.origins.get(path[:cut])
        if origin is not None:
            return origin, path[cut:]
    raise LookupError(f"{doc.name} has no origin for {path}")


class TraceStep(NamedTuple):
    """One document on the way back to the file. ``origin`` is None at the file itself."""

    doc: TracedDocument
    path: Path
    origin: Origin | None


def trace_to_source(doc: TracedDocument, path: Path) -> list[TraceStep]:
    """The way from ``path`` in ``doc`` back to the line that somebody wrote, along the first places.

    The last step is a document of a file, or one whose origin is a fact or a flag alone.
    """
    steps: list[TraceStep] = []
    while doc.source is None:
        origin, rest = find_origin(doc, path)
        steps.append(_new_tuple(TraceStep, (doc, path, origin)))
        if not origin.sources:
            return steps
        source = origin.sources[0]
        doc, path = source.doc, source.path + rest if origin.derivation == "copied" else source.path
    steps.append(TraceStep(doc, path, None))
    return steps


def iter_origins_below(doc: TracedDocument, path: Path) -> Iterator[tuple[Path, Origin]]:
    """The origins noted at ``path`` and below it, in document order."""
    depth = len(path)
    for origin_path, origin in doc.origins.items():
        if origin_path[:depth] == path:
            yield origin_path, origin
