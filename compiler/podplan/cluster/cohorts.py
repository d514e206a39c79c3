"""Quota with borrowing and lending in a tree of cohorts, on an empty cluster.

Source: docs/evidence/kueue.md#borrowing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from podplan.cluster.model import Cluster, ClusterQueue, ResourceGroup, ResourceQuota
from podplan.core.typing import NamedTuple

_NO_QUOTAS: dict[tuple[str, str], ResourceQuota] = {}


class _Vertex(NamedTuple):
    """A ClusterQueue or a cohort in the tree of cohorts."""

    parent: str
    children: list[str]
    queues: list[str]
    quotas: dict[tuple[str, str], ResourceQuota]


class CohortShortage(NamedTuple):
    """What the queues below a cohort request of it together, which is more than it can have."""

    cohort: str
    requested: int
    maximum: int


class QuotaTree:
    """The quotas of all ClusterQueues, with what their cohorts add; each value is computed once."""

    def __init__(self, cluster: Cluster) -> None:
        self._queues = {
            name: _Vertex(queue.cohort, [], [], _index_quotas(queue.groups))
            for name, queue in cluster.cluster_queues.items()
        }
        self._cohorts: dict[str, _Vertex] = {}
        for name, cohort in cluster.cohorts.items():
            self._cohorts[name] = _Vertex(cohort.parent, [], [], _index_quotas(cohort.groups))
        parents = [one.parent for one in (*self._queues.values(), *self._cohorts.values())]
        for parent in parents:
            if parent and parent not in self._cohorts:
                self._cohorts[parent] = _Vertex("", [], [], {})
        for name, vertex in self._cohorts.items():
            if vertex.parent:
                self._cohorts[vertex.parent].children.append(name)
        for name, vertex in self._queues.items():
            if vertex.parent:
                self._cohorts[vertex.parent].queues.append(name)
        self._subtrees: dict[tuple[str, str, str], int] = {}
        self._potentials: dict[tuple[str, str, str], int] = {}

    def is_in_cycle(self, queue: str) -> bool:
        """Whether the cohorts above a ClusterQueue form a circle."""
        seen: set[str] = set()
        name = self._queues[queue].parent
        while name and name not in seen:
            seen.add(name)
            name = self._cohorts[name].parent
        return bool(name)

    def list_cohort_queues(self, queue: str) -> list[str]:
        """Return the ClusterQueues that share a tree of cohorts with this one."""
        root = self._queues[queue].parent
        if not root:
            return [queue]
        while self._cohorts[root].parent:
            root = self._cohorts[root].parent
        return [queue for cohort in self._list_subtree(root) for queue in self._cohorts[cohort].queues]

    def find_maximum(self, queue: str, flavor: str, resource: str) -> int:
        """Return how much the jobs of a ClusterQueue can have of a resource in a flavor."""
        vertex = self._queues[queue]
        quota = vertex.quotas.get((flavor, resource))
        nominal = quota.nominal if quota is not None else 0
        if not vertex.parent:
            return nominal
        return self._bound(nominal, quota, self._find_potential(vertex.parent, flavor, resource))

    def find_borrowing_level(self, queue: str, flavor: str, resource: str, amount: int) -> int:
        """Return how far up the tree a request must borrow; 0 if the ClusterQueue has enough itself."""
        vertex = self._queues[queue]
        quota = vertex.quotas.get((flavor, resource))
        nominal = quota.nominal if quota is not None else 0
        if amount <= nominal or not vertex.parent:
            return 0
        rest, name = amount - _find_local(nominal, quota), vertex.parent
        while True:
            cohort = self._cohorts[name]
            subtree = self._find_subtree(name, flavor, resource)
            if rest <= subtree or not cohort.parent:
                return self._find_height(name)
            rest -= _find_local(subtree, cohort.quotas.get((flavor, resource)))
            name = cohort.parent

    def find_shortages(
        self, requested: Mapping[str, int], flavor: str, resource: str
    ) -> dict[str, CohortShortage]:
        """Return, for each ClusterQueue of ``requested``, the first cohort above it that cannot give what all
        of them request together.

        A queue or cohort asks its parent only for what it does not keep from others.
        """
        of_cohorts: dict[str, int] = {}
        paths: dict[str, list[str]] = {}
        for queue, amount in requested.items():
            paths[queue] = self._list_ancestors(queue)
            quota = self._queues[queue].quotas.get((flavor, resource))
            rest = amount - _find_local(quota.nominal if quota is not None else 0, quota)
            if rest > 0 and paths[queue]:
                parent = paths[queue][0]
                of_cohorts[parent] = of_cohorts.get(parent, 0) + rest
        short: dict[str, CohortShortage] = {}
        roots = dict.fromkeys(path[-1] for path in paths.values() if path)
        for name in (name for root in roots for name in self._list_subtree(root)):
            amount = of_cohorts.get(name, 0)
            subtree = self._find_subtree(name, flavor, resource)
            maximum = self._find_potential(name, flavor, resource)
            if amount > maximum:
                short[name] = CohortShortage(name, amount, maximum)
            vertex = self._cohorts[name]
            rest = amount - _find_local(subtree, vertex.quotas.get((flavor, resource)))
            if rest > 0 and vertex.parent:
                of_cohorts[vertex.parent] = of_cohorts.get(vertex.parent, 0) + rest
        return {
            queue: next(short[name] for name in path if name in short)
            for queue, path in paths.items()
            if any(name in short for name in path)
        }

    def _list_ancestors(self, queue: str) -> list[str]:
        """Return the cohorts above a ClusterQueue, the nearest first; none if they form a circle."""
        names: list[str] = []
        name = "" if self.is_in_cycle(queue) else self._queues[queue].parent
        while name:
            names.append(name)
            name = self._cohorts[name].parent
        return names

    def _list_subtree(self, cohort: str) -> list[str]:
        """Return a cohort that is not in a circle and those below it, children before their parents."""
        names = [cohort]
        for name in names:
            names += self._cohorts[name].children
        return names[::-1]

    def _find_height(self, cohort: str) -> int:
        heights: dict[str, int] = {}
        for name in self._list_subtree(cohort):
            below = (heights[child] for child in self._cohorts[name].children)
            heights[name] = 1 + max(below, default=0)
        return heights[cohort]

    def _find_potential(self, cohort: str, flavor: str, resource: str) -> int:
        path, name = [], cohort
        while name and (name, flavor, resource) not in self._potentials:
            path.append(name)
            name = self._cohorts[name].parent
        for name in reversed(path):
            vertex, subtree = self._cohorts[name], self._find_subtree(name, flavor, resource)
            if vertex.parent:
                above = self._potentials[vertex.parent, flavor, resource]
                subtree = self._bound(subtree, vertex.quotas.get((flavor, resource)), above)
            self._potentials[name, flavor, resource] = subtree
        return self._potentials[cohort, flavor, resource]

    def _bound(self, subtree: int, quota: ResourceQuota | None, above: int) -> int:
        available = _find_local(subtree, quota) + above
        if quota is not None and quota.borrowing_limit is not None:
            return min(available, subtree + quota.borrowing_limit)
        return available

    def _find_subtree(self, cohort: str, flavor: str, resource: str) -> int:
        """Return what a cohort has to give: its own quota and what everything below it lends."""
        key = cohort, flavor, resource
        if key not in self._subtrees:
            for name in self._list_subtree(cohort):
                self._subtrees[name, flavor, resource] = self._sum_subtree(name, flavor, resource)
        return self._subtrees[key]

    def _sum_subtree(self, cohort: str, flavor: str, resource: str) -> int:
        """Sum a cohort up; the sums of its children are known."""
        vertex = self._cohorts[cohort]
        own = vertex.quotas.get((flavor, resource))
        total = own.nominal if own is not None else 0
        for name in vertex.queues:
            quota = self._queues[name].quotas.get((flavor, resource))
            if quota is not None:
                total += quota.nominal - _find_local(quota.nominal, quota)
        for name in vertex.children:
            subtree = self._subtrees[name, flavor, resource]
            total += subtree - _find_local(subtree, self._cohorts[name].quotas.get((flavor, resource)))
        return total


def _find_local(subtree: int, quota: ResourceQuota | None) -> int:
    """Return what is kept from others: what is above the lending limit."""
    if quota is None or quota.lending_limit is None:
        return 0
    return max(0, subtree - quota.lending_limit)


def _index_quotas(groups: Iterable[ResourceGroup]) -> dict[tuple[str, str], ResourceQuota]:
    return {
        (flavor.name, resource): quota
        for group in groups
        for flavor in group.flavors
        for resource, quota in flavor.quotas.items()
    }


def has_whole_cohort(queue: ClusterQueue, cluster: Cluster) -> bool:
    """Whether git appears to have the whole cohort of a queue: another member, or the object."""
    if not queue.cohort or queue.cohort in cluster.cohorts:
        return True
    return any(one.cohort == queue.cohort and one is not queue for one in cluster.cluster_queues.values())
