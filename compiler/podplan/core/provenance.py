"""Provenance: where every value came from.

Each step of the pipeline builds its result as a *traced tree*: dicts and lists shaped like the resulting
document, with an origin at every value. ``build_traced_document`` turns the tree into a ``TracedDocument``:
plain data, and separately the origin of every part. There are three ways to give an origin:

* a ``Cursor`` as a leaf is copied, with everything below it;
* ``attribute_to(cause, value)`` attributes a value to a place or a behavior;
* ``compute_traced(function, *cursors)`` computes a value from the values at some places.

Everything below a traced value inherits its origin, and a value without any origin is a ``TypeError``, so a
missing origin cannot go unnoticed. ``trace_to_source`` walks back from a document to the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from podplan.core.indexed_text import Digest, Indexed, ListedTexts, Listing
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    from podplan.yaml import Document

Path = tuple[str | int, ...]
ReplicaText = Indexed | Digest | Listing | ListedTexts
# Constructs a NamedTuple from all its fields without the Python call of its class: there are many origins.
_new_tuple = tuple.__new__


class Behavior(NamedTuple):
    """A behavior of a controller, a launcher or Kubernetes, with its evidence.

    ``basis`` is documented (prose, reference or observed output), anchored (at least two open systems agree)
    or assumed (one reasonable choice). ``value`` is the default, if the behavior has one; configuration may
    replace it under ``id``. ``choices`` are the allowed values; empty means any. ``placeholders`` are the
    names that may be in braces in the value, which are filled in.
    """

    id: str
    text: str
    basis: str
    source: str
    value: Any = None
    choices: tuple[str, ...] = ()
    placeholders: tuple[str, ...] = ()


class Flag(NamedTuple):
    """A command-line flag or configuration key that set a value, such as ``--set params.lr=0.1``."""

    name: str


class DocumentPath(NamedTuple):
    """A path in a document of an earlier step."""

    doc: TracedDocument
    path: Path


class Origin(NamedTuple):
    """Why a part of a document has its value.

    ``derivation`` is "copied" (with everything below), "computed" or "because". The first of ``sources`` is
    where a person would edit; the others contributed. ``overridden`` are the places whose values this one
    replaced, the most recently replaced first.
    """

    derivation: str
    sources: tuple[DocumentPath, ...] = ()
    behavior: Behavior | None = None
    flag: Flag | None = None
    overridden: tuple[DocumentPath, ...] = ()


class TracedDocument:
    """One document of one step: plain data, and the origins of its parts.

    A document from a file has a ``source`` and no origins. Any other has origins by path; a part without an
    entry has the origin of its nearest ancestor. ``replica_texts`` has the text that differs from replica to
    replica, by path (see ``Indexed`` and ``Listing``).
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

    @property
    def file(self) -> str:
        """The file that the document, or the List with it, is in; without a file, the name."""
        return self.source.file if self.source is not None else self.name

    def __repr__(self) -> str:
        return f"Doc({self.name!r})"


class Cursor:
    """A path in a document together with its value. As a leaf of a traced tree it means: copied from there.

    Using a cursor itself as a value (``==``, ``+``, truth, formatting, iteration) is a ``TypeError``. A
    cursor may point at a missing field: then ``exists`` is false, ``value`` is None, and as a leaf it drops
    its key. An explicit null counts as missing, as in Kubernetes.
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
        """Return the cursor below, whether the field exists or not."""
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
        """Return a cursor for each key of a mapping without nulls; empty if this is not a mapping."""
        if not isinstance(self.value, dict):
            return {}
        return {
            key: Cursor(self.doc, (*self.path, key), value)
            for key, value in self.value.items()
            if value is not None
        }

    def entries(self) -> list[Cursor]:
        """Return a cursor for each entry of a list; empty if this is not a list."""
        if not isinstance(self.value, list):
            return []
        return [Cursor(self.doc, (*self.path, i), value) for i, value in enumerate(self.value)]

    def value_or(self, value: Any) -> Any:
        """Return the plain value, or ``value`` if the field is missing."""
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
    """A value with its origin, inside a traced tree."""

    value: Any
    origin: Origin


Cause = Cursor | Behavior | Flag


def present_causes(*causes: Cause) -> tuple[Cause, ...]:
    """``causes`` without the places where nothing is written; the first that is left is the place to edit."""
    return tuple(cause for cause in causes if not isinstance(cause, Cursor) or cause.exists)


def attribute_to(cause: Cause | tuple[Cause, ...], value: Any, overridden: tuple[Cursor, ...] = ()) -> Traced:
    """Return ``value`` with ``cause`` as its origin; ``overridden`` are the places whose values it
    replaces."""
    return _new_tuple(
        Traced, (value, _build_origin("because", cause if cause.__class__ is tuple else (cause,), overridden))
    )


def compute_traced(
    function: Callable[..., Any],
    *cursors: Cursor,
    behavior: Behavior | None = None,
    overridden: tuple[Cursor, ...] = (),
) -> Traced:
    """Return ``function`` applied to the values at ``cursors``; the first cursor is where a person would
    edit."""
    causes: tuple[Cause, ...] = (*cursors, behavior) if behavior else cursors
    return Traced(function(*(c.value for c in cursors)), _build_origin("computed", causes, overridden))


def copy_traced(
    cursor: Cursor,
    overridden: tuple[Cursor, ...] = (),
    via: tuple[Cursor, ...] = (),
    behavior: Behavior | None = None,
) -> Traced:
    """Return the value at ``cursor`` with everything below it, replacing the values at ``overridden``.

    ``via`` are places that led there, such as a name that was looked up; ``behavior`` is a further cause.
    """
    causes: tuple[Cause, ...] = (cursor, *via, behavior) if behavior else (cursor, *via)
    return Traced(cursor.value, _build_origin("copied", causes, overridden))


def apply_default(cursor: Cursor, behavior: Behavior, value: Any = None) -> Cursor | Traced:
    """Return ``cursor`` if the field exists, else ``value`` or the default of ``behavior``."""
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
    """Build the document that a traced tree describes.

    Text that depends on the index is evaluated for ``index`` and recorded in ``replica_texts``; listings are
    written folded. Raises TypeError: for a value without an origin.
    """
    doc = TracedDocument(name, None, origins={}, replica_texts={})
    doc.data = _strip_origins(tree, (), False, doc, index)
    return doc


def _strip_origins(node: Any, path: Path, has_origin: bool, doc: TracedDocument, index: int) -> Any:
    """Return the plain data of a part of a traced tree, recording its origins and its indexed text in
    ``doc``."""
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
    """Return the origin that covers ``path``, and the rest of the path below it.

    Raises LookupError: for a document from a file, which has no origins.
    """
    for cut in range(len(path), -1, -1):
        origin = doc.origins.get(path[:cut])
        if origin is not None:
            return origin, path[cut:]
    raise LookupError(f"{doc.name} has no origin for {path}")


class TraceStep(NamedTuple):
    """One document on the path back to the file; ``origin`` is None at the file itself."""

    doc: TracedDocument
    path: Path
    origin: Origin | None


def trace_to_source(doc: TracedDocument, path: Path) -> list[TraceStep]:
    """Trace ``path`` in ``doc`` back to the line in a file, following the first source of each origin.

    The last step is a document of a file, or one whose origin is only a behavior or a flag.
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
    """Yield the origins recorded at ``path`` and below it, in document order."""
    depth = len(path)
    for origin_path, origin in doc.origins.items():
        if origin_path[:depth] == path:
            yield origin_path, origin
