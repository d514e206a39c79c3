"""Diagnostics of the parser and of checks, and findings, which are diagnostics with a location."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from podplan.core.indexed_text import Indexed, Listing
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from podplan.core.builtin_rules import Rule
    from podplan.core.provenance import DocumentPath, ReplicaText, TracedDocument
    from podplan.core.replica_groups import ReplicaGroup

Path = tuple[str | int, ...]
# Related locations of one finding; a longer list would not be read.
MAX_RELATED = 50


class TextPath(tuple[str | int, ...]):
    """A path to a string, with the range of its text that is meant: 0-based offsets, the end exclusive.

    It equals the path without the range. A slice of it, or a sum with it, is a plain tuple without a range.
    """

    text_range: tuple[int, int]

    def __new__(cls, path: Path, text_range: tuple[int, int]) -> TextPath:
        made = super().__new__(cls, path)
        made.text_range = text_range
        return made


def below(base: Path, path: Path) -> Path:
    """Prefix ``path`` with ``base``, keeping its text range if it has one."""
    joined = (*base, *path)
    return TextPath(joined, path.text_range) if isinstance(path, TextPath) else joined


class Severity(IntEnum):
    """Severity of a finding; a higher number is more severe."""

    INFO = 0
    WARNING = 1
    ERROR = 2

    def __str__(self) -> str:
        return self.name.lower()


class DocumentFix(NamedTuple):
    """A repair of a diagnostic, as an operation on the document instead of on its text.

    ``op`` is "rename" (the key at ``path`` becomes ``value``), "set" (``path`` gets ``value``, and need not
    exist before), "prepend" (the entries of ``value`` come first in the list at ``path``), "quote" (the
    scalar at ``path`` becomes a string) or "remove". ``additional`` are operations of the same repair. It is
    ``safe`` if the job does the same afterwards, or could not run before; docs/fixes.md states which are.
    """

    title: str
    op: str
    path: Path
    value: Any = None
    safe: bool = False
    additional: tuple[DocumentFix, ...] = ()

    @property
    def steps(self) -> tuple[DocumentFix, ...]:
        """This operation and the additional ones, which are applied together."""
        return (self, *self.additional)


class Span(NamedTuple):
    """A range of a text: lines and columns 1-based, columns in code points, the end exclusive.

    ``start`` and ``end`` are 0-based code-point offsets in the text of the file.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    start: int
    end: int


NO_SPAN = Span(1, 1, 1, 1, 0, 0)


class Diagnostic(NamedTuple):
    """A problem before it has a location in a file. Each step adds what it knows.

    A check of a document sets ``path``, which leads to the value in the document (for a missing field: to the
    mapping that lacks it). ``on_key`` points at the key instead of the value. ``related`` are further paths
    in the same document, each with a short label. ``report_at_selector`` reports it at the line that selected
    the value by name, such as ``hardware:`` of a profile, if there is one, since other documents share the
    definition. ``fix`` repairs it.

    The parser sets ``span`` instead, and ``document_index``: the number of the document in the file.

    The pipeline adds the document with ``in_document``. ``level`` is file, profile, cr or lowered; ``group``
    are the lowered objects that it is about.

    A policy adds its rule with the severity in ``graded_rule``; without that, the rule is in BUILTIN_RULES.
    ``related_places`` are further places in any documents. ``fix_doc`` is the document that ``fix`` changes,
    if it is not ``doc``. ``related_files`` are further files that it is about.
    """

    rule: str
    message: str
    path: Path = ()
    on_key: bool = False
    help: str = ""
    related: tuple[tuple[Path, str], ...] = ()
    report_at_selector: bool = False
    fix: DocumentFix | None = None
    span: Span = NO_SPAN
    document_index: int = 0
    level: str = "file"
    doc: TracedDocument | None = None
    group: ReplicaGroup | None = None
    graded_rule: Rule | None = None
    related_places: tuple[tuple[DocumentPath, str], ...] = ()
    fix_doc: TracedDocument | None = None
    related_files: tuple[str, ...] = ()

    def in_document(self, level: str, doc: TracedDocument, group: ReplicaGroup | None = None) -> Diagnostic:
        """Return the diagnostic with the document that its paths lead into."""
        return self._replace(level=level, doc=doc, group=group)


