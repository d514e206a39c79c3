"""The cluster as objects in the repository describe it; each fact keeps the place where it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from podplan.cluster.kinds import KUEUE_GROUP
from podplan.core.provenance import Cursor
from podplan.core.typing import Any, NamedTuple

QUEUE_LABEL = f"{KUEUE_GROUP}/queue-name"
DEFAULT_QUEUE = "default"  # the LocalQueue that jobs without a label use, if it exists

# An amount of a resource as Kueue counts it: cpu in thousandths, everything else in whole units.
Amounts = Mapping[str, int]


class ResourceQuota(NamedTuple):
    """What a queue or a cohort has of one resource in one flavor; a limit that is None does not exist."""

    nominal: int
    borrowing_limit: int | None
    lending_limit: int | None
    place: Cursor


class FlavorQuotas(NamedTuple):
    """The quotas of one flavor in a resource group, by resource."""

    name: str
    quotas: Mapping[str, ResourceQuota]
    place: Cursor


class ResourceGroup(NamedTuple):
    """Resources that a Pod gets from one flavor together, and the flavors in the order in which Kueue tries
    them."""

    covered_resources: tuple[str, ...]
    flavors: tuple[FlavorQuotas, ...]


class ClusterQueue(NamedTuple):
    """A ClusterQueue; ``admission_checks`` are the names of all its checks.

    ``namespace_selector`` is None if it is missing, which matches no namespace.
    """

    name: str
    place: Cursor
    cohort: str
    groups: tuple[ResourceGroup, ...]
    namespace_selector: Mapping[str, Any] | None
    stop_policy: str
    admission_checks: tuple[str, ...]
    tries_next_flavor: bool


class LocalQueue(NamedTuple):
    """A LocalQueue."""

    name: str
    namespace: str
    place: Cursor
    cluster_queue: str
    stop_policy: str


class Cohort(NamedTuple):
    """A Cohort object; a cohort may also exist by its name in ClusterQueues only."""

    name: str
    place: Cursor
    parent: str
    groups: tuple[ResourceGroup, ...]


class ResourceFlavor(NamedTuple):
    """A ResourceFlavor."""

    name: str
    place: Cursor
    node_labels: Mapping[str, str]
    taints: Sequence[Mapping[str, Any]]
    tolerations: Sequence[Mapping[str, Any]]
    topology: str


class Node(NamedTuple):
    """A Node of a dump."""

    name: str
    place: Cursor
    labels: Mapping[str, str]
    taints: Sequence[Mapping[str, Any]]
    allocatable: Amounts
    is_usable: bool


class LimitRange(NamedTuple):
    """One entry of a LimitRange, with the defaults that the API server sets; amounts in units of 10⁻⁹."""

    type: str
    place: Cursor
    maximum: Mapping[str, int]
    minimum: Mapping[str, int]
    default: Mapping[str, int]
    default_request: Mapping[str, int]
    max_ratio: Mapping[str, int]


class Namespace(NamedTuple):
    """A Namespace."""

    name: str
    place: Cursor
    labels: Mapping[str, str]


class NamespaceQuota(NamedTuple):
    """A ResourceQuota; amounts in units of 10⁻⁹. ``is_scoped`` if it counts some Pods only."""

    name: str
    place: Cursor
    hard: Mapping[str, int]
    is_scoped: bool


class VolcanoQueue(NamedTuple):
    """A Queue of Volcano; ``capability`` in units of 10⁻⁹. ``state`` is "" if git does not state it."""

    name: str
    place: Cursor
    capability: Mapping[str, int]
    parent: str
    state: str


class Transformation(NamedTuple):
    """How the configuration of Kueue counts a resource as others, times that of ``multiplied_by``, if any."""

    keeps_input: bool
    outputs: Mapping[str, int]
    multiplied_by: str


class KueueConfiguration(NamedTuple):
    """The configuration of Kueue's manager; ``frameworks`` is None if git does not state them.

    ``namespace_selector`` selects the namespaces whose jobs Kueue manages. ``doubt`` says why a configuration
    that is written is not known.
    """

    place: Cursor | None = None
    frameworks: frozenset[str] | None = None
    manages_unlabelled: bool = False
    namespace_selector: Mapping[str, Any] | None = None
    is_partial_admission_off: bool = False
    ignores_undeclared: bool = False
    excluded_prefixes: tuple[str, ...] = ()
    transformations: Mapping[str, Transformation] = {}
    doubt: str = ""


class Cluster(NamedTuple):
    """What the repository says about a cluster. A name that is missing in a mapping is in no file.

    ``refused`` are objects that the API server refuses, with the reason. ``ambiguous`` are those that several
    documents define in different ways, with the files. Both are by kind, namespace and name.
    """

    cluster_queues: Mapping[str, ClusterQueue] = {}
    local_queues: Mapping[tuple[str, str], LocalQueue] = {}
    cohorts: Mapping[str, Cohort] = {}
    flavors: Mapping[str, ResourceFlavor] = {}
    topologies: Mapping[str, tuple[str, ...]] = {}
    topology_places: Mapping[str, Cursor] = {}
    admission_checks: Mapping[str, bool | None] = {}
    check_places: Mapping[str, Cursor] = {}
    workload_priorities: Mapping[str, Cursor] = {}
    priorities: Mapping[str, Cursor] = {}
    namespaces: Mapping[str, Namespace] = {}
    limit_ranges: Mapping[str, Sequence[LimitRange]] = {}
    namespace_quotas: Mapping[str, Sequence[NamespaceQuota]] = {}
    overheads: Mapping[str, Mapping[str, int]] = {}
    runtime_class_places: Mapping[str, Cursor] = {}
    nodes: Sequence[Node] = ()
    workloads: Mapping[tuple[str, str], Cursor] = {}
    volcano_queues: Mapping[str, VolcanoQueue] = {}
    configuration: KueueConfiguration = KueueConfiguration()
    refused: Mapping[tuple[str, str, str], str] = {}
    ambiguous: Mapping[tuple[str, str, str], str] = {}

    @property
    def has_queues(self) -> bool:
        """Whether the repository holds queues at all; else it says nothing about those that are missing."""
        return bool(self.cluster_queues or self.local_queues)

    @property
    def has_cluster_objects(self) -> bool:
        """Whether the repository holds cluster-scoped objects of Kueue, which are kept together."""
        return bool(self.cluster_queues or self.flavors or self.cohorts)
