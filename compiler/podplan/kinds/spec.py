"""What the rest of podplan may ask about a kind of job: one value per kind, in the kind's package."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.provenance import Behavior
from podplan.core.typing import NamedTuple


class KindSpec(NamedTuple):
    """The answers of one kind.

    ``plural`` is its name in URLs of the API server and in admission rules.
    ``option_prefix`` begins the names of the lowering options that only this kind has.
    ``dialects`` are the forms of one kind and version, each with the fields of ``spec`` that tell it; empty
    for a kind with one form.
    ``training_container`` has as value the name by which the controller finds the container that trains;
    None where the first container trains.
    ``traits`` are names of podplan.kinds.traits.
    """

    plural: str
    option_prefix: str
    dialects: Mapping[str, tuple[str, ...]] = {}
    training_container: Behavior | None = None
    traits: frozenset[str] = frozenset()
