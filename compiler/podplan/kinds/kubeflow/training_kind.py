"""The differences between the kinds of the training operator, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from podplan.core.typing import NamedTuple

MANAGERS = ("kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue")


class TrainingKind(NamedTuple):
    """The names and defaults that the operator has for a kind.

    ``types`` are its replica types in the operator's spelling and order.
    ``main_types`` are those whose Pod decides over the job. ``container`` is the name of the training
    container, "" for a kind that uses the first one, and ``port_name`` and ``port`` the port that it gets.
    ``restart_policy`` is the default of ``restart_policies``.
    ``splits_replicas``: a profile without roles has one replica of the main type. ``has_main_worker``:
    without a main type worker 0 decides. ``has_open_types``: the operator accepts types in any case, and
    unknown types. ``has_manager``: it ignores jobs that runPolicy.managedBy gives to another controller,
    a field that is immutable with ``keeps_manager``.

    ``has_queue_integration``: Kueue can queue the jobs.
    ``traits`` are those that only some of these kinds have (podplan.kinds.traits).

    Refusals: ``has_webhook`` states whether a webhook or the operator refuses. ``required_types`` must
    exist, ``exclusive_types`` not together, ``single_types`` have one replica, ``written_single_types``
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
        """Return the type whose first Pod decides or is needed by the others: a main one, else workers."""
        return next((name for name in (*self.main_types, "Worker") if name in types), "")

    def normalize_type(self, key: str) -> str:
        """Return a replica type in the operator's spelling."""
        return next((name for name in self.types if name.lower() == key.lower()), key)