class Location(NamedTuple):
    """A range of a file: lines and columns are 1-based, columns count code points, the end is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    path: Path


class Related(NamedTuple):
    """A further location that a finding points at, with a message about it."""

    location: Location
    message: str


class LoweredReference(NamedTuple):
    """The lowered object that a finding is about; ``indexes`` is a range such as "0-31", or "".

    ``name_text`` is how its name depends on the index, None if it does not.
    """

    kind: str
    name: str
    indexes: str
    path: Path
    name_text: ReplicaText | None = None

    @property
    def folded_name(self) -> str:
        """The name of all objects, such as bert-worker-{0..31}."""
        first, _, last = self.indexes.partition("-")
        if not last or "," in self.indexes:
            return self.name
        if isinstance(self.name_text, Indexed):
            folded = Listing((self.name_text,)).folded_text(int(first), int(last) - int(first) + 1)
            return folded.removesuffix("-")
        return f"{self.name.removesuffix(first)}{{{first}..{last}}}"


class InstanceCounts(NamedTuple):
    """How many variants of a profile (``hit`` of ``of``) have the finding, and the ids of those."""

    hit: int
    of: int
    ids: tuple[str, ...]


class Edit(NamedTuple):
    """Replaces a range of a file by ``text``.

    Lines and columns are as in Location; ``start`` and ``end`` are 0-based offsets in code points.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    start: int
    end: int
    text: str


class Fix(NamedTuple):
    """The repair of a finding, or in ``refusal_reason`` why podplan does not make it.

    If ``contains_secret``, no report shows the edits.
    """

    title: str
    safe: bool
    edits: tuple[Edit, ...] = ()
    refusal_reason: str = ""
    contains_secret: bool = False


class StableIdentity(NamedTuple):
    """Identifies a finding independently of its line, for baselines and fingerprints.

    ``object_id`` has apiVersion, kind, namespace and name of the document; it is None if the document is no
    mapping. ``path`` is formatted for people. ``value`` is the part of the value there that identifies the
    finding, and None if it ``contains_secret``. ``is_of_mapping``: the value is what the message says about
    a mapping.
    """

    object_id: dict[str, Any] | None
    path: str
    value: Any
    contains_secret: bool = False
    is_of_mapping: bool = False


class Finding(NamedTuple):
    """A Diagnostic with everything that a report needs; see docs/findings.md for the JSON form.

    ``identity`` is None for syntax errors. A ``suppressed`` finding has the ``reason`` of its suppression.
    ``subject_files`` are the files of the documents that it is about: a finding located in a base profile may
    be about a profile that extends it.
    """

    rule: str
    name: str
    severity: Severity
    message: str
    basis: str
    location: Location
    level: str
    object: dict[str, Any] | None = None
    lowered: LoweredReference | None = None
    instances: InstanceCounts | None = None
    related: tuple[Related, ...] = ()
    help: str = ""
    identity: StableIdentity | None = None
    suppressed: bool = False
    reason: str = ""
    fix: Fix | None = None
    subject_files: tuple[str, ...] = ()


def relocate_diagnostic(diagnostic: Diagnostic, relocate_path: Callable[[Path], Path]) -> Diagnostic:
    """Return ``diagnostic`` with all its paths mapped by ``relocate_path``, such as from a part of a
    document to the whole."""
    return diagnostic._replace(
        path=relocate_path(diagnostic.path),
        related=tuple((relocate_path(at), said) for at, said in diagnostic.related),
        fix=diagnostic.fix and _relocate_fix(diagnostic.fix, relocate_path),
    )


def _relocate_fix(fix: DocumentFix, relocate_path: Callable[[Path], Path]) -> DocumentFix:
    additional = tuple(one._replace(path=relocate_path(one.path)) for one in fix.additional)
    return fix._replace(path=relocate_path(fix.path), additional=additional)


def to_json_pointer(path: Path) -> str:
    """Format ``path`` as a JSON Pointer (RFC 6901); the root is the empty string."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def value_at(data: Any, path: Path) -> Any:
    """Return the value at ``path`` in plain data, or None if the path does not exist."""
    for step in path:
        if isinstance(data, dict):
            data = data.get(step)
        elif isinstance(data, list) and isinstance(step, int) and 0 <= step < len(data):
            data = data[step]
        else:
            return None
    return data
