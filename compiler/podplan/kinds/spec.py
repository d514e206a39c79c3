"""What the rest of podplan may ask about a kind of job: one value per kind, in the kind's package."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.provenance import Behavior
from podplan.core.typing import NamedTuple


class CleanUp(NamedTuple):
    """The field below ``spec`` that says what becomes of replicas when the job ends.

    ``leaving_value`` is its default, by which replicas run on; ``ending_value`` is what to write instead, as
    text.
    """

    field: tuple[str, ...]
    leaving_value: object
    ending_value: str


class RequiredReplicaType(NamedTuple):
    """A replica type that a job needs: ``effect`` is what happens without replicas of it.

    ``is_defaulted`` if the controller creates it where the CR does not state it.
    """

    effect: str
    is_defaulted: bool = False


class KindSpec(NamedTuple):
    """The answers of one kind.

    ``plural`` is its name in URLs of the API server and in admission rules.
    ``option_prefix`` begins the names of the lowering options that only this kind has.
    ``dialects`` are the forms of one kind and version, each with the fields of ``spec`` that tell it; empty
    for a kind with one form.
    ``training_container`` has as value the name by which the controller finds the container that trains;
    None where the first container trains.
    ``traits`` are names of podplan.kinds.traits.
    ``launcher_container`` is the name of the container of the launcher replica.
    ``reserved_mounts`` are the paths that the controller mounts itself, that of the ssh keys first.
    """

    plural: str
    option_prefix: str
    dialects: Mapping[str, tuple[str, ...]] = {}
    training_container: Behavior | None = None
    traits: frozenset[str] = frozenset()
    launcher_container: Behavior | None = None
    reserved_mounts: tuple[Behavior, ...] = ()
    clean_up: CleanUp | None = None
    required_replica_types: Mapping[str, RequiredReplicaType] = {}
