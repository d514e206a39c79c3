"""A CR as one of another kind, or as its own kind in a later version: ``podplan migrate --to``.

A converter gives the new documents as trees. A part that is taken over is a ``Copied`` path of the old CR, so
that its text and its comments go with it; everything else is plain data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from podplan.core.findings import Path
from podplan.core.provenance import Cursor, TracedDocument
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple
from podplan.kinds.spec import References

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    Outcome: TypeAlias = Literal["same", "changed", "lost"]


class Copied(NamedTuple):
    """A value that is taken over from a path of the old CR."""

    path: Path


class Replaced(NamedTuple):
    """A new value in place of the one at a path of the old CR, whose comments it keeps."""

    path: Path
    value: Any


class Decision(NamedTuple):
    """What becomes of a field of the old CR that the new one does not have in the same form.

    ``same``: the job does the same without it or with another field; ``changed``: it does something else;
    ``lost``: the author has to do something, as the text says.
    """

    path: Path
    outcome: Outcome
    text: str


class Conversion(NamedTuple):
    """The documents that replace a CR, as trees with ``Copied`` and ``Replaced`` parts, and what was decided.

    ``added`` are documents that come before the CR. ``document`` is None if the CR cannot be converted;
    ``reason`` says why, and the decisions what to do.
    """

    document: Mapping[str, Any] | None
    added: tuple[Mapping[str, Any], ...] = ()
    decisions: tuple[Decision, ...] = ()
    reason: str = ""


class ConversionInput(NamedTuple):
    """What a converter gets: the CR, its lowered objects, and the documents of the repository that it needs.

    ``documents`` are of the kinds that the conversion names, those of the platform first.
    """

    cr: TracedDocument
    groups: Sequence[ReplicaGroup]
    documents: Sequence[TracedDocument]
    options: LoweringOptions


OldOptions = Callable[
    [Mapping[str, Any], Sequence[TracedDocument], LoweringOptions], "LoweringOptions | None"
]


class Converter(NamedTuple):
    """How CRs of one kind are converted.

    ``describe_life`` says, of a CR with its references and lowered objects, how it ends, restarts and is
    cleaned up, by aspect. ``old_options`` returns the lowering options for a CR as it is, among documents
    that it may refer to; None if it needs no conversion. ``keeps_kind`` if only fields change.
    """

    convert: Callable[[ConversionInput], Conversion]
    describe_life: Callable[[Cursor, References, Sequence[ReplicaGroup]], Mapping[str, str]]
    old_options: OldOptions = lambda _, __, options: options
    keeps_kind: bool = False


class ConversionTarget(NamedTuple):
    """How CRs of other kinds, by their names as ``group/version/Kind``, become CRs of one kind.

    ``describe_life`` and ``options`` are for the new CR, which may refer to documents of ``document_kinds``.
    ``trains`` is whether Pods, of the old or the new CR, are nodes of the training.
    """

    converters: Mapping[str, Converter]
    describe_life: Callable[[Cursor, References, Sequence[ReplicaGroup]], Mapping[str, str]]
    trains: Callable[[ReplicaGroup], bool]
    options: Callable[[LoweringOptions], LoweringOptions] = lambda options: options
    document_kinds: tuple[str, ...] = ()
