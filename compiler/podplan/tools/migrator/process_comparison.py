"""Differences between the processes of a job and of the job that replaces it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from podplan.core.path_syntax import format_path
from podplan.core.provenance import attribute_to, build_traced_document, root_cursor
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.structural_diff import ABSENT, iter_changes
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.batch.behaviors import DEFAULT
from podplan.kinds.batch.pod_defaults import apply_pod_defaults
from podplan.pipeline import JobPlan
from podplan.redaction.redactor import Redactor, redact_change, split_path
from podplan.tools.migrator.equivalence import DIFF_RULES
from podplan.tools.migrator.processes import (
    RENDEZVOUS_VARIABLES,
    JobProcesses,
    NodeProcesses,
    read_processes,
)

_TRAINING_CONTAINER = "the training container"
# Labels and annotations that controllers set, and fields of Pods that follow from their names.
_CONTROLLER_DOMAINS = ("jobset.sigs.k8s.io/", "training.kubeflow.org/", "batch.kubernetes.io/", "job-name")
_GANG_DOMAINS = ("scheduling.x-k8s.io/", "scheduling.k8s.io/", "volcano.sh/")
_NAME_FIELDS = ("hostname", "subdomain", "setHostnameAsFQDN")
_QUEUE_LABEL, _PRIORITY_LABEL = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"
_INDEX_VARIABLE = "JOB_COMPLETION_INDEX"
_LOCAL_HOSTS = ("127.", "localhost")
_NONE = "none"


class Aspect(NamedTuple):
    """One property of a job before and after; ``where`` are the nodes that have it."""

    group: str  # processes, variables, Pods or life
    name: str
    before: Any
    after: Any
    where: str = ""

    @property
    def is_same(self) -> bool:
        return bool(self.before == self.after) and type(self.before) is type(self.after)


class ProcessComparison(NamedTuple):
    """The properties of a job before and after; ``warnings`` are about nodes that do not train together."""

    aspects: tuple[Aspect, ...]
    warnings: tuple[str, ...]
    objects: tuple[Mapping[str, int], Mapping[str, int]]


def compare_jobs(
    old: JobPlan,
    new: JobPlan,
    lives: tuple[Mapping[str, str], Mapping[str, str]],
    trains: Callable[[ReplicaGroup], bool],
    redactor: Redactor,
) -> ProcessComparison:
    """Compare two lowered jobs, process by process, of the Pods that train."""
    before, after = (
        read_processes([one for one in plan.replica_groups if one.doc.data["kind"] == "Pod" and trains(one)])
        for plan in (old, new)
    )
    aspects = [
        *_compare_counts(before, after),
        *_compare_variables(before, after, redactor),
        *_compare_pods(before, after, redactor),
        *_compare_life(lives, (old, new)),
    ]
    return ProcessComparison(
        tuple(aspects),
        tuple(_iter_warnings(before, after)),
        (_count_objects(old.replica_groups), _count_objects(new.replica_groups)),
    )


def _count_objects(groups: Sequence[ReplicaGroup]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for group in groups:
        counts[group.doc.data["kind"]] += group.replicas
    return counts


def _compare_counts(before: JobProcesses, after: JobProcesses) -> Iterator[Aspect]:
    sides = before, after
    yield Aspect("processes", "nodes", *(str(side.node_count) for side in sides))
    yield Aspect("processes", "processes", *(_join(one.count_text for one in side.nodes) for side in sides))
    yield Aspect("processes", "training", *(describe_training(side) for side in sides))
    yield Aspect(
        "processes", "rendezvous", *(_join(one.rendezvous or _NONE for one in side.nodes) for side in sides)
    )
    restarts = [_join(str(one.max_restarts) for one in side.nodes) for side in sides]
    if restarts != ["0", "0"]:
        yield Aspect("processes", "restarts by torchrun", *restarts)


def _join(texts: Iterator[str]) -> str:
    return ", ".join(dict.fromkeys(texts))


def describe_training(job: JobProcesses) -> str:
    """Return how the processes of a job train: together, or each node alone."""
    if not job.nodes:
        return "no Pods"
    first = job.nodes[0]
    total = None if first.process_count is None else first.process_count * job.node_count
    if job.node_count > 1 and first.rendezvous.startswith(_LOCAL_HOSTS):
        return "none: each node waits for the others at its own address"
    if job.node_count > 1 and not first.rendezvous and first.world_size is not None:
        noun = "process" if first.process_count == 1 else "processes"
        return f"{job.node_count} apart, each of {first.process_count} {noun}, which know of no other node"
    if total is None and first.world_size is None and first.count_text.startswith("as "):
        return first.count_text.replace("them", "it")
    if total is None or (first.world_size is None and first.rendezvous):
        return "one of all nodes" if job.node_count > 1 else "one of all its processes"
    text = f"one of {total} process{'es' if total != 1 else ''}"
    if first.world_size is not None and first.world_size != total:
        return f"{text}, which wait for {first.world_size}"
    return text


def _is_apart(job: JobProcesses) -> bool:
    return (
        bool(job.nodes)
        and job.node_count > 1
        and not job.nodes[0].rendezvous
        and job.nodes[0].process_count is not None
    )


def _iter_warnings(before: JobProcesses, after: JobProcesses) -> Iterator[str]:
    """Yield what keeps the nodes of the new job from training together."""
    if after.node_count < 2 or not after.nodes:
        return
    first = after.nodes[0]
    missing = [name for name in RENDEZVOUS_VARIABLES if not first.variables.get(name)]
    if _is_apart(after):
        before_too = ", as before" if _is_apart(before) else ""
        alone = f"each of the {after.node_count} nodes trains alone{before_too}"
        if missing:
            yield (
                f"{alone}: {first.program} reads no PET_…, and {', '.join(missing)} are not set; start it"
                " with torchrun, or set them for the container"
            )
        else:
            yield f"{alone}: {first.program} is started for one node"
        return
    old_variables = before.nodes[0].variables if before.nodes else {}
    if first.process_count is None and missing and old_variables.get(missing[0]):
        yield (
            f"{', '.join(missing)} are not set any more: unless {first.program} starts torchrun, each of the"
            f" {after.node_count} nodes trains alone"
        )


def _compare_variables(before: JobProcesses, after: JobProcesses, redactor: Redactor) -> Iterator[Aspect]:
    """Yield the variables that differ, once for nodes with the same difference."""
    pairs = _pair_nodes(before, after)
    names = dict.fromkeys(
        name for pair in pairs for side in pair if side is not None for name in side.variables
    )
    for name in names:
        values = [
            tuple(ABSENT if side is None else side.variables.get(name, ABSENT) for side in pair)
            for pair in pairs
        ]
        if all(old == new for old, new in values):
            continue
        steps = ("spec", "containers", "env", name)
        old_values, new_values = ([pair[side] for pair in values] for side in (0, 1))
        shown = redact_change(_join_values(old_values), _join_values(new_values), steps, "Pod", redactor)
        ranks = [_rank_of(*pair) for pair in pairs]
        is_same = len(set(values)) == 1
        yield Aspect("variables", name, *shown, "" if is_same else f"nodes {', '.join(map(str, ranks))}")


def _join_values(values: list[Any]) -> Any:
    """Return one value for all nodes, or those of each in order."""
    if all(one == values[0] for one in values):
        return values[0]
    return "; ".join("not set" if one is ABSENT else str(one) for one in values)


def _pair_nodes(
    before: JobProcesses, after: JobProcesses
) -> list[tuple[NodeProcesses | None, NodeProcesses | None]]:
    old, new = ({one.node.rank: one for one in side.nodes} for side in (before, after))
    if before.node_count == after.node_count:
        return [(old.get(rank), new.get(rank)) for rank in sorted({*old, *new})]
    common = sorted({*old} & {*new})
    return [(old[rank], new[rank]) for rank in common]


def _rank_of(old: NodeProcesses | None, new: NodeProcesses | None) -> int:
    side = old or new
    assert side is not None, "a pair has a node"
    return side.node.rank


def _describe_ranks(ranks: list[int], pairs: Sequence[tuple[Any, Any]]) -> str:
    if len(ranks) == len(pairs):
        return ""
    if len(ranks) == 1:
        return f"node {ranks[0]}"
    return f"nodes {ranks[0]} to {ranks[-1]}"


def _compare_pods(before: JobProcesses, after: JobProcesses, redactor: Redactor) -> Iterator[Aspect]:
    pairs = [(old, new) for old, new in _pair_nodes(before, after) if old is not None and new is not None]
    found: dict[str, tuple[str, tuple[Any, Any], list[int]]] = {}
    for old, new in pairs:
        sides = _normalize_pod(old), _normalize_pod(new)
        for change in iter_changes(*sides, DIFF_RULES):
            data, path = (sides[0], change.old_path) if change.new is ABSENT else (sides[1], change.new_path)
            steps = split_path(format_path(data, path))
            shown = redact_change(change.old, change.new, steps, "Pod", redactor)
            name = ".".join(steps)
            key = f"{name}\0{shown!r}"
            found.setdefault(key, (name, shown, []))[2].append(old.node.rank)
    yield from _join_variables(
        Aspect("Pods", name, before, after, _describe_ranks(ranks, pairs))
        for name, (before, after), ranks in found.values()
    )


def _join_variables(aspects: Iterable[Aspect]) -> Iterator[Aspect]:
    """Yield aspects, with all variables of an added or removed container as one."""
    joined: dict[tuple[str, bool], dict[str, None]] = {}
    for aspect in aspects:
        container, separator, name = aspect.name.rpartition(".env.")
        if separator and (aspect.before is ABSENT or aspect.after is ABSENT):
            joined.setdefault((f"{container}.env", aspect.before is ABSENT), {})[name] = None
        else:
            yield aspect
    for (container, is_new), names in joined.items():
        text = ", ".join(names)
        yield Aspect("Pods", container, ABSENT if is_new else text, text if is_new else ABSENT)


def _normalize_pod(processes: NodeProcesses) -> dict[str, Any]:
    """Return a Pod with the defaults of the API server, and without fields that only its controller sets."""
    pod, index = processes.node.pod, processes.node.container_index
    traced = build_traced_document(attribute_to(DEFAULT, dict(pod["spec"])), "Pod")
    spec = dict(
        build_traced_document(attribute_to(DEFAULT, apply_pod_defaults(root_cursor(traced))), "Pod").data
    )
    for field in _NAME_FIELDS:
        spec.pop(field, None)
    if spec.get("priority") == 0:
        del spec["priority"]
    for field in ("initContainers", "containers"):
        if field in spec:
            spec[field] = [_drop_index(one) for one in spec[field]]
    containers = [dict(one) for one in spec["containers"]]
    training = containers[index]
    training["name"] = _TRAINING_CONTAINER
    training.pop("env", None)
    training.pop("ports", None)
    metadata = pod["metadata"]
    shown = {
        field: {
            key: value
            for key, value in (metadata.get(field) or {}).items()
            if not key.startswith((*_CONTROLLER_DOMAINS, *_GANG_DOMAINS))
        }
        for field in ("labels", "annotations")
    }
    return {**{key: value for key, value in shown.items() if value}, **spec, "containers": containers}


def _drop_index(container: Mapping[str, Any]) -> dict[str, Any]:
    """Return a container without the variable that every container of a Job has."""
    env = [one for one in container.get("env") or () if one.get("name") != _INDEX_VARIABLE]
    return {**container, "env": env}


def _compare_life(
    lives: tuple[Mapping[str, str], Mapping[str, str]], plans: tuple[JobPlan, JobPlan]
) -> Iterator[Aspect]:
    for name in dict.fromkeys((*lives[0], *lives[1])):
        yield Aspect("life", name, *(side.get(name, _NONE) for side in lives))
    labels = [
        (plan.cr.data.get("metadata") or {}).get("labels") or {} for plan in plans if plan.cr is not None
    ]
    for name, label in (("queue of Kueue", _QUEUE_LABEL), ("priority in Kueue", _PRIORITY_LABEL)):
        if any(label in one for one in labels):
            yield Aspect("life", name, *(str(one.get(label, _NONE)) for one in labels))
    gangs = [_describe_gang(plan.replica_groups) for plan in plans]
    if gangs != [_NONE, _NONE]:
        yield Aspect("life", "gang", *gangs)


def _describe_gang(groups: Sequence[ReplicaGroup]) -> str:
    for group in groups:
        if group.doc.data["kind"] == "PodGroup":
            spec = group.doc.data["spec"]
            queue = f", queue {spec['queue']}" if spec.get("queue") else ""
            api = group.doc.data["apiVersion"].partition("/")[0]
            return f"{spec.get('minMember')} Pods together, {api}{queue}"
    return _NONE
