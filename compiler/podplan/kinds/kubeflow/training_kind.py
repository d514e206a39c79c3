"""What sets the kinds of the training operator apart, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from podplan.core.typing import NamedTuple

MANAGERS = ("kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue")


class TrainingKind(NamedTuple):
    """One kind: the names and defaults by which the operator treats it.

    ``types`` are its replica types as the operator writes them, in the order in which it names them.
    ``main_types`` are those whose Pod decides over the job. ``container`` is the name of the container that
    trains, "" for a kind in which that is the first, and ``port_name`` and ``port`` the port that it gets.
    ``restart_policy`` is the default of ``restart_policies``.
    ``splits_replicas``: a profile without roles has one replica of the main type. ``has_main_worker``:
    without a main type worker 0 decides. ``has_open_types``: the operator takes types in any case, and others
    too. ``has_manager``: it leaves jobs alone that runPolicy.managedBy gives to another controller, which is
    immutable with ``keeps_manager``.

    ``has_queue_integration``: Kueue can queue the jobs.
    ``traits`` are those that not all these kinds have (podplan.kinds.traits).

    What is refused: ``has_webhook`` tells whether a webhook does so or the operator. ``required_types`` must
    be there, ``exclusive_types`` not together, ``single_types`` have one replica, ``written_single_types``
    must state that, and ``counted_types`` have at least one. Others crash the operator: negative replicas
    with ``panics_below_zero``, an elasticPolicy alone with ``panics_without_worker``.
    """

    name: str
    specs_field: str
    types: tuple[str, ...]
    main_types: tuple[str, ...]
    container: str
    port_name: str = ""
    port: int = 0
    restart_policy: str = "Never"
    restart_policies: tuple[str, ...] = ("Always", "OnFailure", "Never", "ExitCode")
    default_replicas: Mapping[str, int] = {}
    has_main_worker: bool = True
    splits_replicas: bool = False
    has_open_types: bool = False
    has_manager: bool = True
    keeps_manager: bool = False
    has_webhook: bool = True
    has_queue_integration: bool = True
    required_types: tuple[str, ...] = ()
    exclusive_types: tuple[str, ...] = ()
    single_types: tuple[str, ...] = ()
    written_single_types: tuple[str, ...] = ()
    counted_types: tuple[str, ...] = ()
    traits: frozenset[str] = frozenset()
    has_elastic_policy: bool = False
    panics_below_zero: bool = False
    panics_without_worker: bool = False

    def find_leading_type(self, types: Sequence[str]) -> str:
        """The type whose first Pod decides or the others depend on: a main one, else the workers."""
        return next((name for name in (*self.main_types, "Worker") if name in types), "")

    def normalize_type(self, key: str) -> str:
        """A replica type as the operator calls it."""
        return next((name for name in self.types if name.lower() == key.lower()), key)
