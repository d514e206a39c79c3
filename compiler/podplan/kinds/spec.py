"""What the rest of podplan may ask about a kind of job: one value per kind, in the kind's package."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from podplan.core.findings import Path
from podplan.core.provenance import Behavior, Cursor, TracedDocument
from podplan.core.typing import Any, NamedTuple


class Reference(NamedTuple):
    """A document that a CR refers to, and the path in the CR where its name is written.

    An empty ``namespace`` is for any: the object has none, or the reference does not say it.
    """

    group: str
    kind: str
    namespace: str
    name: str
    path: Path


# The documents that a CR refers to, by the path in it where their names are written.
References = Mapping[Path, Cursor]


def list_no_references(_: Mapping[str, Any]) -> tuple[Reference, ...]:
    """The references of a kind whose CRs have all that a controller needs."""
    return ()


class KindSpec(NamedTuple):
    """The answers of one kind.

    ``plural`` is its name in URLs of the API server and in admission rules.
    ``option_prefix`` begins the names of the lowering options that only this kind has.
    ``dialects`` are the forms of one kind and version, each with the fields of ``spec`` that tell it; empty
    for a kind with one form.
    ``training_container`` has as value the name by which the controller finds the container that trains;
    None where the first container trains.
    ``list_references`` gives the documents that a CR of the kind refers to; the loader resolves them.
    ``traits`` are names of what the controller does, by which policies select.
    ``declaration`` is the WorkloadMapping that declares the kind, None for a kind of the registry.
    """

    plural: str
    option_prefix: str
    dialects: Mapping[str, tuple[str, ...]] = {}
    training_container: Behavior | None = None
    list_references: Callable[[Mapping[str, Any]], tuple[Reference, ...]] = list_no_references
    traits: frozenset[str] = frozenset()
    declaration: TracedDocument | None = None
