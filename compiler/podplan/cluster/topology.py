"""Whether the Pods of a pod set fit the nodes of a flavor with a Topology, on an empty cluster.

Source: docs/evidence/kueue.md#topology.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from podplan.cluster.model import Amounts, Cluster, ResourceFlavor
from podplan.cluster.node_selection import find_untolerated_taint, matches_nodes
from podplan.cluster.refusals import HOST_LABEL
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping

REQUIRED = "kueue.x-k8s.io/podset-required-topology"
PREFERRED = "kueue.x-k8s.io/podset-preferred-topology"
UNCONSTRAINED = "kueue.x-k8s.io/podset-unconstrained-topology"
SLICE_TOPOLOGY = "kueue.x-k8s.io/podset-slice-required-topology"
SLICE_SIZE = "kueue.x-k8s.io/podset-slice-size"
GROUP_NAME = "kueue.x-k8s.io/podset-group-name"
PODS = "pods"


class TopologyRequest(NamedTuple):
    """The topology request of a pod set; all fields are empty if it has none."""

    required: str = ""
    preferred: str = ""
    unconstrained: str = ""
    slice_level: str = ""
    slice_size: int = 1
    group: str = ""

    @property
    def is_explicit(self) -> bool:
        return bool(self.required or self.preferred or self.unconstrained or self.slice_level)

    @property
    def level(self) -> str:
        return self.required or self.preferred


class Share(NamedTuple):
    """Equal Pods that must be placed: their number, what each requests and its spec."""

    size: int
    requests: Amounts
    pod_spec: Mapping[str, Any]


def read_topology_request(template: Any) -> TopologyRequest:
    """Read the annotations of a Pod template."""
    annotations = get_mapping(get_mapping(template, "metadata"), "annotations")
    texts = {key: str(value) for key, value in annotations.items() if isinstance(value, str)}
    size = texts.get(SLICE_SIZE, "")
    return TopologyRequest(
        texts.get(REQUIRED, ""),
        texts.get(PREFERRED, ""),
        texts.get(UNCONSTRAINED, ""),
        texts.get(SLICE_TOPOLOGY, ""),
        int(size) if size.isdigit() and len(size) < 10 and int(size) else 1,
        texts.get(GROUP_NAME, ""),
    )


class TopologyPlacement:
    """The nodes of one flavor while the pod sets of a job are placed on them, one after the other."""

    def __init__(self, flavor: ResourceFlavor, cluster: Cluster) -> None:
        self._flavor = flavor
        self._levels = cluster.topologies[flavor.topology]
        self._has_hosts = self._levels[-1] == HOST_LABEL
        self._nodes = [
            node
            for node in cluster.nodes
            if node.is_usable
            and all(node.labels.get(key) == value for key, value in flavor.node_labels.items())
            and all(level in node.labels for level in self._levels)
        ]
        self._used: dict[str, dict[str, int]] = {}

    def place(self, shares: Sequence[Share], request: TopologyRequest) -> str:
        """Place Pods that belong together; return Kueue's message if they do not fit, else ""."""
        level = request.level or self._levels[-1]
        if not self._nodes:
            return f"no topology domains at level: {level}"
        *leaders, workers = sorted(shares, key=lambda one: one.size)
        size = request.slice_size if request.slice_level in self._levels else 1
        depth = self._levels.index(level) + 1 if request.level else 0
        depths = [depth] if request.required else [*range(depth, 0, -1), 0]
        slice_depth = self._levels.index(request.slice_level) + 1 if size > 1 else depth
        best = 0
        for number in depths:
            fitting: list[tuple[int, tuple[str, ...]]] = []
            for prefix in {self._labels(node)[:number] for node in self._nodes}:
                capacity = self._count(prefix, leaders, workers, slice_depth, size)
                best = max(best, capacity)
                if capacity >= -(-workers.size // size) * size:
                    fitting.append((capacity, prefix))
            if fitting:
                self._occupy(min(fitting)[1], [*leaders, workers])
                return ""
        topology = self._flavor.topology
        if best:
            return f'topology "{topology}" allows to fit only {best} out of {workers.size} pod(s)'
        return f'topology "{topology}" doesn\'t allow to fit any of {workers.size} pod(s)'

    def _labels(self, node: Any) -> tuple[str, ...]:
        return tuple(node.labels[level] for level in self._levels)

    def _count(
        self,
        prefix: tuple[str, ...],
        leaders: Sequence[Share],
        workers: Share,
        slice_depth: int,
        size: int,
    ) -> int:
        """Return how many workers fit into a domain together with the leaders, in whole slices."""
        free = self._find_free(prefix)
        for leader in leaders:
            if not _take(free, leader, self._is_open_to):
                return 0
        by_slice: dict[tuple[str, ...], int] = {}
        for node, left in free:
            if self._is_open_to(node, workers):
                key = self._labels(node)[:slice_depth] if size > 1 else ()
                by_slice[key] = by_slice.get(key, 0) + _count_fitting(left, workers)
        return sum(count // size * size for count in by_slice.values())

    def _occupy(self, prefix: tuple[str, ...], shares: Sequence[Share]) -> None:
        free = self._find_free(prefix)
        for share in shares:
            _take(free, share, self._is_open_to)
        for node, left in free:
            self._used[node.name] = {
                name: amount - left.get(name, 0) for name, amount in node.allocatable.items()
            }

    def _find_free(self, prefix: tuple[str, ...]) -> list[tuple[Any, dict[str, int]]]:
        return [
            (
                node,
                {
                    name: amount - self._used.get(node.name, {}).get(name, 0)
                    for name, amount in node.allocatable.items()
                },
            )
            for node in self._nodes
            if self._labels(node)[: len(prefix)] == prefix
        ]

    def _is_open_to(self, node: Any, share: Share) -> bool:
        """Whether Pods may run on a node; Kueue looks at nodes only where they are the lowest level."""
        if not self._has_hosts:
            return True
        tolerations = [one for _, one in get_entries(share.pod_spec, "tolerations")]
        tainted = find_untolerated_taint(node.taints, [*tolerations, *self._flavor.tolerations])
        return tainted is None and matches_nodes(share.pod_spec, node.labels, None)


def _count_fitting(left: Mapping[str, int], share: Share) -> int:
    needs = {PODS: 1, **share.requests} if PODS in left else share.requests
    counts = [left.get(name, 0) // amount for name, amount in needs.items() if amount > 0]
    return max(0, min(counts, default=share.size))


def _take(free: Sequence[tuple[Any, dict[str, int]]], share: Share, is_open_to: Any) -> bool:
    """Take the resources of Pods from nodes, the fullest usable first; false if they do not all fit."""
    rest = share.size
    candidates = [(node, left) for node, left in free if is_open_to(node, share)]
    for _, left in sorted(candidates, key=lambda one: -_count_fitting(one[1], share)):
        number = min(rest, _count_fitting(left, share))
        for name, amount in ({PODS: 1, **share.requests} if PODS in left else share.requests).items():
            left[name] = left.get(name, 0) - number * amount
        rest -= number
        if not rest:
            return True
    return rest == 0
