"""Assignment of flavors to the pod sets of a job, as Kueue does it on an empty cluster.

Source: docs/evidence/kueue.md#flavors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from podplan.cluster.amounts import add_amounts, format_amount
from podplan.cluster.cohorts import QuotaTree
from podplan.cluster.model import Amounts, Cluster, ClusterQueue, FlavorQuotas, ResourceFlavor, ResourceGroup
from podplan.cluster.node_selection import find_untolerated_taint, matches_nodes
from podplan.cluster.topology import PODS, Share, TopologyPlacement, TopologyRequest
from podplan.core.provenance import Cursor
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple
from podplan.kubernetes.accessors import get_entries

if TYPE_CHECKING:
    from podplan.cluster.admission import Cause

Usage = dict[tuple[str, str], int]
_NO_LEVEL = "does not contain the requested level"


class PodSetDemand(NamedTuple):
    """The demand of a pod set: ``requests`` of each Pod, the spec of its Pods, and its topology."""

    name: str
    size: int
    requests: Amounts
    pod_spec: Mapping[str, Any]
    topology: TopologyRequest = TopologyRequest()
    min_count: int = 0


class Assignment(NamedTuple):
    """The flavor of each resource by pod set, or why there is none.

    ``usage`` is what the job takes by flavor and resource. ``needs_nodes`` if the answer depends on nodes,
    and git has none. ``place`` is the quota that is short, and ``pod_set`` the one without flavors.
    """

    flavors: Mapping[str, Mapping[str, str]]
    message: str = ""
    sizes: Mapping[str, int] = {}
    usage: Mapping[tuple[str, str], int] = {}
    needs_nodes: bool = False
    place: Cursor | None = None
    cause: Cause = ""
    pod_set: str = ""


class _FlavorChoice(NamedTuple):
    """A flavor for the resources of a group, or the reasons why none fits, and the quota that is short."""

    flavor: str
    reasons: tuple[str, ...] = ()
    place: Cursor | None = None
    cause: Cause = "quota"


def assign_flavors(
    demands: Sequence[PodSetDemand], queue: ClusterQueue, cluster: Cluster, tree: QuotaTree
) -> Assignment:
    """Assign flavors to all pod sets, with fewer Pods if the job allows it and that helps."""
    whole = _assign(demands, queue, cluster, tree)
    if not whole.message or whole.needs_nodes or cluster.configuration.is_partial_admission_off:
        return whole
    if not any(0 < one.min_count < one.size for one in demands):
        return whole
    [demand] = demands
    lowest, highest, partial = demand.min_count, demand.size - 1, whole
    while lowest <= highest:
        middle = (lowest + highest + 1) // 2
        tried = _assign([demand._replace(size=middle)], queue, cluster, tree)
        if tried.message:
            highest = middle - 1
        else:
            partial, lowest = tried, middle + 1
    return partial


def _assign(
    demands: Sequence[PodSetDemand], queue: ClusterQueue, cluster: Cluster, tree: QuotaTree
) -> Assignment:
    flavors: dict[str, dict[str, str]] = {}
    usage: Usage = {}
    needs_topology = _needs_topology(queue, cluster)
    for group in _group_demands(demands):
        demand = group[0]
        requests = _sum_requests(group, queue)
        chosen: dict[str, str] = {}
        for resource in sorted(requests):
            if resource in chosen:
                continue
            found = _find_flavor(resource, requests, group, queue, cluster, tree, usage, needs_topology)
            if found is None:
                continue
            if found.reasons:
                reasons = ", ".join(sorted(found.reasons))
                message = f"couldn't assign flavors to pod set {demand.name}: {reasons}"
                return Assignment({}, message, place=found.place, cause=found.cause, pod_set=demand.name)
            covering = _find_group(queue, resource)
            assert covering is not None
            chosen.update((name, found.flavor) for name in requests if name in covering.covered_resources)
        for name, flavor in chosen.items():
            usage[flavor, name] = usage.get((flavor, name), 0) + requests[name]
        for one in group:
            own = {*one.requests, PODS}
            flavors[one.name] = {name: flavor for name, flavor in chosen.items() if name in own}
    return _place(demands, queue, cluster, Assignment(flavors, "", _count(demands), usage), needs_topology)


def _count(demands: Sequence[PodSetDemand]) -> dict[str, int]:
    return {one.name: one.size for one in demands}


def _group_demands(demands: Sequence[PodSetDemand]) -> list[list[PodSetDemand]]:
    """Group the pod sets that share flavors: those of one podset-group, otherwise each by itself."""
    groups: dict[str, list[PodSetDemand]] = {}
    for index, one in enumerate(demands):
        groups.setdefault(one.topology.group or f"\0{index}", []).append(one)
    return list(groups.values())


def _sum_requests(group: Sequence[PodSetDemand], queue: ClusterQueue) -> dict[str, int]:
    total: dict[str, int] = {}
    for one in group:
        requests = {name: amount * one.size for name, amount in one.requests.items()}
        if _find_group(queue, PODS) is not None:
            requests[PODS] = one.size
        total = add_amounts(total, requests)
    return total


def _find_group(queue: ClusterQueue, resource: str) -> ResourceGroup | None:
    return next((one for one in queue.groups if resource in one.covered_resources), None)


def _needs_topology(queue: ClusterQueue, cluster: Cluster) -> bool:
    """Whether all flavors of a ClusterQueue have a topology, so that all its jobs are placed by it."""
    return all(cluster.flavors[one.name].topology for group in queue.groups for one in group.flavors)


def _find_flavor(
    resource: str,
    requests: Amounts,
    group: Sequence[PodSetDemand],
    queue: ClusterQueue,
    cluster: Cluster,
    tree: QuotaTree,
    usage: Usage,
    needs_topology: bool,
) -> _FlavorChoice | None:
    """Find the flavor for a resource and those that share its group; None for one that needs none."""
    covering = _find_group(queue, resource)
    if covering is None:
        if not requests[resource] or cluster.configuration.ignores_undeclared:
            return None
        return _FlavorChoice("", (f"resource {resource} unavailable in ClusterQueue",), cause="uncovered")
    wanted = {name: amount for name, amount in requests.items() if name in covering.covered_resources}
    reasons: list[str] = []
    best: tuple[int, str] | None = None
    place: Cursor | None = None
    for quotas in covering.flavors:
        refusals = list(_iter_mismatches(cluster.flavors[quotas.name], group, cluster, needs_topology))
        if not refusals:
            shortages = list(_iter_shortages(wanted, quotas, queue, tree, usage))
            refusals = [message for message, _ in shortages]
            if place is None:
                place = next((one for _, one in shortages), None)
        if refusals:
            reasons += refusals
            continue
        level = max(
            tree.find_borrowing_level(
                queue.name, quotas.name, name, amount + usage.get((quotas.name, name), 0)
            )
            for name, amount in wanted.items()
        )
        if level == 0 or not queue.tries_next_flavor:
            return _FlavorChoice(quotas.name if best is None or level < best[0] else best[1])
        if best is None or level < best[0]:
            best = level, quotas.name
    if best is not None:
        return _FlavorChoice(best[1])
    has_level = any(_NO_LEVEL not in one for one in reasons)
    return _FlavorChoice("", tuple(reasons), place, "quota" if has_level else "level")


def _iter_mismatches(
    flavor: ResourceFlavor, group: Sequence[PodSetDemand], cluster: Cluster, needs_topology: bool
) -> Iterator[str]:
    """Yield the first reason why Pods may not use a flavor."""
    for one in group:
        if one.topology.is_explicit or needs_topology:
            if not flavor.topology:
                yield f'Flavor "{flavor.name}" does not support TopologyAwareScheduling'
                return
            if not _has_levels(cluster.topologies[flavor.topology], one.topology):
                yield f'Flavor "{flavor.name}" {_NO_LEVEL}'
                return
        elif flavor.topology:
            yield f'Flavor "{flavor.name}" supports only TopologyAwareScheduling'
            return
    for one in group:
        tolerations = [entry for _, entry in get_entries(one.pod_spec, "tolerations")]
        taint = find_untolerated_taint(flavor.taints, [*tolerations, *flavor.tolerations])
        if taint is not None:
            written = " ".join(str(taint.get(field) or "") for field in ("key", "value", "effect"))
            yield f"untolerated taint {{{written} <nil>}} in flavor {flavor.name}"
            return
        if not matches_nodes(one.pod_spec, flavor.node_labels, flavor.node_labels):
            yield f"flavor {flavor.name} doesn't match node affinity"
            return


def _find_flavors_with_levels(queue: ClusterQueue, cluster: Cluster, request: TopologyRequest) -> list[str]:
    """Return the flavors of a ClusterQueue that can place Pods which request no resources."""
    flavors = [cluster.flavors[one.name] for group in queue.groups[:1] for one in group.flavors]
    return [
        one.name for one in flavors if one.topology and _has_levels(cluster.topologies[one.topology], request)
    ]


def _has_levels(levels: Sequence[str], request: TopologyRequest) -> bool:
    if request.slice_level and request.slice_level not in levels:
        return False
    if request.level:
        return request.level in levels
    return request.unconstrained in ("", "true")


def _iter_shortages(
    wanted: Amounts, quotas: FlavorQuotas, queue: ClusterQueue, tree: QuotaTree, usage: Usage
) -> Iterator[tuple[str, Cursor]]:
    for name, amount in wanted.items():
        before = usage.get((quotas.name, name), 0)
        maximum = tree.find_maximum(queue.name, quotas.name, name)
        if before + amount > maximum:
            message = (
                f"insufficient quota for {name} in flavor {quotas.name}, previously considered podsets"
                f" requests ({format_amount(name, before)}) + current podset request"
                f" ({format_amount(name, amount)}) > maximum capacity ({format_amount(name, maximum)})"
            )
            yield message, quotas.quotas[name].place if name in quotas.quotas else quotas.place


def _place(
    demands: Sequence[PodSetDemand],
    queue: ClusterQueue,
    cluster: Cluster,
    assignment: Assignment,
    needs_topology: bool,
) -> Assignment:
    """Place the Pods of flavors with a topology on their nodes."""
    placements: dict[str, TopologyPlacement] = {}
    for group in _group_demands(demands):
        demand = group[0]
        if not (needs_topology or demand.topology.is_explicit):
            continue
        used = dict.fromkeys(flavor for one in group for flavor in assignment.flavors[one.name].values())
        names = [name for name in used if name in cluster.flavors and cluster.flavors[name].topology]
        if not used:
            names = _find_flavors_with_levels(queue, cluster, demand.topology)
        prefix = f"assign flavors to pod set {demand.name}:"
        if not names:
            message = f"failed to {prefix} workload requires Topology, but there is no TAS cache information"
            return assignment._replace(flavors={}, message=message)
        if not cluster.nodes:
            return assignment._replace(needs_nodes=True)
        for name in names:
            if name not in placements:
                placements[name] = TopologyPlacement(cluster.flavors[name], cluster)
            shares = [
                Share(
                    one.size,
                    {
                        resource: amount
                        for resource, amount in one.requests.items()
                        if assignment.flavors[one.name].get(resource) == name
                    },
                    one.pod_spec,
                )
                for one in group
            ]
            reason = placements[name].place(shares, demand.topology)
            if reason:
                return assignment._replace(
                    flavors={}, message=f"couldn't {prefix} {reason}", cause="placement", pod_set=demand.name
                )
    return assignment
